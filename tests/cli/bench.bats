# prep-bench: what is measured adds up, decoders agree, planted bottlenecks are found.
load common

setup_file() { make_photos_once; }
setup() {
  cd "$BATS_TEST_TMPDIR"
  quick="--samples 20 --runs 2 --warmup 0"
}

# The value of a Python expression over the JSON file as `r`.
value() {  # FILE EXPRESSION
  /usr/bin/python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$@"
}

@test "decode: every decoder, from memory and from disk, on the same pictures" {
  run_apart prep-bench decode "$PHOTOS" $quick --json r.json
  [ "$status" -eq 0 ]
  [[ "$output" == *"OpenCV imread"* ]]
  [ "$(value r.json '[r["data"]["pictures"], len(r["data"]["sha256"])]')" = "[20, 64]" ]
  [ "$(value r.json 'len([x for x in r["results"] if x["set"] == "JPEG"])')" -eq 11 ]
  [ "$(value r.json '{len(x["seconds"]) for x in r["results"]}')" = "{2}" ]
  [ "$(value r.json 'all(x["images_per_s"]["mean"] > 0 for x in r["results"])')" = True ]
  [ "$(value r.json '{x["differing"] for x in r["agreement"]}')" = "{0}" ]
  [ "$(value r.json 'r["machine"]["cpu"]["usable"] >= 1 and "opencv" in r["libraries"]')" = True ]
}

@test "decode: the same choice and digest for the same seed, another for another" {
  local seed
  for seed in 1 1 2; do
    prep-bench decode "$PHOTOS" --samples 5 --runs 1 --warmup 0 --seed "$seed" --decoders rgb \
      --from memory --json r.json > /dev/null
    value r.json 'r["data"]["sha256"]' >> digests
  done
  [ "$(sort -u digests | wc -l)" -eq 2 ]
}

@test "decode: variants side by side, smaller ones are faster" {
  prep-bench decode "$PHOTOS" $quick --decoders rgb --from memory --variants all --json r.json
  [ "$(value r.json '[x["variant"] for x in r["results"]]')" = \
    "['raw', 'resized', 'recompressed', 'both']" ]
  [ "$(value r.json '(lambda s: s[3]["bytes"] < s[0]["bytes"])(r["data"]["sets"])')" = True ]
}

@test "decode: numbers of threads, and no files in a tar" {
  prep-resize "$PHOTOS" -o photos.tar
  prep-bench decode photos.tar $quick -j 1,2 --json r.json
  [ "$(value r.json '{x["threads"] for x in r["results"]}')" = "{1, 2}" ]
  [ "$(value r.json '"imread" in {x["decoder"] for x in r["results"]}')" = False ]
}

@test "decode: bad pictures are named and not measured" {
  run_apart prep-bench decode "$PHOTOS" "$BAD" --samples 1000 --runs 1 --warmup 0 --decoders rgb \
    --from memory --json r.json --errors errors
  [ "$status" -eq 3 ]
  [ -s errors ]
  [[ "$stderr" == *"--max-errors"* ]]
  run prep-bench decode "$PHOTOS" "$BAD" --samples 1000 --runs 1 --warmup 0 --decoders rgb \
    --from memory --max-errors 99%
  [ "$status" -eq 0 ]
}

@test "decode: odd pictures do not stop it" {
  "$PREP_DATA/make_odd_images" odd
  run prep-bench decode odd --runs 1 --warmup 0 --max-errors 99% --max-pixels 20000000 --json r.json
  [ "$status" -eq 0 ]
  [ "$(value r.json '"PNG" in {x["set"] for x in r["data"]["sets"]}')" = True ]
}

@test "read: loose files, tar, TFRecord and a stream have the same bytes" {
  prep-pack "$PHOTOS" -o a.tar
  prep-pack "$PHOTOS" -o a.tfrecord
  gzip -k a.tar
  mkfifo pipe
  cat a.tar > pipe &
  prep-bench read "$PHOTOS" a.tar a.tfrecord a.tar.gz pipe --runs 2 --json r.json
  wait
  [ "$(value r.json 'sorted({x["kind"] for x in r["results"]})')" = \
    "['TFRecord', 'compressed tar', 'loose files', 'stream', 'tar']" ]
  [ "$(value r.json 'len({x["bytes"] for x in r["results"] if x["kind"] != "TFRecord"})')" -eq 1 ]
  [ "$(value r.json 'len(r["results"])')" -eq 8 ]
}

@test "read: --cold says when it has no effect" {
  [ -w /dev/shm ] || skip
  local folder
  folder=$(mktemp -d /dev/shm/prep-bench-test-XXXXXX)
  cp "$(find "$PHOTOS" -name '*.jpg' | head -n 1)" "$folder/a.jpg"
  run prep-bench read "$folder" --cold --runs 1
  rm -r "$folder"
  [ "$status" -eq 0 ]
  [[ "$output" == *"--cold had no effect"* ]]
}

# Sends a file through a pipe, slowly.
trickle() {  # FILE PIPE BYTES_PER_SECOND
  /usr/bin/python3 -c '
import sys, time
with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as pipe:
    try:
        while data := source.read(16384):
            pipe.write(data)
            pipe.flush()
            time.sleep(16384 / float(sys.argv[3]))
    except BrokenPipeError:
        pass
' "$@"
}

@test "feed finds a slow input" {
  prep-pack "$PHOTOS" -o a.tar
  mkfifo pipe
  trickle a.tar pipe 1000000 &
  prep-bench feed pipe --seconds 3 --need 5000 --json r.json
  wait
  [ "$(value r.json 'r["verdict"]["limit"]')" = read ]
  [ "$(value r.json 'r["verdict"]["held_back_by"]')" = input ]
  [ "$(value r.json 'r["need"]["gpu_waits"] and r["need"]["waiting_share"] > 0.5')" = True ]
}

@test "feed finds a slow decode" {
  mkdir huge
  /usr/bin/python3 -c '
from PIL import Image
noise = Image.effect_noise((1000, 1000), 60).convert("RGB").resize((5000, 5000))
for i in range(2):
    noise.save("huge/%d.jpg" % i, quality=92)'
  prep-bench feed huge --seconds 3 --json r.json
  [ "$(value r.json 'r["verdict"]["limit"]')" = decode ]
}

@test "feed finds that one worker is too few" {
  prep-bench feed "$PHOTOS" --workers 1 --seconds 2 --need 1000000 --json r.json
  local expected=workers
  [ "$(nproc)" -gt 1 ] || expected=cpu
  [ "$(value r.json 'r["verdict"]["held_back_by"]')" = "$expected" ]
  [ "$(value r.json 'r["need"]["gpu_waits"]')" = True ]
}

@test "feed: a GPU that takes little does not wait" {
  run prep-bench feed "$PHOTOS" --seconds 2 --batch 4 --need 1
  [ "$status" -eq 0 ]
  [[ "$output" == *"would not wait"* ]]
}

@test "a report in HTML is one file that fetches nothing" {
  prep-bench decode "$PHOTOS" $quick --decoders rgb,imdecode --html r.html > /dev/null
  prep-bench feed "$PHOTOS" --seconds 1 --html f.html > /dev/null
  grep -q '<svg' r.html
  ! grep -qE '(src|href)="?https?:' r.html f.html
}

@test "wrong usage is exit 2, and says what is right" {
  local wrong=(
    "" "decode" "stare $PHOTOS" "decode $PHOTOS --decoders rgb,x" "decode $PHOTOS -j 0"
    "decode $PHOTOS -j 1,x" "decode $PHOTOS --variants small" "decode $PHOTOS --cold"
    "read $PHOTOS --workers 2" "feed $PHOTOS -j 2" "feed $PHOTOS --decoders planes"
    "feed $PHOTOS --order all" "decode $PHOTOS --json x --html x" "decode $PHOTOS -o out")
  for arguments in "${wrong[@]}"; do
    run_apart prep-bench $arguments < /dev/null
    [ "$status" -eq 2 ] || { echo "exit $status for: $arguments"; false; }
    [ -z "$output" ]
    [[ "$stderr" == "prep-bench: error: "* ]]
  done
}

@test "a data set without pictures is an error" {
  mkdir texts
  echo a > texts/a.txt
  run prep-bench decode texts
  [ "$status" -eq 1 ]
  run prep-bench feed texts --seconds 1
  [ "$status" -eq 1 ]
}
