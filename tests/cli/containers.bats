# Inputs and outputs of every kind, seen through prep-ls and prep-resize.
load common

setup_file() { make_photos_once; }
setup() { cd "$BATS_TEST_TMPDIR"; }

@test "a listing is the same from a directory, a tar, a compressed tar and a stream" {
  (cd "$PHOTOS" && find . -type f | LC_ALL=C sort) > names
  tar cf x.tar -C "$PHOTOS" -T names
  gzip -k x.tar
  zstd -q x.tar
  prep-ls "$PHOTOS" > expected
  [ "$(wc -l < expected)" -eq 40 ]
  for input in x.tar x.tar.gz x.tar.zst tar:x.tar; do
    prep-ls "$input" > listed
    diff expected listed
  done
  prep-ls - < x.tar.gz | diff expected -
  cat x.tar.zst | prep-ls - | diff expected -
  mv x.tar named-otherwise
  prep-ls named-otherwise | diff expected -
  prep-ls <(cat named-otherwise) | diff expected -
}

@test "brace ranges and several inputs are read in order; a missing shard is an error" {
  mkdir s
  for i in 008 009 010; do
    echo "$i" > "$i.txt"
    tar cf "s/a-$i.tar" "$i.txt"
  done
  run prep-ls 's/a-{008..010}.tar'
  [ "$status" -eq 0 ]
  [ "$(cut -f1 <<< "$output" | xargs)" = "008 009 010" ]
  run prep-ls s/a-010.tar s/a-008.tar
  [ "$(cut -f1 <<< "$output" | xargs)" = "010 008" ]
  run prep-ls 's/a-{008..011}.tar'
  [ "$status" -eq 1 ]
  [[ "$output" == *"s/a-011.tar: cannot open: No such file or directory"* ]]
}

@test "concatenated archives are read to their end" {
  echo 1 > a.txt; echo 2 > b.txt
  tar cf a.tar a.txt; tar cf b.tar b.txt
  cat a.tar b.tar > ab.tar
  [ "$(prep-ls ab.tar | wc -l)" -eq 2 ]
  cat a.tar b.tar | prep-ls - | diff <(printf 'a\ttxt 2\nb\ttxt 2\n') -
}

@test "lists, with newlines and with NULs, from files and from a pipe" {
  cd "$PHOTOS"
  find . -name '*.jpg' | LC_ALL=C sort > "$BATS_TEST_TMPDIR/list"
  prep-ls . > "$BATS_TEST_TMPDIR/expected"
  prep-ls "@$BATS_TEST_TMPDIR/list" | diff "$BATS_TEST_TMPDIR/expected" -
  prep-ls @- < "$BATS_TEST_TMPDIR/list" | diff "$BATS_TEST_TMPDIR/expected" -
  find . -name '*.jpg' -print0 | LC_ALL=C sort -z | prep-ls list0:- |
    diff "$BATS_TEST_TMPDIR/expected" -
}

@test "single files, and one file to one file" {
  local photo
  photo=$(find "$PHOTOS" -name '*.jpg' | sort | head -n 1)
  cp "$photo" a.jpg
  echo 7 > a.cls
  run prep-ls a.cls a.jpg
  [ "$output" = "$(printf 'a\tcls 2\tjpg %s' "$(stat -c %s a.jpg)")" ]
  prep-resize --quiet a.jpg -o b.jpg --short 64
  [ -s b.jpg ]
  run prep-resize a.jpg "$photo" -o c.jpg
  [ "$status" -ne 0 ]
  [ ! -e c.jpg ]
}

@test "json lines hold every name" {
  mkdir d
  printf x > "d/$(printf 'q"\n%%\\.jpg')"
  printf xy > "d/$(printf 'v\xff.seg.png')"
  prep-ls --json d > lines
  python3 - <<'PY'
import json
samples = [json.loads(line) for line in open("lines", encoding="utf-8")]
assert samples == [
    {"key": 'q"\n%\\', "parts": [{"name": "jpg", "size": 1}]},
    {"key": "v\\xff", "parts": [{"name": "seg.png", "size": 2}]},
], samples
PY
}

@test "names of any bytes come through every container" {
  local photo
  photo=$(find "$PHOTOS" -name '*.jpg' | sort | head -n 1)
  mkdir -p raw
  local names=('q"uote.jpg' "q'uote.jpg" $'new\nline.jpg' '%s%n.jpg' $'\xff\xfe.jpg' ' .jpg' '-o.jpg'
               '{1..3}.jpg' "$(printf 'n%.0s' {1..251}).jpg")
  for name in "${names[@]}"; do cp "$photo" "raw/$name"; done
  prep-resize --quiet raw -o small
  prep-resize --quiet raw -o small.tar
  prep-resize --quiet small.tar -o again
  find raw -type f -print0 | prep-resize --quiet list0:- -o listed
  for name in "${names[@]}"; do
    [ -s "small/$name" ]
    cmp "small/$name" "again/$name"
    cmp "small/$name" "listed/raw/$name"
  done
  [ "$(find small -type f ! -name '.prep-*' -print0 | tr -dc '\0' | wc -c)" -eq "${#names[@]}" ]
}

@test "the tar that is written is what tar, bsdtar and Python read" {
  prep-resize --quiet "$PHOTOS" -o dir
  prep-resize --quiet "$PHOTOS" -o out.tar
  mkdir gnu bsd py
  tar xf out.tar -C gnu
  bsdtar xf out.tar -C bsd
  python3 -c 'import tarfile; tarfile.open("out.tar").extractall("py")'
  for reader in gnu bsd py; do diff <(digest dir) <(digest $reader); done
  # Fixed metadata, and no directories.
  [ "$(TZ=UTC tar tvf out.tar | awk '{ print $1, $2, $4, $5 }' | sort -u)" = \
    "-rw-r--r-- 0/0 1970-01-01 00:00" ]
}

@test "compressed outputs decompress to the same tar" {
  prep-resize --quiet "$PHOTOS" -o a.tar
  prep-resize --quiet "$PHOTOS" -o b.tar.gz
  prep-resize --quiet "$PHOTOS" -o c.tar.zst
  prep-resize --quiet "$PHOTOS" -o - > d.tar
  gzip -dc b.tar.gz | cmp a.tar -
  zstd -dqc c.tar.zst | cmp a.tar -
  cmp a.tar d.tar
}

@test "what is no tar is called by its name" {
  printf '<!DOCTYPE html><html>404</html>' > page.tar
  printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' > lfs.tar
  : > empty.tar
  cp "$(find "$PHOTOS" -name '*.jpg' | head -n 1)" photo.tar
  for pair in page:HTML lfs:LFS empty:empty photo:JPEG; do
    run prep-ls "${pair%:*}.tar"
    [ "$status" -eq 1 ]
    [[ "$output" == *"${pair%:*}.tar"*"${pair#*:}"* ]]
  done
}

@test "links in a tar are bad samples, not silently dropped ones" {
  echo x > a.txt
  ln a.txt b.txt
  ln -s a.txt c.txt
  tar cf x.tar a.txt b.txt c.txt
  run prep-ls x.tar
  [ "$status" -eq 3 ]
  [[ "$output" == *"b.txt: is a hard link"* ]]
  [[ "$output" == *"c.txt: is a symbolic link"* ]]
  tar chf y.tar --hard-dereference a.txt b.txt c.txt
  [ "$(prep-ls y.tar | wc -l)" -eq 3 ]
}

@test "tars of every format that GNU tar and Python write are read alike" {
  mkdir d
  local long
  long=$(printf 'd%.0s' {1..120})
  mkdir -p "d/$long/$long"
  echo 1 > "d/$long/$long/x.txt"
  echo 2 > d/y.txt
  for format in gnu pax ustar; do
    tar --sort=name --format=$format -cf $format.tar -C d . 2>/dev/null || continue
    prep-ls $format.tar | sort > $format.list
  done
  prep-ls d | sort > expected
  diff expected gnu.list
  diff expected pax.list
  tar --format=v7 -cf v7.tar -C d y.txt
  [ "$(prep-ls v7.tar)" = "$(printf 'y\ttxt 2')" ]
}
