# prep-recompress: what it changes, what it leaves alone, and what it says.
load common

setup_file() {
  make_photos_once
  export ODD="$BATS_FILE_TMPDIR/odd"
  "$PREP_DATA/make_odd_images" "$ODD" > "$BATS_FILE_TMPDIR/manifest"
}
setup() { cd "$BATS_TEST_TMPDIR"; }

bytes_of() { find "$1" -name '*.jpg' -printf '%s\n' | awk '{ n += $1 } END { print n }'; }

@test "photographs get smaller, and every output decodes without a warning" {
  prep-recompress --quiet "$PHOTOS" -o out
  [ "$(bytes_of out)" -lt $(($(bytes_of "$PHOTOS") * 7 / 10)) ]
  find out -name '*.jpg' -print0 | xargs -0 python3 -W error -c 'import sys, os
from PIL import Image
for path in sys.argv[1:]:
    image = Image.open(path)
    image.load()
    copied = open(path, "rb").read() == open(path.replace("out", os.environ["PHOTOS"], 1), "rb").read()
    assert copied or not image.info.get("progressive"), path'
  # libjpeg-turbo itself: djpeg prints what it warns of.
  [ -z "$(find out -name '*.jpg' -exec djpeg -outfile /dev/null {} \; 2>&1)" ]
}

@test "OpenCV decodes every output without a warning" {
  python3 -c 'import cv2' || skip "python3-opencv is not installed"
  prep-recompress --quiet "$PHOTOS" -o plain
  prep-recompress --quiet "$PHOTOS" -o fast --no-optimize --subsampling keep
  prep-recompress --quiet "$PHOTOS" -o progressive --progressive
  run_apart python3 -c 'import glob, cv2
paths = [path for kind in ("plain", "fast", "progressive")
         for path in glob.glob(kind + "/**/*.jpg", recursive=True)]
assert len(paths) == 120, len(paths)
assert all(cv2.imread(path) is not None for path in paths)'
  [ "$status" -eq 0 ]
  [ -z "$stderr" ]  # where its libjpeg warns
}

@test "a second run over its own output changes nothing and says so" {
  prep-recompress --quiet "$PHOTOS" -o once
  run prep-recompress once -o twice
  [ "$status" -eq 0 ]
  [[ "$output" != *"JPEGs recompressed"* ]]
  [[ "$output" == *"JPEGs copied"* ]]
  diff <(digest once) <(digest twice)
}

@test "the same bytes at any -j, from a directory and from a stream" {
  prep-recompress --quiet "$PHOTOS" -o j1 -j1
  prep-recompress --quiet "$PHOTOS" -o j8 -j8
  tar cf raw.tar -C "$PHOTOS" .
  prep-recompress --quiet - -o stream -j3 < raw.tar
  diff <(digest j1) <(digest j8)
  diff <(digest j1) <(digest stream)
}

@test "odd pictures: no crash, no internal error, nothing larger, bad ones named" {
  run prep-recompress "$ODD" -o out --max-errors 100% --errors errors
  [ "$status" -eq 0 ]
  ! grep -q '"internal"' errors
  grep -q 'truncated' errors
  cd out
  find . -type f ! -name '.prep-*' -print0 | while IFS= read -r -d '' file; do
    [ "$(stat -c %s "$file")" -le "$(stat -c %s "$ODD/$file")" ] || { echo "$file"; exit 1; }
  done
}

@test "odd pictures: a second run changes nothing, and what is new decodes without a warning" {
  local options
  for options in "" "--no-optimize --subsampling 444" "--method pixel --min-gain 0 --progressive" \
    "--subsampling keep --strip none --no-trellis"; do
    rm -rf once twice
    prep-recompress "$ODD" -o once --quiet --max-errors 100% $options 2> /dev/null
    prep-recompress once -o twice --quiet $options
    diff <(digest once) <(digest twice)
    (cd once && find . -type f -name '*.jpg' ! -name '.prep-*' -print0) |
      while IFS= read -r -d '' file; do
        cmp -s "once/$file" "$ODD/$file" && continue
        [ -z "$(djpeg -outfile /dev/null "once/$file" 2>&1)" ] || { echo "$options $file"; exit 1; }
      done
  done
}

@test "a damaged end is mended without making the file larger" {
  mkdir raw
  python3 - <<'PY'
from PIL import Image
image = Image.effect_mandelbrot((600, 400), (-2, -1, 1, 1), 50).convert("RGB")
image.save("raw/whole.jpg", quality=50, subsampling=2)
data = open("raw/whole.jpg", "rb").read()
open("raw/endless.jpg", "wb").write(data[:-2])
PY
  prep-recompress --quiet raw -o out --subsampling 444 --no-optimize
  cmp raw/whole.jpg out/whole.jpg
  [ "$(stat -c %s out/endless.jpg)" -le "$(stat -c %s raw/whole.jpg)" ]
  cmp <(djpeg raw/whole.jpg) <(djpeg out/endless.jpg)
}

@test "--no-trellis is larger than the default, and smaller than --no-optimize" {
  prep-recompress --quiet "$PHOTOS" -o default
  prep-recompress --quiet "$PHOTOS" -o no-trellis --no-trellis
  prep-recompress --quiet "$PHOTOS" -o no-optimize --no-optimize
  [ "$(bytes_of default)" -lt "$(bytes_of no-trellis)" ]
  [ "$(bytes_of no-trellis)" -lt "$(bytes_of no-optimize)" ]
}

@test "quality is never raised" {
  mkdir raw
  python3 -c 'from PIL import Image
image = Image.effect_mandelbrot((600, 400), (-2, -1, 1, 1), 50).convert("RGB")
image.save("raw/q65.jpg", quality=65, subsampling=0)
image.save("raw/q95.jpg", quality=95, subsampling=0)'
  prep-recompress --quiet raw -o out --subsampling keep
  cmp raw/q65.jpg out/q65.jpg
  [ "$(stat -c %s out/q95.jpg)" -lt "$(stat -c %s raw/q95.jpg)" ]
}

@test "subsampling, ICC and orientation are as asked for" {
  mkdir raw
  python3 - <<'PY'
from PIL import Image, ImageCms
image = Image.effect_mandelbrot((601, 399), (-2, -1, 1, 1), 50).convert("RGB")
exif = Image.Exif()
exif[0x0112] = 6
exif[0x010F] = "Maker"
icc = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
image.save("raw/a.jpg", quality=95, subsampling=0, exif=exif, icc_profile=icc)
PY
  prep-recompress --quiet raw -o s420
  prep-recompress --quiet raw -o keep --subsampling keep --strip none
  python3 - <<'PY'
from PIL import Image, JpegImagePlugin as J
source = Image.open("raw/a.jpg")
for name, sampling, exif in (("s420", 2, {0x0112: 6}), ("keep", 0, {0x0112: 6, 0x010F: "Maker"})):
    image = Image.open(name + "/a.jpg")
    assert image.size == source.size
    assert J.get_sampling(image) == sampling, name
    assert image.info["icc_profile"] == source.info["icc_profile"], name
    assert dict(image.getexif()) == exif, (name, dict(image.getexif()))
PY
}

@test "--target-ssim keeps the similarity, and asks for less where less does" {
  prep-recompress --quiet "$PHOTOS" -o low --target-ssim 0.9
  prep-recompress --quiet "$PHOTOS" -o high --target-ssim 0.98
  [ "$(bytes_of low)" -lt "$(bytes_of high)" ]
}

@test "the report tells qualities, copies and what a loader gains" {
  run prep-recompress "$PHOTOS" -o out --report r.json
  [[ "$output" == *"source quality: "* ]]
  python3 - <<'PY'
import json
report = json.load(open("r.json"))
assert sum(report["tables"]["source quality"].values()) == 40, report["tables"]
assert report["bytes"]["out"] < report["bytes"]["in"]
assert report["notes"]["JPEGs recompressed"] > 20, report["notes"]
PY
}

@test "other parts go through, and samples stay whole" {
  mkdir raw
  cp "$(find "$PHOTOS" -name '*.jpg' | sort | head -n 1)" raw/a.jpg
  echo 7 > raw/a.cls
  python3 -c 'from PIL import Image; Image.new("RGB", (60, 40)).save("raw/a.seg.png")'
  prep-recompress --quiet raw -o out
  cmp raw/a.cls out/a.cls
  cmp raw/a.seg.png out/a.seg.png
  run prep-recompress raw -o bad --min-gain 200%
  [ "$status" -eq 2 ]
}
