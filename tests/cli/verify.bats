# prep-verify: what it finds, what it saves, what it says.
load common

setup_file() {
  make_photos_once
  SETS="$BATS_FILE_TMPDIR/sets"
  export SETS
  prep-pack -q "$PHOTOS" -o "$SETS/tar/t-%06d.tar" --shards 4 --labels dir --index dali,wids,energon \
    --shuffle 1
  prep-pack -q "$PHOTOS" -o "$SETS/rec/t.tfrecord-%05d-of-%05d" --format tfrecord --shards 4 \
    --labels dir --index tfrecord
}
setup() {
  cd "$BATS_TEST_TMPDIR"
  cp -r "$SETS" sets
}

# Overwrites bytes of a file.
poke() {  # FILE OFFSET TEXT
  printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# A tar of one sample's parts: NAME CONTENT pairs.
tar_of() {  # TAR [NAME CONTENT]...
  local out="$1"
  shift
  python3 - "$out" "$@" <<'PY'
import io, sys, tarfile
with tarfile.open(sys.argv[1], "w", format=tarfile.USTAR_FORMAT) as archive:
    for name, text in zip(sys.argv[2::2], sys.argv[3::2]):
        data = text.encode()
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
PY
}

@test "a sound set: exit 0, nothing on standard output" {
  local set arguments
  for set in tar rec; do
    for arguments in "" --quick "--decode" "--decode --samples 3"; do
      run_apart prep-verify $arguments "sets/$set"
      [ "$status" -eq 0 ]
      [ -z "$output" ]
      [[ "$stderr" == "prep-verify: 4 shards, "*" 0 damaged, 0 errors, 0 warnings"* ]]
    done
  done
}

@test "a finding names the file, the offset, the sample and the part" {
  python3 - <<'PY'
data = open("sets/tar/t-000000.tar", "rb").read()
end = data.rindex(b"\xff\xd9")  # of some picture
begin = data.rindex(b"\xff\xd8\xff", 0, end)
open("cut.tar", "wb").write(data[:end - 600] + b"\xff\xd9" * 301 + data[end + 2:])
print(begin, data[begin - 512:begin].split(b".jpg")[0].decode())
PY
  run_apart prep-verify --decode cut.tar
  [ "$status" -eq 3 ]
  [[ "$output" =~ ^cut\.tar:\ offset\ [0-9]+:\ sample\ class-[0-9]+/[0-9]+:\ part\ jpg:\ JPEG:\ .+ ]]
  [[ "$stderr" == *"prep-verify: error: cut.tar: "* ]]
  run prep-verify --json --decode -q cut.tar
  [[ "${lines[0]}" == '{"file":"cut.tar","offset":'*'"part":"jpg","severity":"error","code":'* ]]
}

@test "wrong usage is exit 2" {
  local arguments
  for arguments in "--quick --decode sets" "--quick --repair out sets" "--samples 3 sets" "" \
    "--repair sets sets/tar" "--task 0/2 --repair out sets"; do
    run_apart prep-verify $arguments
    [ "$status" -eq 2 ] || { echo "exit $status for: $arguments"; false; }
    [ -z "$output" ]
  done
  mkdir nothing
  run prep-verify nothing
  [ "$status" -eq 1 ]
  [[ "$output" == *"there are no shards in nothing"* ]]
}

@test "what is no shard is called by its name" {
  printf '<!DOCTYPE html><html>404' > page.tar
  printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' > lfs.tar
  printf '{"error": "AccessDenied"}' > json.tar
  : > empty.tar
  head -c 1024 /dev/zero > none.tar
  gzip -c sets/tar/t-000000.tar > packed.tar
  (cd "$PHOTOS" && python3 -m zipfile -c "$OLDPWD/zip.tar" class-*/00001.jpg)
  run prep-verify page.tar lfs.tar json.tar empty.tar none.tar packed.tar zip.tar nosuch.tar
  [ "$status" -eq 3 ]
  [[ "$output" == *"page.tar: not a tar: a web page (HTML)"* ]]
  [[ "$output" == *"lfs.tar: not a tar: a Git LFS pointer"* ]]
  [[ "$output" == *"json.tar: not a tar: JSON"* ]]
  [[ "$output" == *"empty.tar: empty"* ]]
  [[ "$output" == *"none.tar: there is no sample in it"* ]]
  [[ "$output" == *"packed.tar: warning: is gzip data, though its name does not say so"* ]]
  [[ "$output" != *"packed.tar: error"* ]]
  [[ "$output" == *"zip.tar: not a tar: a zip archive"* ]]
  [[ "$output" == *"nosuch.tar: cannot open: No such file or directory"* ]]
}

@test "what Python's tarfile reads without a word is found" {
  local whole=sets/tar/t-000000.tar size
  size=$(stat -c %s "$whole")
  cat "$whole" sets/tar/t-000001.tar > joined.tar
  head -c $((size - 1024)) "$whole" > endless.tar
  head -c 700 "$whole" > header.tar
  cp "$whole" flipped.tar && poke flipped.tar 3 '\xff'
  cp "$whole" zeroed.tar && dd if=/dev/zero of=zeroed.tar bs=512 count=2 seek=2 conv=notrunc status=none
  for damaged in joined endless header flipped zeroed; do
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1], "r|").getnames()' $damaged.tar || true
    for mode in --quick ""; do
      run prep-verify -q $mode $damaged.tar
      [ "$status" -eq 3 ] || { echo "$damaged $mode"; false; }
    done
  done
}

@test "against the manifest: missing, unknown and changed files" {
  cd sets/tar
  rm t-000001.tar t-000001.idx t-000001.tar.idx
  cp t-000000.tar t-000009.tar
  poke classes.txt 0 X
  poke t-000002.tar 5000 '\x01'
  printf ' ' >> SHA256SUMS
  run prep-verify .
  [ "$status" -eq 3 ]
  [[ "$output" == *"t-000001.tar: is missing; the manifest names it"* ]]
  [[ "$output" == *"t-000009.tar: is a shard that the manifest does not name"* ]]
  [[ "$output" == *"classes.txt: its bytes are not those that were written"* ]]
  [[ "$output" == *"t-000002.tar: its bytes are not those that were written: their SHA-256 is "* ]]
  [[ "$output" == *"SHA256SUMS: does not say what the manifest says"* ]]
  [[ "$output" == *"shardindex.json: names t-000001.tar, which is not there"* ]]
  [[ "$output" != *"t-000000.tar:"* ]]
}

@test "a directory that is not complete is not sound" {
  : > sets/tar/.prep-pack.partial
  run prep-verify --quick sets/tar
  [ "$status" -eq 3 ]
  [[ "$output" == *".prep-pack.partial: the directory is not complete"* ]]
  rm sets/tar/.prep-pack.partial
  mv sets/tar/manifest.json sets/tar/manifest.0-of-2.json
  run prep-verify --quick sets/tar
  [ "$status" -eq 3 ]
  [[ "$output" == *"is the manifest of one task of several"* ]]
}

@test "a manifest that was changed is not believed" {
  sed -i '0,/"samples":/s/"samples": *[0-9]*/"samples": 1/' sets/tar/manifest.json
  run prep-verify --quick sets/tar
  [ "$status" -eq 3 ]
  [[ "$output" == *"manifest.json: totals.samples: "* ]]
}

@test "indexes are compared with their shards" {
  poke sets/tar/t-000000.idx 12 9
  poke sets/tar/t-000001.tar.idx 8 9
  poke sets/rec/t.tfrecord-00002-of-00004.idx 0 9
  sed -i 's/"nsamples": 1/"nsamples": 2/' sets/tar/shardindex.json
  rm sets/*/manifest.json
  run prep-verify --quick sets/tar sets/rec
  [ "$status" -eq 3 ]
  [[ "$output" == *"t-000000.idx: is not the index of t-000000.tar: line 2 is 'cls 912"* ]]
  [[ "$output" == *"t-000001.tar.idx: is not the index of t-000001.tar: entry 1 is "* ]]
  [[ "$output" == *"t.tfrecord-00002-of-00004.idx: is not the index of"*"line 1 is '9 "* ]]
  [[ "$output" == *"shardindex.json: says that t-00000"* ]]
}

@test "parts are decoded to their end" {
  python3 - <<'PY'
import io, json, tarfile
import numpy
from PIL import Image
def npy(array):
    out = io.BytesIO()
    numpy.save(out, array)
    return out.getvalue()
png = io.BytesIO()
Image.new("RGB", (50, 50), "red").save(png, "PNG")
png = bytearray(png.getvalue())
png[60] ^= 1
parts = {
    "a.cls": b"3\n", "a.json": b'{"x": [1]}', "a.npy": npy(numpy.zeros((3, 4), "<f4")),
    "b.cls": b"three", "b.json": b"{'x'}", "b.npy": npy(numpy.zeros((3, 4), "<f4"))[:-1],
    "c.cls": b"1", "c.json": b"[]", "c.npy": npy(numpy.array(["a", "bc"])), "c.png": bytes(png),
    "d.cls": b"1", "d.json": b"[]", "d.npy": b"\x93NUMPY\x01", "d.png": b"<html>",
}
with tarfile.open("parts.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
    for name, data in parts.items():
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
PY
  prep-verify --optional png parts.tar
  run_apart prep-verify --decode --optional png parts.tar
  [ "$status" -eq 3 ]
  [ "${#lines[@]}" -eq 6 ]
  [[ "${lines[0]}" == *"sample b: part cls: a class must be a whole number" ]]
  [[ "${lines[1]}" == *"sample b: part json: is not JSON" ]]
  [[ "${lines[2]}" == *"sample b: part npy: NumPy: 47 bytes of data, and by its header there should be 48" ]]
  [[ "${lines[3]}" == *"sample c: part png: PNG: "* ]]
  [[ "${lines[4]}" == *"sample d: part npy: NumPy: it ends inside its header" ]]
  [[ "${lines[5]}" == *"sample d: part png: is not a picture, but a web page"* ]]
  run prep-verify -q --decode --samples 1 --optional png parts.tar
  [ "$status" -eq 0 ]
}

@test "shards that differ, and keys that are in two of them" {
  tar_of 0.tar a.jpg x a.cls 1
  tar_of 1.tar b.jpg x a.jpg x
  run_apart prep-verify --max-errors 1 0.tar 1.tar
  [ "$status" -eq 0 ]
  [[ "$output" == *"1.tar: its samples have the parts jpg, and those of 0.tar have cls, jpg"* ]]
  [[ "$output" == *"1.tar: offset 1024: sample a: warning: its key is in 0.tar, too"* ]]
  run prep-verify -q --optional cls 0.tar 1.tar
  [ "$status" -eq 0 ]
}

@test "white space beside a DALI index" {
  tar_of x.tar 'a b.jpg' x
  prep-verify x.tar
  printf 'v1.2 1\njpg 512 1 a b.jpg\n' > x.idx
  run prep-verify x.tar
  [ "$status" -eq 3 ]
  [[ "$output" == *"sample a b: a b.jpg: a name with white space, which DALI's index cannot hold"* ]]
}

@test "of N shards all must be there" {
  rm sets/rec/manifest.json sets/rec/t.tfrecord-00001-of-00004*
  run prep-verify --quick sets/rec
  [ "$status" -eq 3 ]
  [[ "$output" == *"t.tfrecord-00001-of-00004: is missing; by their names there are 4 shards"* ]]
  run prep-verify --quick sets/tar/t-00000{0,1,3}.tar
  [ "$status" -eq 0 ]
  rm sets/tar/t-000002.tar
  run prep-verify --quick sets/tar/t-00000{0,1,3}.tar
  [ "$status" -eq 0 ]
  [[ "$output" == *"t-000002.tar: warning: is missing in the numbering"* ]]
}

@test "streams, compressed shards, ranges and lists" {
  prep-verify -q - < sets/tar/t-000000.tar
  cat sets/tar/t-000000.tar | prep-verify -q -
  gzip -c sets/tar/t-000000.tar > a.tar.gz
  zstd -q sets/tar/t-000000.tar -o b.tar.zst
  prep-verify -q --decode a.tar.gz
  prep-verify -q --decode b.tar.zst
  prep-verify -q 'sets/tar/t-{000000..000003}.tar'
  gzip -c sets/rec/t.tfrecord-00000-of-00004 > r.tfrecord.gz
  prep-verify -q --decode r.tfrecord.gz
  printf '%s\n' sets/tar/*.tar > list
  run prep-verify @list
  [[ "$output" == *"4 shards, "* ]]
  head -c 2000 a.tar.gz > cut.tar.gz
  run prep-verify cut.tar.gz
  [ "$status" -eq 3 ]
  [[ "$output" == *"the gzip data is cut short"* ]]
  head -c 3000 sets/tar/t-000000.tar | { run prep-verify -; [ "$status" -eq 3 ]; }
}

@test "the report has the counts" {
  poke sets/tar/t-000001.tar 0 '\xff'
  run prep-verify -q --report report.json --errors errors.jsonl sets/tar
  [ "$status" -eq 3 ]
  python3 - <<'PY'
import json
report = json.load(open("report.json"))
assert report["exit_code"] == 3
assert report["tables"]["checked"]["shards"] == 4
assert report["tables"]["checked"]["damaged shards"] == 1
assert report["tables"]["found"]["errors"] >= 2
errors = [json.loads(line) for line in open("errors.jsonl")]
assert [error["key"] for error in errors] == ["sets/tar/t-000001.tar"]
PY
}

@test "the result does not depend on the number of threads" {
  local shard
  for shard in sets/tar/*.tar; do poke "$shard" 600 '\x55'; poke "$shard" 1030 '\x55'; done
  prep-verify -q -j1 --decode sets > one 2> /dev/null || [ $? -eq 3 ]
  prep-verify -q -j8 --decode sets > eight 2> /dev/null || [ $? -eq 3 ]
  [ -s one ]
  cmp one eight
}

@test "--repair saves every sound sample, and touches nothing" {
  poke sets/tar/t-000001.tar 2 '\xff'
  truncate -s 60000 sets/tar/t-000003.tar
  digest sets > before
  run prep-verify --repair saved sets/tar
  [ "$status" -eq 3 ]
  [[ "$output" == *"prep-verify: saved "*" samples, lost "* ]]
  diff before <(digest sets)
  prep-verify --decode saved
  (cd saved && sha256sum --quiet -c SHA256SUMS)
  [ -z "$(temporaries saved)" ]
  cmp sets/tar/t-000000.tar saved/t-000000.tar
  python3 - <<'PY'
import json, tarfile
def samples(path):
    found = {}
    try:
        for member in (archive := tarfile.open(path)):
            found[member.name] = archive.extractfile(member).read()
    except tarfile.TarError:
        pass
    return found
import glob, os
original, saved = {}, {}
for path in glob.glob(os.environ["SETS"] + "/tar/*.tar"): original.update(samples(path))
for path in glob.glob("saved/*.tar"): saved.update(samples(path))
assert saved and all(original[name] == data for name, data in saved.items())
second = samples(os.environ["SETS"] + "/tar/t-000001.tar")
lost = list(second)[0].split(".")[0]
assert all(name in saved for name in second if not name.startswith(lost + "."))
lines = [json.loads(line) for line in open("saved/lost.jsonl")]
assert any(lost in (line.get("sample"), line.get("member", "").split(".")[0]) for line in lines)
PY
  run prep-verify --repair saved sets/tar
  [ "$status" -eq 2 ]
  [[ "$output" == *"saved: --repair needs a directory that is new or empty"* ]]
}

@test "--repair of TFRecords and of compressed shards" {
  poke sets/rec/t.tfrecord-00001-of-00004 20 '\xff'
  run prep-verify --repair saved sets/rec
  [ "$status" -eq 3 ]
  prep-verify saved
  python3 - <<'PY'
import json, os
manifest = json.load(open("saved/manifest.json"))
before = json.load(open(os.environ["SETS"] + "/rec/manifest.json"))
assert manifest["totals"]["samples"] == before["totals"]["samples"] - 1
assert manifest["schema"] == before["schema"]
PY
  cp sets/tar/t-000000.tar x.tar && poke x.tar 0 '\xff' && gzip x.tar
  run prep-verify --repair unpacked x.tar.gz
  [ "$status" -eq 3 ]
  prep-verify --decode unpacked
  gzip -t unpacked/x.tar.gz
  run prep-verify --repair mixed sets/tar sets/rec
  [ "$status" -eq 2 ]
  [[ "$output" == *"there are tars and TFRecords; repair them one after the other"* ]]
  [ ! -e mixed/manifest.json ]
}

@test "against the manifest every change of a byte is found" {
  python3 - <<'PY'
import os, random, subprocess
random.seed(4)
for path in ["sets/tar/t-000002.tar", "sets/rec/t.tfrecord-00001-of-00004"]:
    whole = open(path, "rb").read()
    for _ in range(25):
        at, bit = random.randrange(len(whole)), 1 << random.randrange(8)
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(bytes([whole[at] ^ bit]))
        run = subprocess.run(["prep-verify", "-q", os.path.dirname(path)], capture_output=True)
        assert run.returncode == 3 and os.path.basename(path).encode() in run.stdout, (path, at, bit)
        with open(path, "wb") as file:
            file.write(whole)
    for _ in range(15):
        with open(path, "wb") as file:
            file.write(whole[:random.randrange(len(whole))])
        for mode in ["--quick", "--decode"]:
            run = subprocess.run(["prep-verify", "-q", mode, os.path.dirname(path)],
                                 capture_output=True)
            assert run.returncode == 3, path
    with open(path, "wb") as file:
        file.write(whole)
    assert subprocess.run(["prep-verify", "-q", os.path.dirname(path)]).returncode == 0
PY
}
