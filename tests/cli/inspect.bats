# prep-inspect: what is there is counted as it is, what it projects comes true, and nothing is touched.
load common

setup_file() {
  make_photos_once
  /usr/bin/python3 "$PREP_SOURCE/tests/data/make_eeg.py" "$BATS_FILE_TMPDIR/eeg"
  EEG="$BATS_FILE_TMPDIR/eeg"
  export EEG
}
setup() { cd "$BATS_TEST_TMPDIR"; }

# The value of a Python expression over the JSON file as `r`, its survey as `s`.
value() {  # FILE EXPRESSION
  /usr/bin/python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
s = r["survey"]
print(eval(sys.argv[2]))' "$@"
}

@test "pictures are counted as Pillow sees them" {
  prep-inspect "$PHOTOS" --samples 5 --json r.json > /dev/null
  /usr/bin/python3 - "$PHOTOS" r.json <<'EOF'
import collections, json, pathlib, sys
from PIL import Image, JpegImagePlugin, ImageOps

files = sorted(pathlib.Path(sys.argv[1]).rglob("*.jpg"))
survey = json.load(open(sys.argv[2]))["survey"]
pictures, jpeg = survey["pictures"], survey["pictures"]["jpeg"]
subsampling, short, turned, progressive = collections.Counter(), [], 0, 0
names = {0: "4:4:4", 1: "4:2:2", 2: "4:2:0"}
for file in files:
    with Image.open(file) as image:
        width, height = image.size
        short.append(min(width, height))
        turned += image.getexif().get(0x0112, 1) not in (0, 1)
        progressive += "progressive" in image.info
        kind = JpegImagePlugin.get_sampling(image)
        if image.mode != "L" and kind in names: subsampling[names[kind]] += 1
assert survey["samples"] == survey["parts"] == pictures["count"] == jpeg["count"] == len(files) == 40
assert survey["bytes"] == pictures["bytes"] == sum(f.stat().st_size for f in files)
assert {k: v for k, v in jpeg["subsampling"].items() if k in names.values()} == subsampling, subsampling
assert (pictures["short_side"]["min"], pictures["short_side"]["max"]) == (min(short), max(short))
assert pictures["small"] == sum(side <= 256 for side in short)
assert (pictures["rotated"], jpeg["progressive"]) == (turned, progressive)
assert sum(jpeg["qualities"].values()) == 40 and set(jpeg["qualities"]) == {"75", "85", "90", "92", "96"}
assert survey["classes"]["from"] == "directory" and survey["classes"]["count"] == 8
assert survey["bad"] == 0 and survey["duplicates"]["superfluous"] == 0
EOF
}

@test "the same survey whatever -j and whatever the container" {
  prep-pack "$PHOTOS" -o 's/%04d.tar' --shards 2 -q
  prep-pack "$PHOTOS" -o 't/%04d.tfrecord' --shards 2 -q
  prep-inspect "$PHOTOS" --samples 0 -j 1 --json one.json > /dev/null
  prep-inspect "$PHOTOS" --samples 0 -j 4 --json four.json > /dev/null
  prep-inspect s/*.tar --samples 0 --json tar.json > /dev/null
  prep-inspect t/*.tfrecord --samples 0 --json tfrecord.json > /dev/null
  cat s/0000.tar | prep-inspect - --samples 0 --json pipe.json > /dev/null
  local file
  for file in four tar tfrecord; do
    [ "$(value one.json '[s["pictures"], s["formats"]]')" = "$(value $file.json '[s["pictures"], s["formats"]]')" ]
  done
  [ "$(value one.json '[s["classes"], s["duplicates"]]')" = "$(value four.json '[s["classes"], s["duplicates"]]')" ]
  [ "$(value pipe.json 's["samples"]')" -eq 20 ]
}

@test "copies, labels, missing parts, masks" {
  mkdir set
  local i file
  i=0
  for file in $(find "$PHOTOS" -name '*.jpg' | sort | head -n 12); do
    cp "$file" "set/$i.jpg"
    [ $i -eq 11 ] || echo $((i % 2)) > "set/$i.cls"
    i=$((i + 1))
  done
  cp set/0.jpg set/copy.jpg
  echo 0 > set/copy.cls
  cp set/0.jpg set/again.jpg
  echo 0 > set/again.cls
  /usr/bin/python3 -c '
from PIL import Image
Image.effect_noise((300, 300), 9).convert("P").save("set/1.seg.png")'
  prep-inspect set --samples 0 --json r.json > out
  [ "$(value r.json '[s["samples"], s["parts"]]')" = "[14, 28]" ]
  [ "$(value r.json '[s["duplicates"]["superfluous"], s["duplicates"]["groups"][0]["copies"]]')" = "[2, 3]" ]
  [ "$(value r.json 's["duplicates"]["superfluous_bytes"]')" -eq $((2 * $(stat -c %s set/0.jpg))) ]
  [ "$(value r.json '[(c["name"], c["count"]) for c in s["classes"]["classes"]]')" = "[('0', 8), ('1', 5)]" ]
  [ "$(value r.json '[(m["part"], m["samples"]) for m in s["missing_parts"]]')" = "[('cls', 1)]" ]
  [ "$(value r.json 's["pictures"]["masks"]')" = "{'seg.png': 1}" ]
  grep -q "Copies of other files: 2" out
}

@test "bad files are named, those that only decoding finds as well" {
  run_apart prep-inspect "$BAD" "$PHOTOS" --json r.json --html r.html --errors bad.jsonl
  [ "$status" -eq 3 ]
  local name
  for name in bomb empty not-found cut-off; do
    [[ "$stderr" == *"$name.jpg: "* ]]
    grep -q "$name" bad.jsonl
  done
  [ "$(wc -l < bad.jsonl)" -eq 4 ]
  [ "$(value r.json '[s["bad"], r["tried"]["bad"]]')" = "[3, 1]" ]
  [ -s r.html ]
  run_apart prep-inspect "$BAD" --max-errors 4 --samples 100
  [ "$status" -eq 0 ]
  [[ "$output" == *"Bad files: 3 by their headers"* ]]
}

@test "what it projects is what the tools then give" {
  prep-inspect "$PHOTOS" --json r.json > /dev/null
  prep-resize "$PHOTOS" -o resized --quiet
  prep-recompress "$PHOTOS" -o q80 -q 80 --quiet
  prep-recompress resized -o both -q 70 --quiet
  local pair folder variant bytes
  for pair in resized:resized q80:quality_80 both:resized_quality_70; do
    folder="${pair%%:*}"
    variant="${pair#*:}"
    bytes="$(find "$folder" -name '*.jpg' -printf '%s\n' | awk '{ n += $1 } END { print n }')"
    [ "$(value r.json '[v["bytes"]["value"] for v in r["variants"] if v["variant"] == "'"$variant"'"][0]' |
      sed 's/\.0$//')" -eq "$bytes" ]
  done
  [ "$(value r.json 'all(v["decode_cpu_seconds"]["value"] > 0 for v in r["variants"])')" = True ]
}

@test "its commands work as they are printed, odd names in them too" {
  mkdir "it's here"
  find "$PHOTOS" -name '*.jpg' | sort | head -n 8 | xargs cp -t "it's here"
  prep-inspect "it's here" --json r.json > /dev/null
  value r.json '"\n".join(a["command"] for a in r["advice"] if a["command"])' > commands
  grep -q '^prep-resize ' commands
  bash -e -o pipefail commands
  [ "$(find resized -name '*.jpg' | wc -l)" -eq 8 ]
}

@test "small pictures are better left alone" {
  mkdir tiny
  /usr/bin/python3 -c '
from PIL import Image
for i in range(12): Image.effect_noise((64, 48), 30 + i).convert("RGB").save(f"tiny/{i}.jpg", quality=75)'
  prep-inspect tiny --json r.json > /dev/null
  [ "$(value r.json '[a["text"] for a in r["advice"] if a["kind"] == "no" and "esize" in a["text"]] != []')" = True ]
  [ "$(value r.json '[a for a in r["advice"] if a["command"].startswith("prep-resize")]')" = "[]" ]
}

@test "recordings: channels, rate, hours, and what spectrograms take" {
  prep-inspect "$EEG" --json r.json > out
  [ "$(value r.json 's["recordings"]["count"]')" -eq 4 ]
  [ "$(value r.json '[r["recordings"]["channels"], r["recordings"]["rate_hz"]]')" = "[[20, 20], [256.0, 256.0]]" ]
  prep-spectrogram "$EEG" -o made -q
  local bytes
  bytes="$(find made -name '*.npy' -printf '%s\n' | awk '{ n += $1 } END { print n }')"
  [ "$(value r.json 'round(r["recordings"]["array_bytes"]["value"])')" -eq "$bytes" ]
  grep -q 'Keep the recordings' out
}

@test "names that a tar cannot have, quotes, newlines and bytes that are no UTF-8" {
  mkdir odd
  local photo
  photo="$(find "$PHOTOS" -name '*.jpg' | sort | head -n 1)"
  cp "$photo" odd/README
  cp "$photo" $'odd/new\nline.jpg'
  cp "$photo" $'odd/\xff<b>&.jpg'
  prep-inspect odd --json r.json --html r.html > out
  [ "$(value r.json 's["duplicates"]["superfluous"]')" -eq 2 ]
  ! grep -q '<b>&' r.html
  /usr/bin/python3 -c 'open("r.html", encoding="utf-8").read()'
}

@test "nothing is written but the reports; wrong uses are refused" {
  cp -r "$PHOTOS" photos
  digest photos > before
  prep-inspect photos --json a.json --html a.html > /dev/null
  diff <(digest photos) before
  [ "$(find . -newer before -type f ! -path './photos/*' | sort | xargs)" = "./a.html ./a.json" ]
  run prep-inspect photos --json x --html x
  [ "$status" -eq 2 ]
  run prep-inspect photos -o out
  [ "$status" -eq 2 ]
  run prep-inspect nothing-here
  [ "$status" -eq 1 ]
  [[ "$output" == *"nothing-here"* ]]
  mkdir empty
  run prep-inspect empty
  [ "$status" -eq 1 ]
  [[ "$output" == *"no sample"* ]]
}
