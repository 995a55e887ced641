# prep-resize on pictures: the odd and bad ones, and what its options do.
load common

setup_file() {
  make_photos_once
  export ODD="$BATS_FILE_TMPDIR/odd"
  "$PREP_DATA/make_odd_images" "$ODD" > "$BATS_FILE_TMPDIR/manifest"
}
setup() { cd "$BATS_TEST_TMPDIR"; }

photo() { find "$PHOTOS" -name '*.jpg' | sort | head -n 1; }

# "WIDTH HEIGHT" of a picture as a viewer shows it.
shown_size() {
  python3 -c 'import sys; from PIL import Image, ImageOps
print(*ImageOps.exif_transpose(Image.open(sys.argv[1])).size)' "$1"
}

@test "every odd and every bad picture gets the right answer" {
  prep-resize "$ODD" -o out --nearest mask.png --max-errors 100% --errors errors 2> log
  python3 "$PREP_SOURCE/tests/data/check_odd_images.py" --log log "$BATS_FILE_TMPDIR/manifest" \
    "$ODD" out errors
}

@test "the odd pictures give the same bytes at any -j" {
  mkdir 1 4
  (cd 1 && prep-resize --quiet "$ODD" -o out -j1 --nearest mask.png --max-errors 100% --errors e 2> log)
  (cd 4 && prep-resize --quiet "$ODD" -o out -j4 --nearest mask.png --max-errors 100% --errors e 2> log)
  diff <(digest 1/out) <(digest 4/out)
  cmp 1/e 4/e
  cmp 1/log 4/log
}

@test "sizes follow --short, --long and --enlarge" {
  python3 -c 'from PIL import Image; Image.new("RGB", (500, 375), "red").save("a.jpg")'
  local expected=("--short 256=341 256" "--long 256=256 192" "--short 400=500 375"
                  "--short 400 --enlarge=533 400" "--long 1=1 1")
  for pair in "${expected[@]}"; do
    prep-resize --quiet a.jpg -o b.jpg ${pair%%=*}
    [ "$(shown_size b.jpg)" = "${pair##*=}" ]
    rm b.jpg
  done
}

@test "what is right already passes byte for byte" {
  prep-resize --quiet "$PHOTOS" -o small
  run prep-resize small -o again
  [[ "$output" == *"40 images that were right already, unchanged"* ]]
  diff <(digest small) <(digest again)
}

@test "labels and other parts go through unchanged, and samples stay whole" {
  mkdir raw
  cp "$(photo)" raw/a.jpg
  echo 7 > raw/a.cls
  echo '{"x": 1}' > raw/a.json
  prep-resize --quiet raw -o out.tar
  [ "$(prep-ls out.tar | tr '\t' ' ' | sed 's/jpg [0-9]*/jpg N/')" = "a cls 2 jpg N json 9" ]
  tar xOf out.tar a.json | cmp raw/a.json -
}

@test "PNG output, and --to keep" {
  mkdir raw
  cp "$(photo)" raw/a.jpg
  python3 -c 'from PIL import Image; Image.new("RGB", (600, 400), (9, 99, 199)).save("raw/b.png")'
  prep-resize --quiet raw -o png --to png
  [ "$(file -b --mime-type png/a.png)" = image/png ]
  prep-resize --quiet raw -o keep --to keep
  [ "$(file -b --mime-type keep/a.jpg keep/b.png | xargs)" = "image/jpeg image/png" ]
  python3 -c 'from PIL import Image
image = Image.open("keep/b.png"); assert image.size == (384, 256) and image.getpixel((5, 5)) == (9, 99, 199)'
}

@test "a mislabelled picture gets its true extension; a collision is reported" {
  mkdir raw
  python3 -c 'from PIL import Image; Image.new("RGB", (600, 400)).save("raw/a.png")'
  mv raw/a.png raw/a.jpg
  prep-resize --quiet raw -o keep --to keep
  [ "$(ls keep)" = a.png ]
  cp raw/a.jpg raw/a.png
  run prep-resize raw -o both --to keep
  [ "$status" -eq 3 ]
  [[ "$output" == *"would be written as both/a.png, and so would raw/a.jpg"* ]]
  [ -z "$(ls both)" ]
}

@test "masks keep their values with --nearest, and a palette without it is warned of" {
  mkdir raw
  python3 - <<'PY'
from PIL import Image
import random
random.seed(1)
mask = Image.new("P", (600, 400))
mask.putpalette([c for i in range(256) for c in (i, 255 - i, i // 2)])
mask.putdata([random.choice((0, 7, 255)) for _ in range(600 * 400)])
mask.save("raw/a.seg.png")
Image.new("RGB", (600, 400)).save("raw/a.jpg")
PY
  prep-resize --quiet raw -o out --nearest seg.png
  python3 -c 'from PIL import Image
mask = Image.open("out/a.seg.png")
assert mask.mode == "P" and mask.size == (384, 256), (mask.mode, mask.size)
assert set(mask.getdata()) == {0, 7, 255}
assert mask.getpalette()[21:24] == [7, 248, 3]'
  run prep-resize raw -o photo
  [[ "$output" == *"a label map needs --nearest seg.png"* ]]
}

@test "--min-side and --max-aspect leave out, counted" {
  mkdir raw
  python3 -c 'from PIL import Image
for name, size in (("small", (90, 80)), ("wide", (900, 100)), ("good", (300, 300))):
    Image.new("RGB", size).save(f"raw/{name}.jpg")'
  run prep-resize raw -o out --min-side 100 --max-aspect 4
  [ "$status" -eq 0 ]
  [[ "$output" == *"3 read = 1 written + 2 skipped + 0 failed"* ]]
  [ "$(ls out)" = good.jpg ]
}

@test "--max-pixels and --max-scans are limits" {
  mkdir raw
  cp "$(photo)" raw/a.jpg
  run prep-resize raw -o out --max-pixels 1000
  [ "$status" -eq 3 ]
  [[ "$output" == *"raw/a.jpg: "*"1000"* || "$output" == *"raw/a.jpg: "*"1,000"* ]]
}

@test "--allow-truncated keeps what is there" {
  mkdir raw
  python3 -c 'from PIL import Image; Image.effect_noise((600, 400), 50).save("full.jpg")'
  head -c $(($(stat -c %s full.jpg) * 6 / 10)) full.jpg > raw/a.jpg
  run prep-resize raw -o out
  [ "$status" -eq 3 ]
  [[ "$output" == *"raw/a.jpg: the file ends within the image data"* ]]
  run prep-resize raw -o out --allow-truncated
  [ "$status" -eq 0 ]
  [ "$(shown_size out/a.jpg)" = "384 256" ]
}

@test "--keep-exif keeps the tags and turns the picture once" {
  mkdir raw
  python3 - <<'PY'
from PIL import Image
exif = Image.Exif()
exif[0x0112] = 6
exif[0x010F] = "Maker"
Image.new("RGB", (600, 400), "blue").save("raw/a.jpg", exif=exif)
PY
  prep-resize --quiet raw -o plain
  prep-resize --quiet raw -o kept --keep-exif
  python3 - <<'PY'
from PIL import Image
plain, kept = Image.open("plain/a.jpg"), Image.open("kept/a.jpg")
assert plain.size == kept.size == (256, 384)
assert not plain.getexif()
assert dict(kept.getexif()) == {0x0112: 1, 0x010F: "Maker"}, dict(kept.getexif())
PY
}

@test "subsampling and quality are as asked for" {
  python3 -c 'from PIL import Image; Image.effect_mandelbrot((600, 400), (-2, -1, 1, 1), 50).convert("RGB").save("a.jpg", subsampling=0, quality=95)'
  for pair in 420=4:2:0 444=4:4:4 keep=4:4:4; do
    prep-resize --quiet a.jpg -o b.jpg --subsampling "${pair%%=*}"
    python3 -c 'import sys; from PIL import Image, JpegImagePlugin as J
image = Image.open("b.jpg")
got = {0: "4:4:4", 1: "4:2:2", 2: "4:2:0"}[J.get_sampling(image)]
assert got == sys.argv[1], got
assert not image.info.get("progressive")
assert image.quantization[0][0] == 3  # quality 90' "${pair##*=}"
    rm b.jpg
  done
}

@test "background and ICC choices reach the picture" {
  python3 - <<'PY'
from PIL import Image
Image.new("RGBA", (600, 400), (255, 0, 0, 0)).save("a.png")
PY
  prep-resize --quiet a.png -o white.jpg
  prep-resize --quiet a.png -o green.jpg --background '#00ff00'
  prep-resize --quiet a.png -o grey.jpg --background 9,9,9
  python3 - <<'PY'
from PIL import Image
def close(name, colour):
    got = Image.open(name).convert("RGB").getpixel((50, 50))
    assert all(abs(a - b) <= 2 for a, b in zip(got, colour)), (name, got)
close("white.jpg", (255, 255, 255))
close("green.jpg", (0, 255, 0))
close("grey.jpg", (9, 9, 9))
PY
}
