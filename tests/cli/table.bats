# Tables (CSV, TSV, JSONL) as inputs of any tool.
load common

setup() {
  cd "$BATS_TEST_TMPDIR"
  mkdir d
  echo a > d/a.jpg
  echo bb > d/b.png
}

@test "a CSV: files beside the table, labels, and the rest as JSON" {
  printf 'file_name,label,caption,w\na.jpg,cat,"x\ny",1\nb.png,7,,22\n' > d/t.csv
  run_apart prep-ls csv:d/t.csv
  [ "$status" -eq 0 ]
  diff <(printf 'a\tcls 3\tjpg 2\tjson 9\ttxt 3\nb\tcls 1\tjson 10\tpng 3\ttxt 0\n') \
       <(echo "$output")
}

@test "TSV, JSONL, compressed, from a pipe: the same samples" {
  printf 'path\tlabel\nd/a.jpg\tcat\nd/b.png\t7\n' > t.tsv
  printf '{"path":"d/a.jpg","label":"cat"}\n{"path":"d/b.png","label":7}\n' > t.jsonl
  printf 'd/a\tcls 3\tjpg 2\nd/b\tcls 1\tpng 3\n' > expected
  gzip -k t.tsv
  zstd -q t.jsonl
  for input in tsv:t.tsv jsonl:t.jsonl tsv:t.tsv.gz jsonl:t.jsonl.zst; do
    prep-ls "$input" | diff expected -
  done
  prep-ls tsv:- < t.tsv | diff expected -
  cat t.jsonl.zst | prep-ls jsonl:- | diff expected -
  prep-ls tsv:<(cat t.tsv) | diff expected -
}

@test "without a header, the files tell the column" {
  printf '7;a.jpg\n8;b.png\n' > d/t.csv
  prep-ls csv:d/t.csv | diff <(printf 'a\tjpg 2\tjson 9\nb\tjson 9\tpng 3\n') -
}

@test "several tables, one after another" {
  printf 'path\na.jpg\n' > d/t-0.csv
  printf 'path\nb.png\n' > d/t-1.csv
  prep-ls 'csv:d/t-{0..1}.csv' | diff <(printf 'a\tjpg 2\nb\tpng 3\n') -
  run prep-ls 'csv:d/t-{1..2}.csv'
  [ "$status" -eq 1 ]
  [[ "$output" == *"d/t-2.csv: cannot open: No such file or directory"* ]]
}

@test "a bare .csv is a file to most tools" {
  printf 'path\na.jpg\n' > d/t.csv
  prep-ls d/t.csv | diff <(printf 't\tcsv 11\n') -
}

@test "bad rows are named by table and line" {
  printf 'path,x\nd/a.jpg,1\nd/a.jpg,2\n,3\nd/../b.png,4\nd/none.jpg,5\n' > t.csv
  run_apart prep-ls csv:t.csv --errors errors
  [ "$status" -eq 3 ]
  [ "$output" = "$(printf 'd/a\tjpg 2\tjson 9')" ]
  /usr/bin/python3 - <<'PY'
import json
bad = [json.loads(line) for line in open("errors")]
assert [b["code"] for b in bad] == ["duplicate", "name", "name", "not-found"], bad
assert bad[1]["message"].startswith("t.csv: line 4: "), bad
assert bad[1]["origin"] == "t.csv: line 4", bad
assert bad[2]["key"] == "d/../b.png", bad
PY
}

@test "what is no table, and a table without paths" {
  printf 'path,x\nd/a.jpg,1\nd/b.png\n' > t.csv
  run_apart prep-ls csv:t.csv
  [ "$status" -eq 1 ]
  [ "$output" = "$(printf 'd/a\tjpg 2\tjson 9')" ]
  [[ "$stderr" == *"t.csv: line 3: the row has 1 field, the first one has 2"* ]]
  printf 'x,y\n1,2\n' > t.csv
  run_apart prep-ls csv:t.csv
  [ "$status" -eq 2 ]
  [[ "$stderr" == *"There are 'x', 'y'"* ]]
  printf 'path,x\n' > t.csv
  run_apart prep-ls csv:t.csv
  [ "$status" -eq 1 ]
  [[ "$stderr" == *"there are no samples in csv:t.csv"* ]]
  run prep-ls csv:d
  [ "$status" -eq 2 ]
}

@test "Python's csv module and prep-ls read the same" {
  /usr/bin/python3 - <<'PY'
import csv, json, os, random
rng = random.Random(4)
rows = []
for i in range(500):
    text = "".join(rng.choice('ab,;"\n\r\t é') for _ in range(rng.randrange(12)))
    name = "d/" + "".join(rng.choice('x,"\' \n%') for _ in range(rng.randrange(6))) + f"{i}.jpg"
    rows.append([name, text])
    open(name, "w").close()
with open("t.csv", "w", newline="") as out:
    csv.writer(out).writerows([["path", "note"]] + rows)
with open("expected", "w") as out:
    for name, text in rows:
        size = len(json.dumps({"note": text}, ensure_ascii=False, separators=(",", ":")).encode())
        parts = [{"name": "jpg", "size": 0}, {"name": "json", "size": size}]
        print(json.dumps({"key": name[:-4], "parts": parts}), file=out)
PY
  prep-ls --json csv:t.csv > lines
  /usr/bin/python3 - <<'PY'
import json
read = lambda name: [json.loads(line) for line in open(name)]
assert read("lines") == read("expected")
PY
}
