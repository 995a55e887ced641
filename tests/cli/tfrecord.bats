# TFRecords in and out, against protobuf's own programs.
load common

setup_file() {
  make_photos_once
  # Samples of three parts, as they stand in a data set.
  SAMPLES="$BATS_FILE_TMPDIR/samples"
  export SAMPLES
  local photo key i=0
  while read -r photo; do
    key="$SAMPLES/$(basename "$(dirname "$photo")")/$(basename "$photo" .jpg)"
    mkdir -p "$(dirname "$key")"
    cp "$photo" "$key.jpg"
    printf %s $((i % 10)) > "$key.cls"
    printf '{"number": %s, "name": "\\u00e4"}\n' $i > "$key.json"
    i=$((i + 1))
  done < <(find "$PHOTOS" -name '*.jpg' | LC_ALL=C sort)
  PYTHONPATH="$BATS_FILE_TMPDIR/protobuf"
  export PYTHONPATH
  mkdir "$PYTHONPATH"
  protoc "-I$PREP_SOURCE/tests/data" "--python_out=$PYTHONPATH" example.proto
}

setup() { cd "$BATS_TEST_TMPDIR"; }

peer() { /usr/bin/python3 "$PREP_SOURCE/tests/data/tfrecord_peer.py" "$@"; }

# The data of a TFRecord's first record.
first_record() {  # TFRECORD
  local length
  length=$(od -An -tu8 -N8 "$1")
  tail -c +13 "$1" | head -c "$((length))"
}

@test "samples come back from a TFRecord as they went in, byte for byte" {
  tar cf raw.tar -C "$SAMPLES" --sort=name --owner=0 --group=0 --mtime=@0 .
  prep-resize --quiet raw.tar -o a.tar --short 64
  prep-resize --quiet raw.tar -o a.tfrecord --short 64
  prep-resize --quiet a.tfrecord -o b.tar --short 64
  cmp a.tar b.tar
  prep-ls a.tar > expected
  [ "$(wc -l < expected)" -eq 40 ]
  prep-ls a.tfrecord | diff expected -
  # Through pipes, and from a directory.
  prep-resize --quiet "$SAMPLES" -o tfrecord:- --short 64 | cmp a.tfrecord -
  prep-resize --quiet tfrecord:- -o c.tar --short 64 < a.tfrecord
  cmp a.tar c.tar
  cat a.tfrecord | prep-ls tfrecord:- | diff expected -
}

@test "the threads change nothing" {
  prep-resize --quiet -j1 "$SAMPLES" -o a.tfrecord --short 64
  prep-resize --quiet -j4 "$SAMPLES" -o b.tfrecord --short 64
  cmp a.tfrecord b.tfrecord
}

@test "protobuf reads what is written, and would write the same" {
  prep-resize --quiet "$SAMPLES" -o a.tfrecord --short 64
  prep-resize --quiet "$SAMPLES" -o small --short 64
  peer same a.tfrecord
  peer dump a.tfrecord > records
  python3 - <<'PY'
import json, subprocess
lines = [json.loads(line) for line in open("records")]
assert len(lines) == 40
for number, line in enumerate(lines):
    assert list(line) == ["__key__", "image/channels", "image/class/label", "image/colorspace",
                          "image/encoded", "image/filename", "image/format", "image/height",
                          "image/width", "json"], list(line)
    key = line["__key__"][1][0]
    read = lambda part: open(f"small/{key}.{part}", "rb").read().decode("latin-1")
    assert line["image/class/label"] == ["int64", [number % 10]]
    assert line["image/encoded"] == ["bytes", [read("jpg")]]
    assert line["json"] == ["bytes", [read("json")]]
    assert line["image/filename"] == ["bytes", [key + ".jpg"]]
    assert line["image/format"] == ["bytes", ["JPEG"]]
    from PIL import Image
    with Image.open(f"small/{key}.jpg") as image:
        assert line["image/width"] == ["int64", [image.width]]
        assert line["image/height"] == ["int64", [image.height]]
        grey = image.mode == "L"
        assert line["image/channels"] == ["int64", [1 if grey else 3]]
        assert line["image/colorspace"] == ["bytes", ["grayscale" if grey else "RGB"]]
PY
  first_record a.tfrecord > record
  protoc --decode_raw < record > /dev/null
  protoc "-I$PREP_SOURCE/tests/data" --decode=Example example.proto < record > decoded
  grep -q 'key: "image/encoded"' decoded
}

@test "records that protobuf wrote are read" {
  peer make imagenet.tfrecord <<'EOF'
{"image/encoded": ["bytes", ["\u00ff\u00d8\u00ff"]], "image/filename": ["bytes", ["n01440764_18.JPEG"]], "image/format": ["bytes", ["JPEG"]], "image/height": ["int64", [375]], "image/class/label": ["int64", [1]], "image/class/text": ["bytes", ["tench"]], "image/object/bbox/xmin": ["float", [0.25, 0.5]]}
{"label": ["int64", [-3]], "score": ["float", [0.5]], "words": ["bytes", ["a", "b"]], "none": ["int64", []]}
EOF
  run_apart prep-ls imagenet.tfrecord
  [ "$status" -eq 0 ]
  [ "$output" = "$(printf '%s\t%s\t%s\t%s\t%s\nimagenet-tfrecord-000000001\tlabel 2\tnone 2\tscore 3\twords 9' \
    n01440764_18 'JPEG 3' 'cls 1' 'cls.txt 5' 'image.object.bbox.xmin 10')" ]
}

@test "compressed, named otherwise, in braces: all are read alike" {
  prep-resize --quiet "$SAMPLES" -o a.tfrecord --short 64
  prep-ls a.tfrecord > expected
  prep-resize --quiet "$SAMPLES" -o b.tfrecord.gz --short 64
  prep-resize --quiet "$SAMPLES" -o c.tfrecords.zst --short 64
  gzip -dc b.tfrecord.gz | cmp a.tfrecord -
  zstd -dqc c.tfrecords.zst | cmp a.tfrecord -
  cp a.tfrecord named-otherwise
  for input in b.tfrecord.gz c.tfrecords.zst named-otherwise tfrecord:a.tfrecord; do
    prep-ls "$input" | diff expected -
  done
  prep-ls tfrecord:<(cat a.tfrecord) | diff expected -
  # Shards by the names that TensorFlow gives them.
  for i in 0 1; do
    prep-resize --quiet "$SAMPLES/class-$i" -o "t.tfrecord-0000$i-of-00002" --short 64
  done
  prep-ls 't.tfrecord-{00000..00001}-of-00002' > both
  cat t.tfrecord-* > joined
  prep-ls joined | diff both -
  run prep-ls 't.tfrecord-{00000..00002}-of-00002'
  [ "$status" -eq 1 ]
  [[ "$output" == *"t.tfrecord-00002-of-00002: cannot open: No such file"* ]]
}

@test "damage is found, and nothing is committed" {
  prep-resize --quiet "$SAMPLES" -o a.tfrecord --short 64
  local size
  size=$(stat -c %s a.tfrecord)
  cp a.tfrecord flipped.tfrecord
  printf 'DAMAGE' | dd of=flipped.tfrecord bs=1 seek=1500 conv=notrunc status=none
  run prep-resize flipped.tfrecord -o out.tar
  [ "$status" -eq 1 ]
  [[ "$output" == *"flipped.tfrecord: corrupted record at 0: the checksum of its data does not fit"* ]]
  [ ! -e out.tar ]
  head -c -1 a.tfrecord > cut.tfrecord
  run prep-resize cut.tfrecord -o out.tar
  [ "$status" -eq 1 ]
  [[ "$output" == *"cut short: the file ends inside its checksum (3 of 4 bytes)"* ]]
  [ ! -e out.tar ]
  gzip -c a.tfrecord | head -c 5000 > cut.tfrecord.gz
  run prep-ls cut.tfrecord.gz
  [ "$status" -eq 1 ]
  [[ "$output" == *"cut.tfrecord.gz: the gzip data is cut short"* ]]
}

@test "what is no TFRecord is called by its name" {
  printf '<!DOCTYPE html><html>404</html>' > page.tfrecord
  printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' > lfs.tfrecord
  : > empty.tfrecord
  for pair in page:HTML lfs:LFS empty:empty; do
    run prep-ls "${pair%:*}.tfrecord"
    [ "$status" -eq 1 ]
    [[ "$output" == *"${pair%:*}.tfrecord"*"${pair#*:}"* ]]
  done
  tar cf x.tar -C "$SAMPLES" .
  run prep-ls tfrecord:x.tar
  [ "$status" -eq 1 ]
  [[ "$output" == *"x.tar: not a TFRecord: a tar"* ]]
  prep-resize --quiet "$SAMPLES" -o a.tfrecord --short 64
  run prep-ls - < a.tfrecord
  [ "$status" -eq 1 ]
  [[ "$output" == *"a TFRecord; name it with tfrecord:"* ]]
}

@test "samples with other parts than the first are bad ones" {
  cp -r "$SAMPLES/class-0" raw
  local odd
  odd=$(find raw -name '*.cls' | LC_ALL=C sort | sed -n 2p)
  rm "$odd"
  run prep-resize raw -o a.tfrecord
  [ "$status" -eq 3 ]
  [[ "$output" == *"$(basename "$odd" .cls): has not the part 'cls'"* ]]
  [ ! -e a.tfrecord ]
  echo dog > "$odd"
  run prep-resize raw -o a.tfrecord --max-errors 1
  [ "$status" -eq 0 ]
  [[ "$output" == *"$(basename "$odd"): 'dog' is not an integer"* ]]
  [ "$(prep-ls a.tfrecord | wc -l)" -eq "$(($(find raw -name '*.jpg' | wc -l) - 1))" ]
}

@test "an output is complete or not there" {
  run prep-resize "$BAD" -o a.tfrecord
  [ "$status" -ne 0 ]
  [ -z "$(ls -A)" ]
  run prep-resize "$BAD" -o a.tfrecord --max-errors 100%
  [ "$status" -eq 1 ]
  [[ "$output" == *"a.tfrecord: no sample was written"* ]]
  [ -z "$(ls -A)" ]
  # A directory is one, whatever its name.
  mkdir dir.tfrecord
  prep-resize --quiet "$SAMPLES" -o dir.tfrecord --short 64
  [ "$(find dir.tfrecord -name '*.jpg' | wc -l)" -eq 40 ]
  run prep-resize "$SAMPLES" -o tfrecord:dir.tfrecord
  [ "$status" -eq 2 ]
}

@test "the reader of a stream whose writer was killed commits nothing" {
  mkfifo pipe
  for seconds in 0.02 0.05 0.1 0.15 0.2; do
    (timeout -s KILL $seconds prep-resize --quiet -j1 "$SAMPLES" -o tfrecord:- --short 300 > pipe) &
    run prep-resize tfrecord:pipe -o out.tar --short 300
    wait || true
    if [ "$status" -eq 0 ]; then
      [ "$(prep-ls out.tar | wc -l)" -eq 40 ]  # it was done before it was killed
      rm out.tar
    else
      [ ! -e out.tar ]
    fi
  done
}
