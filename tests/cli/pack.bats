# prep-pack: the same shards however the work is done, and nothing half-made.
load common

setup_file() {
  make_photos_once
  rm -rf "$BAD"
  export TREE="$BATS_FILE_TMPDIR/tree"
  mkdir "$TREE"
  # Classes as directories, one with a dot; captions beside the photographs.
  cp -r "$PHOTOS"/. "$TREE"
  find "$TREE" -mindepth 1 -maxdepth 1 -type d | LC_ALL=C sort | head -n 1 |
    xargs -I{} mv {} "$TREE/class.x"
  find "$TREE" -name '*.jpg' -exec sh -c 'echo "of $1" > "${1%.jpg}.txt"' _ {} \;
  tar -C "$TREE" --sort=name -cf "$BATS_FILE_TMPDIR/tree.tar" .
  export TAR="$BATS_FILE_TMPDIR/tree.tar"
}

setup() { cd "$BATS_TEST_TMPDIR"; }

pack() { prep-pack --quiet "$@"; }

shards() {  # DIR: digests of the shards and indexes
  (cd "$1" && find . -type f ! -name 'manifest*' ! -name SHA256SUMS | LC_ALL=C sort |
    xargs sha256sum)
}

# From the manifest: json.sh DIR EXPRESSION
manifest() { /usr/bin/python3 -c "import json; m = json.load(open('$1/manifest.json')); print($2)"; }

@test "the same bytes at any -j, from a tree and from a tar of it, and by tasks" {
  local options=(--shards 7 --shuffle 1 --labels dir --index dali,wids,energon)
  pack "$TREE" -o 'one/%06d.tar' "${options[@]}" -j1
  pack "$TREE" -o 'many/%06d.tar' "${options[@]}" -j8
  pack "$TAR" -o 'tar/%06d.tar' "${options[@]}"
  for i in 0 1 2 3; do pack "$TREE" -o 'one-by-one/%06d.tar' "${options[@]}" --task $i/4 & done
  wait
  prep-pack --quiet --merge one-by-one
  [ "$(find one -name '*.tar' | wc -l)" -eq 7 ]
  (cd one && sha256sum --quiet -c SHA256SUMS)
  # An index of a whole set holds the name of its directory.
  for other in many tar one-by-one; do
    diff <(shards one | grep -v shardindex.json) <(shards $other | grep -v shardindex.json)
  done
  cmp <(sed s/one-by-one/one/ one-by-one/manifest.json | grep -v shardindex) \
    <(grep -v shardindex one/manifest.json)
  [ -z "$(find one many tar one-by-one -name '.prep*')" ]
  prep-verify --quiet one
}

@test "TFRecords: by tasks, too, and back to the same parts" {
  pack "$TREE" -o 'r/t.tfrecord-%05d-of-%05d' --shards 3 --shuffle 5 --labels dir
  [ -e r/t.tfrecord-00002-of-00003 ]
  for i in 0 1; do pack "$TAR" -o 'p/t.tfrecord-%05d-of-%05d' --shards 3 --shuffle 5 --labels dir \
    --task $i/2 & done
  wait
  prep-pack --quiet --merge p
  diff <(shards r) <(shards p)
  prep-verify --quiet r
  pack r/t.tfrecord-0000{0,1,2}-of-00003 -o back/
  diff -r <(cd "$TREE" && find . -name '*.jpg' | sort | xargs sha256sum) \
    <(cd back && find . -name '*.jpg' | sort | xargs sha256sum)
}

@test "Python's tarfile, GNU tar and bsdtar read what was packed" {
  pack "$TREE" -o 's/%06d.tar' --shards 2
  for i in 0 1; do tar -tf s/00000$i.tar; done | LC_ALL=C sort > gnu
  for i in 0 1; do bsdtar -tf s/00000$i.tar; done | LC_ALL=C sort > bsd
  /usr/bin/python3 -c 'import tarfile
for i in range(2):
    for member in tarfile.open(f"s/00000{i}.tar"):
        assert member.isfile() and member.mtime == 0 and member.uid == 0 and member.mode == 0o644
        print(member.name)' | LC_ALL=C sort > python
  (cd "$TREE" && find . -type f | sed 's/^..//' | LC_ALL=C sort) > wanted
  diff wanted gnu; diff wanted bsd; diff wanted python
}

@test "indexes are what the shards hold" {
  pack "$TREE" -o 's/%06d.tar' --shards 2 --index dali,energon,wids
  /usr/bin/python3 - <<'PY'
import hashlib, json, os, struct, tarfile
for shard in ("s/000000.tar", "s/000001.tar"):
    samples = {}
    with tarfile.open(shard) as tar:
        for m in tar:
            key, part = m.name.rsplit(".", 1)
            samples.setdefault(key, []).append((part, m.offset_data, m.size, m.name, m.offset))
    lines = ["v1.2 %d" % len(samples)]
    lines += [" ".join("%s %d %d %s" % p[:4] for p in parts) for parts in samples.values()]
    assert open(shard[:-4] + ".idx").read() == "\n".join(lines) + "\n"
    with open(shard + ".idx", "rb") as f:
        offsets = struct.unpack("<%dQ" % (len(samples) + 1), f.read())
    assert list(offsets[:-1]) == [parts[0][4] for parts in samples.values()]
    assert offsets[-1] == os.path.getsize(shard) - 1024
wids = json.load(open("s/shardindex.json"))
for one in wids["shardlist"]:
    data = open("s/" + one["url"], "rb").read()
    assert one["md5sum"] == hashlib.md5(data).hexdigest() and one["filesize"] == len(data)
PY
}

@test "equal shards: what is dropped or repeated is in the manifest" {
  pack "$TREE" -o 'no/%03d.tar' --shards 7
  [ "$(manifest no '[s["samples"] for s in m["shards"]]')" = "[6, 6, 6, 6, 6, 5, 5]" ]
  run prep-pack "$TREE" -o 'drop/%03d.tar' --shards 7 --equal drop
  [ "$status" -eq 0 ]
  [[ "$output" == *"40 read = 35 written + 5 skipped + 0 failed"* ]]
  [ "$(manifest drop '{s["samples"] for s in m["shards"]}, len(m["dropped"])')" = "{5} 5" ]
  pack "$TREE" -o 'pad/%03d.tar' --shards 7 --equal pad
  [ "$(manifest pad '{s["samples"] for s in m["shards"]}, len(m["repeated"])')" = "{6} 2" ]
  prep-verify --quiet pad
}

@test "splits: by class to the sample, and stable when samples are added" {
  pack "$TREE" -o 's/{split}-%03d.tar' --split train=0.8,val=0.2 --stratify --labels dir --shards 1
  [ "$(manifest s '[m["splits"][x]["samples"] for x in ("train", "val")]')" = "[32, 8]" ]
  cp -r "$TREE" more
  pack more -o 'a/{split}-%03d.tar' --split train=0.5,val=0.5 --shards 1
  prep-ls a/val-000.tar | cut -f 1 | sort > before
  for i in $(seq 30); do cp "$(find "$TREE" -name '*.jpg' | head -n 1)" more/new$i.jpg; echo x > more/new$i.txt; done
  pack more -o 'b/{split}-%03d.tar' --split train=0.5,val=0.5 --shards 1
  prep-ls b/val-000.tar | cut -f 1 | grep -v '^new' | sort > after
  diff before after
}

@test "sizes: no shard is larger, and a sample that is larger has its own" {
  head -c 2000000 /dev/zero > big.bin
  mkdir in && mv big.bin in/ && cp "$(find "$TREE" -name '*.jpg' | head -n 1)" in/a.jpg
  run prep-pack "$TREE" in -o 's/%03d.tar' --max-size 1M
  [ "$status" -eq 0 ]
  [[ "$output" == *"larger than --max-size"* ]]
  [ "$(find s -name '*.tar' -size +1000000c | wc -l)" -eq 1 ]
}

@test "a rerun does nothing; other settings and inputs make all anew, and leave nothing old" {
  cp -r "$TREE" in
  pack in -o 's/%03d.tar' --shards 5
  stat -c %Y.%i s/000.tar > before
  run prep-pack in -o 's/%03d.tar' --shards 5
  [ "$status" -eq 0 ]
  [[ "$output" == *"40 read = 0 written + 40 skipped"* ]]
  diff before <(stat -c %Y.%i s/000.tar)
  pack in -o 's/%03d.tar' --shards 3
  [ "$(find s -name '*.tar' | wc -l)" -eq 3 ]
  rm "$(find in -name '*.txt' | head -n 1)"
  pack in -o 's/%03d.tar' --shards 3
  [ "$(manifest s 'm["totals"]["samples"]')" -eq 40 ]
  (cd s && sha256sum --quiet -c SHA256SUMS)
  echo mine > s/007.tar
  run prep-pack in -o 's/%03d.tar' --shards 2
  [ "$status" -eq 2 ]
  [[ "$output" == *"s/007.tar: is there already"* ]]
  [ "$(find s -name '*.tar' | wc -l)" -eq 4 ]
}

@test "kill -9 at any time, then again: as if nothing had happened" {
  pack "$TREE" -o 'whole/%03d.tar' --shards 9 --shuffle 2
  for i in $(seq 12); do
    rm -rf s
    prep-pack --quiet "$TREE" -o 's/%03d.tar' --shards 9 --shuffle 2 2> err &
    sleep 0.00$((RANDOM % 10))$((RANDOM % 10))
    kill -9 $! 2> /dev/null || true
    wait $! 2> /dev/null || true
    # Every shard that has its name is whole.
    for shard in s/*.tar; do [ ! -e "$shard" ] || cmp "$shard" "whole/$(basename "$shard")"; done
    pack "$TREE" -o 's/%03d.tar' --shards 9 --shuffle 2
    diff <(shards whole) <(shards s)
    [ -z "$(find s -name '.*' ! -name s)" ]
  done
}

@test "a stream that breaks off leaves what was there" {
  pack "$TREE" -o 's/%03d.tar' --max-count 10
  shards s > before
  head -c 300000 "$TAR" > cut.tar
  run prep-pack - -o 's/%03d.tar' --max-count 7 < cut.tar
  [ "$status" -eq 1 ]
  [[ "$output" == *"cut short"* ]]
  diff before <(shards s)
  [ -e s/manifest.json ]
  run prep-pack - -o 'new/%03d.tar' < cut.tar
  [ "$status" -eq 1 ]
  [ -z "$(find new -type f 2> /dev/null)" ]
  prep-pack --quiet - -o 's/%03d.tar' --max-count 7 < "$TAR"
  [ "$(find s -name '*.tar' | wc -l)" -eq 6 ]
}

@test "what a stream cannot give is refused, with the reason" {
  for option in "--shuffle 1" "--shards 2" "--equal drop --max-count 3" "--labels dir" "--task 0/2"; do
    run prep-pack - -o 's/%03d.tar' $option < "$TAR"
    [ "$status" -eq 2 ]
    [[ "$output" == *"can be read only once"* ]]
  done
  prep-pack --quiet - -o 's/%03d.tar' --shuffle 1 --shuffle-buffer 10 < "$TAR"
  prep-pack --quiet - -o 't/%03d.tar' --shuffle 1 --shuffle-buffer 10 < "$TAR"
  diff <(shards s) <(shards t)
  [ "$(prep-ls s/000.tar | wc -l)" -eq 40 ]
}

@test "too little room is said before anything is written" {
  mountpoint -q full 2> /dev/null || { mkdir full; mount -t tmpfs -o size=1m tmpfs full; } 2> /dev/null ||
    skip "no right to mount"
  run prep-pack "$TREE" -o 'full/s/%03d.tar' --shards 2
  local left
  left="$(find full -type f)"
  umount full
  [ "$status" -eq 1 ]
  [[ "$output" == *"are missing"* ]]
  [ -z "$left" ]
}

@test "two writers, and an output among the input, are refused" {
  mkfifo pipe
  prep-pack --quiet - -o 's/%03d.tar' < pipe &
  exec 9> pipe
  head -c 20000 "$TAR" >&9
  for _ in $(seq 500); do [ ! -e s/.prep-pack.partial ] || break; sleep 0.02; done
  run prep-pack "$TREE" -o 's/%03d.tar' 9>&-
  exec 9>&-
  wait || true
  [ "$status" -eq 1 ]
  [[ "$output" == *"another run is writing into it"* ]]
  cp -r "$TREE" in
  run prep-pack in -o 'in/%03d.tar'
  [ "$status" -eq 2 ]
  [[ "$output" == *"among the input"* ]]
}

@test "parts that stand apart: an error, or joined on request" {
  mkdir in && for f in a b; do echo $f > in/$f.txt; echo $f > in/$f.json; done
  tar -C in -cf apart.tar a.txt b.txt a.json b.json
  run prep-pack apart.tar -o 's/%03d.tar'
  [ "$status" -eq 3 ]
  [[ "$output" == *"has the key"* ]]
  [ ! -e s/manifest.json ]
  pack apart.tar -o 's/%03d.tar' --regroup
  [ "$(tar -tf s/000.tar | xargs)" = "a.json a.txt b.json b.txt" ]
}

@test "parts: chosen, renamed, labelled from a table" {
  (cd "$TREE" && find . -name '*.jpg' | sed 's/^..//; s/.jpg$//' | sort |
    awk '{ print $0 "," (NR % 2 ? "odd" : "even") }') > labels.csv
  pack "$TREE" -o 's/%03d.tar' --labels labels.csv --parts jpg,cls --rename txt=caption
  [ "$(cat s/classes.txt | xargs)" = "even odd" ]
  [ "$(manifest s '[c["samples"] for c in m["classes"]]')" = "[20, 20]" ]
  prep-ls s/000.tar | head -n 1 | grep -qP '\tjpg \d+\tcls 1$'
  head -n 3 labels.csv > few.csv
  run prep-pack "$TREE" -o 'f/%03d.tar' --labels few.csv
  [ "$status" -eq 3 ]
  [[ "$output" == *"the table has no label for it"* ]]
  [ ! -e f/manifest.json ]
}

@test "labels and classes are part of what a set is made from" {
  mkdir in
  for i in 1 2 3 4; do echo $i > in/$i.txt; done
  printf 'path,label\nin/1.txt,cat\nin/2.txt,dog\nin/3.txt,cat\nin/4.txt,cow\n' > t.csv
  classes() { tar -xOf s/0.tar --wildcards '*.cls' | xargs -n1 | xargs; }
  labels() { for i in 1 2 3 4; do tar -xOf s/0.tar $i.cls; printf ' '; done; }
  pack t.csv -o 's/%d.tar' --shards 1
  [ "$(cat s/classes.txt | xargs)" = "cat cow dog" ]
  for i in 1 2 3 4; do tar -xOf s/0.tar in/$i.cls; done > before
  [ "$(cat before)" = 0201 ]
  # The photographs are what they were, the table is not.
  sed -i 's/dog/cow/' t.csv
  pack t.csv -o 's/%d.tar' --shards 1
  for i in 1 2 3 4; do tar -xOf s/0.tar in/$i.cls; done > after
  [ "$(cat after)" = 0101 ]
  printf 'cow\ncat\n' > classes
  pack t.csv -o 's/%d.tar' --shards 1 --classes classes
  [ "$(cat s/classes.txt | xargs)" = "cow cat" ]
  printf 'cat\ncow\n' > classes
  pack t.csv -o 's/%d.tar' --shards 1 --classes classes
  for i in 1 2 3 4; do tar -xOf s/0.tar in/$i.cls; done > after
  [ "$(cat after)" = 0101 ]
  echo cat > classes
  run prep-pack t.csv -o 'f/%d.tar' --classes classes
  [ "$status" -eq 3 ]
  [[ "$output" == *"in/2: its class 'cow' is not in the list of classes"* ]]
  # A stream must know the list before.
  tar -cf in.tar in/*.txt
  run prep-pack - -o 'g/%d.tar' --labels t.csv < in.tar
  [ "$status" -eq 2 ]
  [[ "$output" == *"--classes"* ]]
  [ -z "$(ls -A g)" ]
}

@test "tables of numbers, and --shuffle 0, are what they say" {
  mkdir in
  for i in 1 2 3; do echo $i > in/$i.txt; done
  printf '{"file": "in/1.txt", "label": 30}\n{"file": "in/2.txt", "label": 7}\n' > t.jsonl
  pack t.jsonl -o 's/%d.tar' --shards 1
  [ "$(tar -xOf s/0.tar in/1.cls)" = 30 ]
  [ ! -e s/classes.txt ]
  [ "$(manifest s '[(c["index"], c["samples"]) for c in m["classes"]]')" = "[(7, 1), (30, 1)]" ]
  pack "$TREE" -o 'o/%d.tar' --shuffle 0
  prep-ls o/0.tar > shuffled
  run prep-pack "$TREE" -o 'o/%d.tar'
  [[ "$output" == *"40 read = 40 written"* ]]
  ! diff -q shuffled <(prep-ls o/0.tar)
  diff <(sort shuffled) <(prep-ls o/0.tar | sort)
}

@test "the order is one of the keys, not of the input" {
  local first last
  first=$(ls "$TREE" | head -n 1)
  last=$(ls "$TREE" | tail -n 1)
  pack "$TREE/$first" "$TREE/$last" -o 'a/%d.tar' --shuffle 3 --shards 2
  pack "$TREE/$last" "$TREE/$first" -o 'b/%d.tar' --shuffle 3 --shards 2
  diff <(shards a) <(shards b)
  pack "$TREE" -o - --shuffle 3 | prep-ls - > stream
  pack "$TREE" -o one.tar --shuffle 3
  pack "$TREE" -o one.tfrecord --shuffle 3
  diff stream <(prep-ls one.tar)
  diff <(cut -f 1 stream) <(prep-ls one.tfrecord | cut -f 1)
  pack one.tar -o back/
  diff <(digest "$TREE") <(digest back)
}

@test "one directory holds one set, and what is read is never replaced" {
  pack "$TREE" -o 's/train-%03d.tar' --shards 3
  shards s > before
  run prep-pack "$TREE" -o 's/val-%03d.tar' --shards 1
  [ "$status" -eq 2 ]
  [[ "$output" == *"train-00"*"is a shard of another set in that directory"* ]]
  for more in "" --force; do
    run prep-pack 's/train-{000..002}.tar' -o 's/train-%03d.tar' --shards 2 $more
    [ "$status" -eq 2 ]
    [[ "$output" == *"is an input, and would be replaced"* ]]
  done
  run prep-pack - -o 's/train-%03d.tar' < s/train-001.tar
  [ "$status" -eq 2 ]
  diff before <(shards s)
  (cd s && sha256sum --quiet -c SHA256SUMS)
}

@test "tasks on an older set, at the same time and one after the other" {
  pack "$TREE" -o 'ref/%d.tar' --shards 7 --shuffle 6
  for old in 3 9; do
    pack "$TREE" -o 's/%d.tar' --shards $old
    for i in 0 1 2 3; do pack "$TREE" -o 's/%d.tar' --shards 7 --shuffle 6 --task $i/4 & done
    wait
    prep-pack --quiet --merge s
    diff <(shards ref) <(shards s)
    rm -rf s
  done
  pack "$TREE" -o 's/%d.tar' --shards 9
  for i in 0 1; do pack "$TREE" -o 's/%d.tar' --shards 7 --shuffle 6 --task $i/2; done
  prep-pack --quiet --merge s
  diff <(shards ref) <(shards s)
  # Parts that do not belong together, or are not all there.
  pack "$TREE" -o 't/%d.tar' --shards 4 --task 0/2
  run prep-pack --merge t
  [ "$status" -eq 2 ]
  [[ "$output" == *"manifest.1-of-2.json is missing"* ]]
  pack "$TREE" -o 't/%d.tar' --shards 4 --shuffle 1 --task 1/2
  run prep-pack --merge t
  [ "$status" -eq 2 ]
  [[ "$output" == *"do not belong together: shuffle"* ]]
  # More tasks than shards.
  for i in 0 1 2; do pack "$TREE" -o 'u/%d.tar' --shards 2 --task $i/3; done
  prep-pack --quiet --merge u
  prep-verify --quiet u
}

@test "killed while it replaces another set, in tasks, then again" {
  pack "$TREE" -o 'ref/{split}/%d.tar' --split a=0.5,b=0.5 --shards 6 --shuffle 2 --index dali
  for i in $(seq 8); do
    rm -rf s
    pack "$TREE" -o 's/{split}/%d.tar' --split a=0.8,c=0.2 --shards 5
    for i in 0 1; do
      prep-pack --quiet "$TREE" -o 's/{split}/%d.tar' --split a=0.5,b=0.5 --shards 6 --shuffle 2 \
        --index dali --task $i/2 2> /dev/null &
      sleep 0.00$((RANDOM % 10))$((RANDOM % 10))
      kill -9 $! 2> /dev/null || true
      wait $! 2> /dev/null || true
    done
    for i in 0 1; do
      pack "$TREE" -o 's/{split}/%d.tar' --split a=0.5,b=0.5 --shards 6 --shuffle 2 --index dali \
        --task $i/2
    done
    prep-pack --quiet --merge s
    diff <(shards ref) <(shards s)
    [ -z "$(find s -name '.*' ! -name s)" ]
  done
}

@test "a rerun redoes a shard that is gone or was cut, and only what a killed run had not done" {
  pack "$TREE" -o 's/%d.tar' --shards 4 --index dali
  shards s > before
  truncate -s -512 s/2.tar
  pack "$TREE" -o 's/%d.tar' --shards 4 --index dali
  diff before <(shards s)
  rm s/1.idx
  pack "$TREE" -o 's/%d.tar' --shards 4 --index dali
  diff before <(shards s)
  # The first bad sample is in the last shard: those before it stay as they are.
  cp -r "$TREE" in
  ln -s nowhere in/zzz.jpg
  run prep-pack in -o 'b/%d.tar' --shards 4
  [ "$status" -eq 3 ]
  [ ! -e b/manifest.json ]
  run prep-pack in -o 'b/%d.tar' --shards 4 --max-errors 1
  [ "$status" -eq 0 ]
  [ "$(manifest b 'm["failed"]')" -eq 1 ]
  run prep-pack in -o 'b/%d.tar' --shards 4 --max-errors 1
  [[ "$output" == *"0 written + 40 skipped + 1 failed"* ]]
}

@test "bad samples of TFRecords: the typed schema is checked, other shards stay" {
  mkdir in
  for i in 1 2 3 4; do echo "picture $i" > in/$i.jpg; echo $i > in/$i.cls; done
  echo three > in/3.cls
  run prep-pack in -o 's/%d.tfrecord' --shards 2
  [ "$status" -eq 3 ]
  [[ "$output" == *"3.cls: 'three' is not an integer"* ]]
  [ "$(ls s)" = 0.tfrecord ]
  run prep-pack in -o 's/%d.tfrecord' --shards 2 --max-errors 1
  [ "$status" -eq 0 ]
  [[ "$output" == *"4 read = 1 written + 2 skipped + 1 failed"* ]]
  [ "$(manifest s '[s["samples"] for s in m["shards"]], m["failed"]')" = "[2, 1] 1" ]
  # Done, for who tolerates it; nothing is thrown away for who doesn't.
  prep-pack --quiet in -o 's/%d.tfrecord' --shards 2 --max-errors 1
  run prep-pack in -o 's/%d.tfrecord' --shards 2
  [ "$status" -eq 1 ]
  [[ "$output" == *"without 1 bad sample"* ]]
  prep-verify --quiet s
  run prep-pack in -o 'e/%d.tfrecord' --shards 2 --max-errors 1 --equal drop
  [ "$status" -eq 1 ]
  [[ "$output" == *"e/1.tfrecord: 1 of its 2 samples failed"* ]]
  [ ! -e e/manifest.json ]
}

@test "records are Examples that protobuf's own program reads, at the places of the index" {
  mkdir in
  for i in 1 2 3; do echo "caption $i" > in/$i.txt; echo $i > in/$i.cls; done
  pack in -o 's/%d.tfrecord' --index dali --types txt=bytes
  while read -r offset size; do
    tail -c +$((offset + 13)) s/0.tfrecord | head -c $((size - 16)) |
      protoc --decode Example -I "$PREP_SOURCE/tests/data" example.proto
  done < s/0.tfrecord.idx > decoded
  [ "$(grep -c '"caption [123]\\n"' decoded)" -eq 3 ]
  [ "$(grep -A 3 'image/class/label' decoded | grep -cE 'value: [123]$')" -eq 3 ]
}

@test "compressed shards are told by their names, and have no index" {
  pack "$TREE" -o 'z/%d.tar.zst' --shards 2
  pack "$TREE" -o 'g/%d.tar.gz' --shards 2
  pack "$TREE" -o 'p/%d.tar' --shards 2
  pack "$TREE" -o 'r/%d.tfrecord' --shards 2 --compress gzip
  for i in 0 1; do
    zstd -qdc z/$i.tar.zst | cmp - p/$i.tar
    gzip -dc g/$i.tar.gz | cmp - p/$i.tar
    gzip -t < r/$i.tfrecord
  done
  for set in z g r; do prep-verify --quiet $set; done
  run prep-pack "$TREE" -o 'w/%d.tar' --compress zstd
  [ "$status" -eq 2 ]
  run prep-pack "$TREE" -o 'w/%d.tar.zst' --index dali
  [ "$status" -eq 2 ]
  [[ "$output" == *"offsets"* ]]
  [ ! -e w ]
}

@test "names: all that loaders can read, and the others by name" {
  local long name
  long=$(printf 'n%.0s' {1..240})
  mkdir -p in/d.x "in/$long"
  for name in a.b.c 'sp ace.jpg' ünï.jpg $'bad\xff.jpg' $'nl\nx.jpg' 'back\slash.jpg' \
    "${long:0:97}.jpg" "$long.jpg" "$long/$long.jpg" d.x/a.jpg d.x/b.tar.gz; do
    echo "$name" > "in/$name"
  done
  ln -s ../a.b.c in/d.x/link.txt
  ln in/a.b.c in/d.x/hard.txt
  truncate -s 100000 in/sparse.bin
  run prep-pack in -o 's/%d.tar'
  [ "$status" -eq 0 ]
  [[ "$output" == *"14 read = 14 written"* ]]
  [[ "$output" == *"3 long names or sizes in PAX headers"* ]]
  mkdir gnu && tar -xf s/0.tar -C gnu
  diff -r in gnu
  [ -z "$(find gnu -type l)" ]
  mkdir bsd && bsdtar -xf s/0.tar -C bsd && diff -r in bsd
  run prep-pack in -o 'i/%d.tar' --index dali --max-errors 9
  [[ "$output" == *"12 written + 0 skipped + 2 failed"* ]]
  [[ "$output" == *"sp ace.jpg: a name with white space"* ]]
  : > in/noext
  : > in/A.JPG
  : > in/A.jpg
  run prep-pack in -o 's/%d.tar' --max-errors 2
  [ "$status" -eq 0 ]
  [[ "$output" == *"noext: its name has no dot"* ]]
  [[ "$output" == *"A: two parts are named 'jpg' but for upper and lower case"* ]]
}

@test "a signal ends a run after cleaning up, and a later one goes on" {
  /usr/bin/python3 - "$TREE" <<'PY'
import os, shutil, signal, subprocess, sys, time
tree = sys.argv[1]
os.mkfifo("in")
command = ["prep-pack", "--quiet", tree, "-o", "s/%02d.tar", "--shards", "10", "-j1"]
subprocess.run(command[:3] + ["-o", "whole/%02d.tar"] + command[5:], check=True)
for number in (signal.SIGTERM, signal.SIGINT):
    # A stream that does not come to its end.
    run = subprocess.Popen(["prep-pack", "--quiet", "in", "-o", "stream/%d.tar"],
                           stderr=subprocess.PIPE,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    with open("in", "wb") as pipe:
        pipe.write(open("whole/00.tar", "rb").read()[:-1024])
        pipe.flush()
        while not os.path.isdir("stream/.prep-pack.tmp"):
            time.sleep(0.01)
        run.send_signal(number)
        _, messages = run.communicate(timeout=60)
    assert run.returncode == -number, (run.returncode, messages)
    assert os.listdir("stream") == [], os.listdir("stream")
    # A plan, as soon as the first shard is there.
    run = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while run.poll() is None and not os.path.exists("s/00.tar"):
        pass
    run.send_signal(number)
    run.wait()
    assert not os.path.exists("s/.prep-pack.tmp")
    before = {name: os.stat("s/" + name).st_ino for name in os.listdir("s") if name[0] in "0123"}
    subprocess.run(command, check=True)
    assert all(os.stat("s/" + name).st_ino == inode for name, inode in before.items())
    for name in os.listdir("whole"):
        if name != "manifest.json":
            assert open("s/" + name, "rb").read() == open("whole/" + name, "rb").read(), name
    assert sorted(os.listdir("s")) == sorted(os.listdir("whole"))
    shutil.rmtree("s")
PY
}

@test "a disk that fills up meanwhile: exit 1, with how much is missing, and nothing half-made" {
  mkdir full
  mount -t tmpfs -o size=8m tmpfs full 2> /dev/null || skip "no right to mount"
  mkdir in
  for i in $(seq 60); do head -c 100000 /dev/urandom > in/$i.bin; done
  run /usr/bin/python3 - <<'PY'
import os, subprocess
run = subprocess.Popen(["prep-pack", "-j1", "in", "-o", "full/%02d.tar", "--shards", "30"],
                       stderr=subprocess.PIPE)
while run.poll() is None and not os.path.exists("full/02.tar"):
    pass
try:
    with open("full/taken", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
except OSError:
    pass
messages = run.communicate()[1].decode()
assert run.returncode == 1, (run.returncode, messages)
assert "No space left on device" in messages and "were still to be written" in messages, messages
PY
  local first="$output" code="$status" bad="" shard
  for shard in full/*.tar; do tar -tf "$shard" > /dev/null || bad+=" $shard"; done
  local left
  left=$(find full -name '.prep-pack.tmp' -o -name manifest.json)
  rm full/taken
  # In the same directory: how much has to be written is less now.
  prep-pack --quiet in -o 'full/%02d.tar' --shards 30 && prep-verify --quiet full
  local again=$?
  # Compressed shards, whose size nobody knows before.
  run prep-pack in -o 'full/z/%02d.tar.zst' --shards 30
  local zipped="$status" half
  half=$(find full/z -name '*.tmp')
  umount full
  [ "$code" -eq 0 ] || { echo "$first"; false; }
  [ -z "$bad$left$half" ]
  [ "$again" -eq 0 ]
  [ "$zipped" -eq 1 ]
}

@test "a producer that is killed: nothing is committed, what was there stays" {
  pack "$TREE" -o 's/%03d.tar' --max-count 10
  digest s > before
  mkfifo pipe
  prep-resize --quiet pipe -o - > out.tar &
  local resize=$!
  exec 9> pipe
  head -c 400000 "$TAR" >&9
  prep-pack - -o 's/%03d.tar' --max-count 3 < <(tail -c +1 -f --pid=$resize out.tar) 2> err &
  local packer=$!
  kill -9 $resize
  exec 9>&-
  local code=0
  wait $packer || code=$?
  [ "$code" -eq 1 ]
  grep -q 'standard input: ' err
  diff before <(digest s)
  [ -z "$(find s -name '.*' ! -name s)" ]
}

@test "every tool writes shards" {
  prep-resize --quiet "$PHOTOS" -o 's/%04d.tar' --short 32
  prep-verify --quiet s
  (cd s && sha256sum --quiet -c SHA256SUMS)
  [ "$(manifest s '(m["tool"], m["settings"]["short"], m["totals"]["samples"])')" = \
    "('prep-resize', '32', 40)" ]
  prep-resize --quiet "$PHOTOS" -o 'r/%04d.tfrecord' --short 32
  prep-verify --quiet r
  prep-resize --quiet "$PHOTOS" -o one.tar --short 32
  cmp one.tar s/0000.tar
  run prep-resize "$PHOTOS" -o 't/%04d.tar' --task 0/2
  [ "$status" -eq 2 ]
  [[ "$output" == *"prep-pack"* ]]
  run prep-resize "$PHOTOS" -o 't/{split}-%d-of-%d.tar'
  [ "$status" -eq 2 ]
  [ ! -e t ]
}

@test "wrong options are told before anything is listed or made" {
  local wrong=(
    "-o s/%d.tar --split a=0.5,b=0.6" "-o s/{split}.tar --split a=1" "-o s/%d.tar --split a=1"
    "-o s/{split}-%d.tar" "-o s/%d.tar --stratify" "-o s/%d.tar --shards 2 --max-count 3"
    "-o s/%d.tar --max-size 5q" "-o s/%d.tar --max-size 0" "-o s/%d.tar --shards 0"
    "-o s/%5d.tar" "-o s/%d/../x.tar" "-o s/%d-%d-%d.tar" "-o s/%d" "-o s.tar --shards 2"
    "-o s.tar --index dali" "-o s/ --format tar" "-o s/%d.tar --index tfrecord"
    "-o s/%d.tfrecord --index wids" "-o s/%d.tar --shuffle-buffer 9" "-o s/%d.tar --parts .x"
    "-o s/%d.tar --rename x" "-o s/%d.tfrecord --types x" "-o s.tar --task 0/2")
  ln -s nowhere bad.jpg
  for arguments in "${wrong[@]}"; do
    run prep-pack . $arguments
    [ "$status" -eq 2 ] || { echo "exit $status for $arguments: $output"; false; }
    [[ "$output" != *nowhere* && "$output" != *bad.jpg* ]]
    [ ! -e s ] && [ ! -e s.tar ]
  done
  run prep-pack "$TREE" -o 's/%d.tar' --shards 41
  [ "$status" -eq 2 ]
  [[ "$output" == *"there are 40 samples for 41 shards"* ]]
  mkdir empty
  run prep-pack empty -o 's/%d.tar'
  [ "$status" -eq 1 ]
  [ -z "$(ls -A s)" ]
}
