# prep-stage against a real S3 server, and a proxy that does what servers do on bad days.
load common
load s3

setup_file() { start_servers; }
teardown_file() { stop_servers; }
setup() { begin_test; }

@test "sync: every byte, then nothing to do, then what has changed" {
  stage sync s3://data/set/ out
  diff -r "$IN" out -x '.prep-stage*'
  [ -z "$(temporaries out)" ]
  run prep-stage sync s3://data/set/ out
  [ "$status" -eq 0 ]
  [[ "$output" == *"24 read = 0 written + 24 skipped + 0 failed"* ]]
  # Other bytes of the same length, with the old time; a file that somebody touched; one that is gone.
  head -c 3000 /dev/urandom > new.bin
  s3 put new.bin s3://data/set/small-3.bin
  echo mine > out/small-4.bin
  rm out/small-5.bin
  run prep-stage sync s3://data/set/ out
  [[ "$output" == *"24 read = 3 written + 21 skipped + 0 failed"* ]]
  cmp new.bin out/small-3.bin
  cmp "$IN/small-4.bin" out/small-4.bin
  cmp "$IN/small-5.bin" out/small-5.bin
  s3 put "$IN/small-3.bin" s3://data/set/small-3.bin
}

@test "sync: patterns, and objects that are gone" {
  stage sync s3://data/set/ out --include 'small-*' --exclude '*-1?.bin'
  [ "$(find out -type f ! -name '.*' | wc -l)" -eq 10 ]
  s3 put "$IN/small-1.bin" s3://data/set/extra.bin
  stage sync s3://data/set/ out
  [ -e out/extra.bin ]
  s3 del s3://data/set/extra.bin
  stage sync s3://data/set/ out
  [ -e out/extra.bin ]
  s3 put "$IN/small-1.bin" s3://data/set/extra.bin
  stage sync s3://data/set/ out
  s3 del s3://data/set/extra.bin
  stage sync s3://data/set/ out --delete
  [ ! -e out/extra.bin ]
  diff -r "$IN" out -x '.prep-stage*'
}

@test "sync through 503s, resets, cut and stalled bodies, dropped ranges" {
  rules "error status=503 code=SlowDown times=1
cut after=5000 how=reset times=1 key=*/large.bin
cut after=9000 how=fin times=1 skip=1 key=*/large.bin
drop times=1 key=*/small-7.bin
stall after=100 times=1 key=*/small-8.bin"
  stage sync s3://data/set/ out --timeout 1 --part-size 4Mi
  diff -r "$IN" out -x '.prep-stage*'
  rm -rf out
  rules "corrupt at=1234 times=1 key=*/small-9.bin
norange times=1 key=*/large.bin"
  stage sync s3://data/set/ out --part-size 4Mi
  diff -r "$IN" out -x '.prep-stage*'
}

@test "sync: killed at any time, then again" {
  rules "bandwidth rate=20000000"
  for i in 1 2 3 4 5; do
    prep-stage --quiet sync s3://data/set/ out --part-size 1Mi &
    sleep 0.$((RANDOM % 4))$((RANDOM % 10))
    kill -9 $! || true
    wait $! || true
    # No name has bytes that are not the object's.
    for file in out/*.bin; do
      [ ! -e "$file" ] || cmp "$file" "$IN/${file#out/}"
    done
  done
  rules ""
  stage sync s3://data/set/ out --part-size 1Mi
  diff -r "$IN" out -x '.prep-stage*'
  [ -z "$(find out -name '*.prep-stage*' ! -name '.prep-stage-*')" ]
}

@test "what cannot be: named, with what to check" {
  run prep-stage get s3://data/set/nothing-here
  [ "$status" -eq 1 ]
  [[ "$output" == *"set/nothing-here"* ]]
  run prep-stage sync s3://no-such-bucket/ out
  [ "$status" -eq 1 ]
  [[ "$output" == *no-such-bucket* ]]
  AWS_SECRET_ACCESS_KEY=wrong run prep-stage get s3://data/set/small-1.bin
  [ "$status" -eq 1 ]
  [[ "$output" == *403* && "$output" != *wrong* ]]
  run prep-stage nonsense
  [ "$status" -eq 2 ]
  run prep-stage get s3://data/set/large.bin --max-size 1M
  [ "$status" -eq 1 ]
  [[ "$output" == *"--max-size"* ]]
}

@test "keys that must not leave the mirror" {
  s3 mb s3://odd || true
  s3 put "$IN/small-1.bin" 's3://odd/p/../escape'
  s3 put "$IN/small-1.bin" 's3://odd/p/a//b'
  s3 put "$IN/small-1.bin" 's3://odd/p/d'
  s3 put "$IN/small-1.bin" 's3://odd/p/d/f'
  s3 put "$IN/small-1.bin" 's3://odd/p/good'
  run prep-stage sync s3://odd/p/ in/out
  [ "$status" -eq 3 ]
  cmp in/out/good "$IN/small-1.bin"
  [ ! -e in/escape ] && [ ! -e escape ]
  [[ "$output" == *"a//b"* ]]
}

@test "cache: fetched once, found without the server, verified, pinned, evicted" {
  stage cat s3://data/set/large.bin | cmp - "$IN/large.bin"
  [ "$(count HEAD)" -eq 1 ]
  before=$(count GET)
  AWS_ENDPOINT_URL="$PROXY" stage cat s3://data/set/large.bin | cmp - "$IN/large.bin"
  [ "$(count GET)" -eq "$before" ]
  path=$(stage get s3://data/set/large.bin)
  cmp "$path" "$IN/large.bin"
  stage warm 's3://data/set/small-{1..9}.bin' --pin
  run prep-stage ls
  [ "${#lines[@]}" -eq 10 ]
  run prep-stage status
  [[ "$output" == *"objects      10"* ]]
  stage verify
  printf x | dd of="$path" bs=1 seek=100 conv=notrunc 2> /dev/null
  run prep-stage verify
  [ "$status" -eq 3 ]
  [[ "$output" == *"large.bin"* ]]
  stage evict 1G
  [ "$(prep-stage ls | wc -l)" -eq 9 ]
  stage unpin 's3://data/set/*'
  stage evict 1G
  [ "$(prep-stage ls | wc -l)" -eq 0 ]
}

@test "cache: 16 processes ask for one object, one fetches, all get every byte" {
  rules "bandwidth rate=30000000"
  for i in $(seq 16); do
    stage cat s3://data/set/large.bin --part-size 4Mi | sha256sum > sum.$i &
  done
  wait
  [ "$(cat sum.* | sort -u)" = "$(sha256sum < "$IN/large.bin")" ]
  # Five parts, once each.
  [ "$(count GET)" -eq 5 ]
}

@test "cache: smaller than the set, in two epochs, within its limit" {
  for epoch in 1 2; do
    for i in $(seq 20); do
      stage cat s3://data/set/small-$i.bin --max-size 100k | cmp - "$IN/small-$i.bin"
      [ "$(du -sb --apparent-size cache/objects | cut -f 1)" -lt 200000 ]
    done
  done
  stage verify
}

@test "a loader reads shards through the cache" {
  make_photos_once
  prep-pack --quiet "$PHOTOS" -o 'shards/t-%03d.tar' --shards 3
  s3 sync shards/ s3://data/shards/
  /usr/bin/python3 - <<'PY'
import subprocess, tarfile
names = []
for epoch in range(2):
    for i in range(3):
        url = f"s3://data/shards/t-{i:03d}.tar"
        run = subprocess.Popen(["prep-stage", "cat", url], stdout=subprocess.PIPE)
        with tarfile.open(fileobj=run.stdout, mode="r|") as shard:
            names += [member.name for member in shard]
        assert run.wait() == 0
assert len(names) == 80 and len(set(names)) == 40, len(names)
PY
}

@test "from S3 to verified shards with one make, and again" {
  BATS_FILE_TMPDIR="$BATS_TEST_TMPDIR" make_photos_once
  rm -rf "$BAD"
  s3 mb s3://photos
  s3 sync "$PHOTOS/" s3://photos/raw/
  build() {
    make -s -j2 -f "$PREP_SOURCE/examples/imagenet/Makefile" S3=s3://photos/raw/ RAW=raw OUT=out SHARDS=2 "$@"
  }
  build
  prep-verify --quiet out/shards
  [ "$(prep-ls --quiet out/shards/*.tar | wc -l)" -eq 40 ]
  grep -q "40 samples" out/report.txt
  [ -s out/report.html ]
  run build
  [ "$status" -eq 0 ]
  [[ "$output" == *"40 read = 0 written + 40 skipped"* ]]
  [[ "$output" != *prep-resize* && "$output" != *prep-inspect* ]]
  # An object that is gone is gone from the shards.
  s3 del "s3://photos/raw/$(cd "$PHOTOS" && find . -name '*.jpg' -printf '%P\n' | sort | head -n 1)"
  build
  [ "$(prep-ls --quiet out/shards/*.tar | wc -l)" -eq 39 ]
  build bench NEED=10 | grep -q 'images/s'
}
