# Shared by the .bats files.
PATH="$PREP_BIN:/usr/bin:$PATH"  # Debian's python3 before any other
unset MAKEFLAGS MAKELEVEL

# One small set of generated photographs for a whole file of tests: $PHOTOS (all good), and its bad
# files apart in $BAD.
make_photos_once() {  # [COUNT]
  PHOTOS="$BATS_FILE_TMPDIR/photos"
  BAD="$BATS_FILE_TMPDIR/bad"
  export PHOTOS BAD
  "$PREP_DATA/make_photos" "$PHOTOS" "${1-40}"
  mkdir "$BAD"
  find "$PHOTOS" -name '*.jpg' ! -name '[0-9]*' -exec mv -t "$BAD" {} +
}

# The names and contents of a tree, without the run's own stamps.
digest() {  # DIR
  (cd "$1" && find . -type f ! -name '.prep-*' -print0 | LC_ALL=C sort -z | xargs -0r sha256sum)
}

# What a run must not leave behind.
temporaries() {  # DIR
  find "$1" -name '*prep-tmp*' -o -name '*.partial'
}

# Runs with standard output and standard error apart: $output and $stderr, $status.
run_apart() {
  bats_require_minimum_version 1.5.0
  run --separate-stderr "$@"
}
