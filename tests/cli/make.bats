# GNU make's jobserver: threads are borrowed, and every token goes back.
load common

setup_file() { make_photos_once; }
setup() { cd "$BATS_TEST_TMPDIR"; }

makefile() {  # PREFIX
  printf 'all: 1 2 3 4 5 6\n1 2 3 4 5 6:\n\t%sprep-resize --quiet %s -o out-$@\n' "$1" "$PHOTOS"
}

@test "six recipes under make -j4 finish, and make gets all tokens back" {
  makefile + > Makefile
  run make -s -j4
  [ "$status" -eq 0 ]
  # make itself says when a token is missing at its end.
  [[ "$output" != *"jobserver"* ]]
  for i in 1 2 3 4 5 6; do [ "$(digest out-$i | wc -l)" -eq 40 ]; done
}

@test "tokens go back after a failure and after a kill by SIGTERM" {
  printf 'all: bad slow\nbad:\n\t+-prep-resize --quiet %s -o bad\nslow:\n\t+-timeout 0.1 prep-resize --quiet %s -o slow.tar\n' \
    "$BAD" "$PHOTOS" > Makefile
  run make -s -j3
  [[ "$output" != *"INTERNAL"* && "$output" != *"tokens"* ]]
}

@test "a recipe without + runs on one thread and says why" {
  makefile '' > Makefile
  run make -s -j2 1
  [ "$status" -eq 0 ]
  [[ "$output" == *"jobserver cannot be reached, so one thread works"* ]] || [[ "$output" == "" ]]
  [ "$(digest out-1 | wc -l)" -eq 40 ]
}

@test "an explicit -j wins over make" {
  printf '1:\n\tprep-resize -j 2 --quiet %s -o out-1\n' "$PHOTOS" > Makefile
  run make -s -j2
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}
