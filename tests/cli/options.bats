# Options: wrong ones, their combinations, and that help and docs name every one.
load common

setup_file() { make_photos_once; }
setup() { cd "$BATS_TEST_TMPDIR"; }

@test "wrong usage is exit 2, with a message and no output" {
  local wrong=(
    "" "$PHOTOS" "$PHOTOS -o" "$PHOTOS -o out --short 0" "$PHOTOS -o out --short x"
    "$PHOTOS -o out --short 64 --long 64" "$PHOTOS -o out -q 101" "$PHOTOS -o out --filter nearest"
    "$PHOTOS -o out --nosuch" "$PHOTOS -o out -j 0" "$PHOTOS -o out --max-errors many"
    "$PHOTOS -o out --background pink" "$PHOTOS -o list:out" "- - -o out" "$PHOTOS -o s-%d-of-%d.tar"
    "$PHOTOS -o out.zip" "$PHOTOS -o s3://bucket/x" "$PHOTOS -o --quiet" "$PHOTOS out"
    "$PHOTOS -o out --errors x --report x" "$PHOTOS -o $PREP_SOURCE/README.md")
  for arguments in "${wrong[@]}"; do
    run_apart prep-resize $arguments < /dev/null
    [ "$status" -eq 2 ] || { echo "exit $status for: $arguments"; false; }
    [ -z "$output" ]
    [[ "$stderr" == "prep-resize: error: "* ]]
    [ ! -e out ]
  done
}

@test "a missing input is exit 1 and named" {
  run prep-resize nosuch -o out
  [ "$status" -eq 1 ]
  [[ "$output" == *"nosuch: cannot open: No such file or directory"* ]]
  [ ! -e out ]
}

@test "a file for --errors that cannot be written is exit 1, and nothing is done" {
  : > file
  run prep-resize "$PHOTOS" -o out --errors file/errors
  [ "$status" -eq 1 ]
  [[ "$output" == *"file/.errors.prep-tmp"* ]]
  [ ! -e out ]
}

@test "version and help go to standard output" {
  for tool in prep-bench prep-ls prep-pack prep-recompress prep-resize prep-spectrogram prep-stage prep-verify; do
    run_apart $tool --version
    [ "$status" -eq 0 ]
    [[ "$output" =~ ^$tool\ \(preptools\)\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    run_apart $tool --help
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ "$output" == *"Exit status"* ]]
  done
}

@test "every option of --help is documented, and the tool's page lists no other" {
  for tool in prep-bench prep-ls prep-pack prep-recompress prep-resize prep-spectrogram prep-stage prep-verify; do
    $tool --help | grep -oE -- '--[a-z][a-z-]+' | sort -u > help
    grep -ohE -- '`(-[a-zA-Z], )?--[a-z][a-z-]+' "$PREP_SOURCE/docs/$tool.md" \
      "$PREP_SOURCE/docs/common-options.md" | grep -oE -- '--[a-z-]+' | sort -u > documented
    grep -oE -- '^- `(-[a-zA-Z], )?--[a-z][a-z-]+' "$PREP_SOURCE/docs/$tool.md" |
      grep -oE -- '--[a-z-]+' | sort -u > listed
    [ -z "$(comm -23 help documented)" ]
    [ -z "$(comm -23 listed help)" ]
  done
}

@test "a dry run writes nothing and finds what is bad" {
  cp -r "$PHOTOS" raw
  cp -r "$BAD" raw/bad
  run prep-resize raw -o out -n
  [ "$status" -eq 3 ]
  [ ! -e out ]
  run prep-resize "$PHOTOS" -o out.tar -n
  [ "$status" -eq 0 ]
  [ ! -e out.tar ]
}

@test "-v shows every warning, --quiet none" {
  mkdir raw
  local photo
  photo=$(find "$PHOTOS" -name '*.jpg' | sort | head -n 1)
  for i in 1 2 3 4 5 6 7 8; do { cat "$photo"; echo trailing; } > raw/$i.jpg; done
  run_apart prep-resize raw -o a
  [ "$(grep -c 'warning: raw/' <<< "$stderr")" -eq 5 ]
  run_apart prep-resize raw -o b -v
  [ "$(grep -c 'warning: raw/' <<< "$stderr")" -eq 8 ]
  run_apart prep-resize raw -o c --quiet
  [ -z "$stderr" ]
}

@test "the tools that decode nothing do not load the picture libraries" {
  run ldd "$PREP_BIN/prep-ls"
  [ "$status" -eq 0 ]
  [[ ! "$output" =~ lib(jpeg|png|tiff|webp|gif|lcms2) ]]
}
