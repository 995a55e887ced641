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
