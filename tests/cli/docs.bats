# The commands of the README and of the tools' pages do what they say.
load common

setup_file() {
  make_photos_once
  /usr/bin/python3 "$PREP_SOURCE/tests/data/make_eeg.py" "$BATS_FILE_TMPDIR/eeg"
}

setup() {
  cd "$BATS_TEST_TMPDIR"
  cp -r "$PHOTOS" photos
  cp -r "$BATS_FILE_TMPDIR/eeg" eeg
  mkdir -p voc pets/cat pets/dog
  find photos -name '[0-9]*.jpg' | LC_ALL=C sort | head -n 12 | xargs cp -t pets/cat
  find photos -name '[0-9]*.jpg' | LC_ALL=C sort | tail -n 12 | xargs cp -t pets/dog
  cp "$(find photos -name '*.jpg' | sort | head -n 1)" voc/a.jpg
  /usr/bin/python3 -c 'from PIL import Image; Image.new("P", (300, 300)).save("voc/a.seg.png")'
}

# The lines of the ```sh blocks of a page.
commands_of() {  # PAGE
  awk '/^```/ { inside = ($0 == "```sh"); next } inside' "$1"
}

@test "the README's commands" {
  commands_of "$PREP_SOURCE/README.md" | sed '/^export PATH/d' > commands
  [ "$(wc -l < commands)" -ge 4 ]
  bash -e -o pipefail commands
  [ "$(find small listed -name '*.jpg' | wc -l)" -eq 80 ]
}

@test "the pages' examples" {
  for page in "$PREP_SOURCE"/docs/prep-*.md; do
    commands_of "$page" > commands
    [ -s commands ]
    bash -e commands > /dev/null
  done
  [ "$(find shared -name '*.jpg' | wc -l)" -eq 40 ]
}

@test "the examples of --help name only options that exist" {
  for tool in prep-bench prep-inspect prep-ls prep-pack prep-recompress prep-resize prep-spectrogram prep-stage prep-verify; do
    $tool --help | sed -n '/^Examples:/,$p' | grep -oE -- '--[a-z-]+' | sort -u > used
    while read -r option; do $tool --help | grep -qE -- "(^| |,)$option( |$)"; done < used
  done
}
