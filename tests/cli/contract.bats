# The contracts: all or nothing, broken pipes, nothing lost, same bytes, exit codes.
load common

setup_file() { make_photos_once; }
setup() { cd "$BATS_TEST_TMPDIR"; }

@test "the same bytes at any -j, from a directory and from a tar" {
  prep-resize --quiet "$PHOTOS" -o j1 -j 1
  prep-resize --quiet "$PHOTOS" -o j2 -j 2
  prep-resize --quiet "$PHOTOS" -o j8 -j 8
  tar cf raw.tar -C "$PHOTOS" .
  prep-resize --quiet raw.tar -o from-tar -j 8
  cat raw.tar | prep-resize --quiet - -o from-stream -j 3
  for other in j2 j8 from-tar from-stream; do diff <(digest j1) <(digest $other); done
  prep-resize --quiet "$PHOTOS" -o 1.tar -j 1
  prep-resize --quiet "$PHOTOS" -o 8.tar -j 8
  prep-resize --quiet j1 -o j1.tar
  cmp 1.tar 8.tar
  cmp 1.tar j1.tar
  # libjpeg-turbo without its vector code.
  JSIMD_FORCENONE=1 prep-resize --quiet "$PHOTOS" -o nosimd
  diff <(digest j1) <(digest nosimd)
}

@test "tasks share the work without overlap" {
  prep-resize --quiet "$PHOTOS" -o whole
  for i in 0 1 2; do
    prep-resize --quiet "$PHOTOS" -o shared --task $i/3
    prep-resize --quiet "$PHOTOS" -o part-$i --task $i/3
  done
  diff <(digest whole) <(digest shared)
  local sum=0
  for i in 0 1 2; do sum=$((sum + $(digest part-$i | wc -l))); done
  [ "$sum" -eq 40 ]
  for bad in 3/3 x -1/2 1 1/0 1/2/3; do
    run prep-resize "$PHOTOS" -o t --task=$bad
    [ "$status" -eq 2 ]
  done
}

@test "a rerun does nothing; what is new, changed, lost or damaged is done again" {
  cp -r "$PHOTOS" raw
  run prep-resize raw -o small
  [[ "$output" == *"40 read = 40 written + 0 skipped + 0 failed"* ]]
  digest small > before
  run prep-resize raw -o small
  [[ "$output" == *"40 read = 0 written + 40 skipped + 0 failed"* ]]
  local photos
  mapfile -t photos < <(cd raw && find . -name '*.jpg' | sort)
  touch "raw/${photos[0]}"
  rm "small/${photos[1]}"
  cp "raw/${photos[2]}" "raw/${photos[2]%.jpg}-new.jpg"
  run prep-resize raw -o small
  [[ "$output" == *"41 read = 3 written + 38 skipped + 0 failed"* ]]
  rm "small/${photos[2]%.jpg}-new.jpg"
  diff before <(digest small)
}

@test "other settings redo everything, the same settings in other words nothing" {
  prep-resize --quiet "$PHOTOS" -o small
  run prep-resize "$PHOTOS" -o small -q 90 --short 256
  [[ "$output" == *"0 written + 40 skipped"* ]]
  run prep-resize "$PHOTOS" -o small -q 80
  [[ "$output" == *"40 written + 0 skipped"* ]]
  run prep-resize "$PHOTOS" -o small -q 80 -f
  [[ "$output" == *"40 written + 0 skipped"* ]]
}

@test "bad samples: named, counted, in the files of --errors and --report" {
  cp -r "$PHOTOS" raw
  cp -r "$BAD" raw/bad
  local bad
  bad=$(find raw/bad -type f | wc -l)
  run_apart prep-resize raw -o small --errors e.jsonl --report r.json
  [ "$status" -eq 3 ]
  [ -z "$output" ]
  [ "$(wc -l < e.jsonl)" -eq "$bad" ]
  while IFS= read -r -d '' file; do [[ "$stderr" == *"$file: "* ]]; done \
    < <(find raw/bad -type f -print0)
  python3 - "$bad" <<'PY'
import json, sys
bad = int(sys.argv[1])
report = json.load(open("r.json"))
assert report["samples"] == {"read": 40 + bad, "written": 40, "skipped": 0, "failed": bad}, report
assert report["exit_code"] == 3 and sum(report["failed"].values()) == bad
for line in open("e.jsonl"):
    error = json.loads(line)
    assert set(error) == {"key", "origin", "code", "message"}
    assert error["origin"].startswith("raw/bad/") and error["message"].startswith(error["origin"])
PY
  # The good ones stay, and a rerun goes on from there.
  [ "$(digest small | wc -l)" -eq 40 ]
  run prep-resize raw -o small --max-errors "$bad"
  [ "$status" -eq 0 ]
  [[ "$output" == *"= 0 written + 40 skipped + $bad failed"* ]]
  [ -z "$(temporaries small)" ]
  run prep-resize raw -o small2 --max-errors 99%
  [ "$status" -eq 0 ]
}

@test "too many bad samples: no tar, and a stream without its end" {
  cp -r "$PHOTOS" raw
  cp -r "$BAD" raw/bad
  run prep-resize raw -o out.tar
  [ "$status" -eq 3 ]
  [ -z "$(ls -A | grep -v raw)" ]
  run bash -c "set -o pipefail; prep-resize --quiet raw -o - | prep-ls - >/dev/null"
  [ "$status" -eq 1 ]
  [[ "$output" == *"standard input: "*"cut short"* || "$output" == *"truncated"* ]]
}

@test "a reader of a stream that ends early commits nothing" {
  tar cf raw.tar -C "$PHOTOS" .
  local size
  size=$(stat -c %s raw.tar)
  # Inside data, on a member's boundary with no end blocks, with one of the two end blocks.
  local boundary
  boundary=$(tar tvRf raw.tar | sed -n 's/^block \([0-9]*\): \*\* Block of NULs \*\*$/\1/p')
  for cut in 700000 $((boundary * 512)) $((boundary * 512 + 512)); do
    run bash -c "head -c $cut raw.tar | prep-resize - -o out.tar"
    [ "$status" -eq 1 ]
    [[ "$output" == *"standard input: cut short"* ]]
    [ ! -e out.tar ]
    run bash -c "head -c $cut raw.tar | prep-resize - -o dir"
    [ "$status" -eq 1 ]
    [ ! -e dir/.prep-resize.json ]
    rm -rf dir
  done
  [ -z "$(temporaries .)" ]
}

@test "a producer that is killed makes its reader fail" {
  run bash -c "{ prep-resize --quiet -j1 '$PHOTOS' -o - & sleep 0.05; kill -9 \$!; } | prep-resize - -o out.tar"
  [ "$status" -eq 1 ]
  [ ! -e out.tar ]
  [ -z "$(temporaries .)" ]
}

@test "a reader that goes away ends the writer with a message" {
  run bash -c "prep-resize '$PHOTOS' -o - | head -c 100 >/dev/null; exit \${PIPESTATUS[0]}"
  [ "$status" -eq 1 ]
  [[ "$output" == *"standard output: its reader went away"* ]]
  run bash -c "prep-ls --progress never '$PHOTOS' '$PHOTOS/.' | head -n 1; exit 0"
  [[ "$output" != *"error"*"reader"* ]]
}

@test "kill -9 at any time, then again: only the rest is done, and nothing is left behind" {
  prep-resize --quiet "$PHOTOS" -o expected
  for delay in 0.02 0.05 0.1 0.15 0.2 0.3; do
    rm -rf small
    prep-resize --quiet -j2 "$PHOTOS" -o small &
    sleep $delay
    kill -9 $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    mkdir -p small
    [ ! -e small/.prep-resize.json ] || continue
    local done_before
    done_before=$(digest small | wc -l)
    run prep-resize "$PHOTOS" -o small
    [ "$status" -eq 0 ]
    [[ "$output" == *"$((40 - done_before)) written + $done_before skipped"* ]]
    diff <(digest expected) <(digest small)
    [ -z "$(temporaries small)" ]
  done
}

# Starts prep-resize on a stream that brings all photographs and does not end: $RUN is its process.
# end_stream lets it end.
start_on_endless_stream() {  # ARGUMENTS
  tar cf all.tar -C "$PHOTOS" .
  mkfifo stream
  prep-resize --quiet stream "$@" 2> err &
  RUN=$!
  exec 9> stream
  SENT=$(($(stat -c %s all.tar) * 7 / 10))
  head -c $SENT all.tar >&9
}
end_stream() {
  tail -c +$((SENT + 1)) all.tar >&9 || true  # it may have ended already
  exec 9>&-
}
wait_for() {  # COMMAND
  for _ in $(seq 500); do
    if "$@"; then return 0; fi
    sleep 0.01
  done
  false
}
has_photos() { [ "$(find "$1" -name '*.jpg' 2>/dev/null | wc -l)" -ge 3 ]; }

@test "kill -9 while a tar is written leaves no tar, and the next run takes over" {
  start_on_endless_stream -o out.tar
  wait_for test -s .out.tar.prep-tmp || wait_for test -e .out.tar.prep-tmp
  kill -9 $RUN
  wait $RUN || true
  exec 9>&-
  [ ! -e out.tar ]
  prep-resize --quiet all.tar -o out.tar
  [ -z "$(temporaries .)" ]
  prep-ls out.tar > /dev/null
}

@test "an output directory that is removed meanwhile is an error" {
  start_on_endless_stream -o small
  wait_for has_photos small
  mv small gone  # at once; `rm -r` would race with the files that still arrive
  end_stream
  local code=0
  wait $RUN || code=$?
  [ "$code" -eq 1 ]
  grep -q 'small: was removed or replaced' err
  [ ! -e small/.prep-resize.json ]
}

@test "a directory that is not complete is no input" {
  start_on_endless_stream -o small
  wait_for has_photos small
  kill -9 $RUN
  wait $RUN || true
  exec 9>&-
  run prep-resize small -o other.tar
  [ "$status" -eq 1 ]
  [[ "$output" == *"small: the directory is not complete: prep-resize has not finished it"* ]]
  [ ! -e other.tar ]
}

@test "two settings are never mixed, whatever happened to the directory between the runs" {
  prep-resize --quiet "$PHOTOS" -o small --short 32
  prep-resize --quiet -j1 "$PHOTOS" -o small --short 64 &
  wait_for test -e small/.prep-resize.partial
  kill -9 $! 2>/dev/null || true
  wait $! || true
  chmod -R g+w small
  cp -a small copy
  prep-resize --quiet "$PHOTOS" -o expected --short 64
  for dir in small copy; do
    prep-resize --quiet "$PHOTOS" -o $dir --short 64
    diff <(digest expected) <(digest $dir)
  done
}

@test "a run with other settings undoes the stamps of other ways to split the work" {
  for i in 0 1; do prep-resize --quiet "$PHOTOS" -o small --short 32 --task $i/2; done
  digest small > expected
  prep-resize --quiet "$PHOTOS" -o small --short 64
  for i in 0 1; do prep-resize --quiet "$PHOTOS" -o small --short 32 --task $i/2; done
  diff expected <(digest small)
}

@test "no output outlives what it was made from" {
  mkdir raw
  cp "$(find "$PHOTOS" -name '*.jpg' | sort | head -n 1)" raw/a.jpg
  /usr/bin/python3 -c 'from PIL import Image; Image.new("RGB", (600, 400)).save("raw/b.png")'
  prep-resize --quiet raw -o out
  prep-resize --quiet raw -o out --to keep
  [ "$(ls out | xargs)" = "a.jpg b.png" ]
  # A source that is damaged now, and one that is left out now.
  echo broken > raw/a.jpg
  run prep-resize raw -o out --to keep --min-side 500
  [ "$status" -eq 3 ]
  [ -z "$(ls out)" ]
}

@test "originals are never overwritten" {
  cp -r "$PHOTOS" raw
  digest raw > before
  find raw -name '*.jpg' -printf '%p %T@\n' | sort > times
  (cd raw && find . -name '*.jpg' > ../list)
  cd raw
  run prep-resize @../list -o . -f
  [ "$status" -eq 3 ]
  [[ "$output" == *"would overwrite the original"* ]]
  run prep-resize class-0/*.jpg -o class-0 --task 0/1
  [ "$status" -ne 0 ]
  cd ..
  diff before <(digest raw)
  diff times <(find raw -name '*.jpg' -printf '%p %T@\n' | sort)
}

@test "another input of the same names and times is not taken for the first" {
  mkdir v1 v2
  cp "$(find "$PHOTOS" -name '*.jpg' | sort | head -n 1)" v1/x.jpg
  cp "$(find "$PHOTOS" -name '*.jpg' | sort | tail -n 1)" v2/x.jpg
  touch -d 2020-01-01 v1/x.jpg v2/x.jpg
  prep-resize --quiet v1 -o out
  prep-resize --quiet v2 -o out
  prep-resize --quiet v2 -o expected
  cmp out/x.jpg expected/x.jpg
  # By whatever name, the same input is the same.
  run prep-resize ./v2/. -o out
  [[ "$output" == *"1 read = 0 written + 1 skipped"* ]]
}

@test "the run's own tar and reports are not read as input" {
  cp -r "$PHOTOS" raw
  for _ in 1 2; do
    prep-resize --quiet raw -o raw/small.tar --errors raw/errors.jsonl --report raw/report.json
    [ "$(prep-ls raw/small.tar | wc -l)" -eq 40 ]
  done
}

@test "a sample may have more parts than a process may open files" {
  mkdir raw
  (cd raw && for i in $(seq 1500); do echo $i > x.$i.txt; done)
  (ulimit -n 200; prep-resize --quiet raw -o dir; prep-resize --quiet raw -o out.tar)
  diff <(digest raw) <(digest dir)
  [ "$(tar tf out.tar | wc -l)" -eq 1500 ]
}

@test "a writer that is stuck in a full pipe ends on the first signal" {
  mkfifo pipe
  sleep 30 < pipe &
  local reader=$!
  prep-resize --quiet "$PHOTOS" -o - > pipe 2> err &
  local pid=$!
  sleep 0.5
  kill -TERM $pid
  local code=0
  wait $pid || code=$?
  kill $reader
  [ "$code" -eq 143 ]
}

@test "SIGTERM and SIGINT end a run after cleaning up" {
  python3 - <<'PY'
import os, signal, subprocess, time

def wait_for(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened")

# The input is a pipe that nothing comes through, so the run cannot end by itself.
os.mkfifo("in")
for number in (signal.SIGTERM, signal.SIGINT):
    for output in ("out.tar", "small"):
        run = subprocess.Popen(["prep-resize", "in", "-o", output], stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        with open("in", "wb"):
            wait_for(lambda: any(output in name for name in os.listdir(".")))
            time.sleep(0.05)
            run.send_signal(number)
            _, messages = run.communicate(timeout=20)
        assert run.returncode == -number, (run.returncode, messages)
        assert f"ended by signal {int(number)} ".encode() in messages, messages
        assert os.listdir(".") == ["in"], os.listdir(".")
PY
}

@test "a full disk ends the run with exit 1 and leaves no half-made file" {
  if [ "$(id -u)" -ne 0 ] || ! mkdir full || ! mount -t tmpfs -o size=600k tmpfs full 2>/dev/null; then
    # Without the right to mount: a limit on file sizes and a device that is always full.
    run bash -c "prep-resize '$PHOTOS' -o - > /dev/full"
    [ "$status" -eq 1 ]
    [[ "$output" == *"standard output: cannot write: No space left on device"* ]]
    return
  fi
  run prep-resize "$PHOTOS" -o full/small
  [ "$status" -eq 1 ]
  [[ "$output" == *"No space left on device"* ]]
  [ -z "$(find full -name '.prep-tmp*')" ]
  find full -name '*.jpg' -print0 | xargs -0 -n1 python3 -c \
    'import sys; from PIL import Image; Image.open(sys.argv[1]).load()'
  rm -rf full/small
  run prep-resize "$PHOTOS" -o full/out.tar
  [ "$status" -eq 1 ]
  [ -z "$(ls -A full)" ]
  umount full
}

@test "closed and unwritable standard streams are errors, not other files' contents" {
  run bash -c "prep-resize '$PHOTOS' -o - >&-"
  [ "$status" -eq 1 ]
  run bash -c "prep-ls '$PHOTOS' > /dev/full"
  [ "$status" -eq 1 ]
  prep-resize "$PHOTOS" -o small 2>&- <&-
  [ "$(digest small | wc -l)" -eq 40 ]
  run bash -c "prep-resize --help > /dev/full"
  [ "$status" -eq 1 ]
  run bash -c "prep-resize 2>&-"
  [ "$status" -eq 2 ]
  prep-resize --progress always "$PHOTOS" -o progress 2> /dev/full
}

@test "an output that is an input, or somebody's directory, is refused" {
  cp -r "$PHOTOS" raw
  run prep-resize raw -o raw
  [ "$status" -eq 2 ]
  mkdir mine
  echo x > mine/thesis.tex
  run prep-resize raw -o mine
  [ "$status" -eq 2 ]
  [[ "$output" == *"--force"* ]]
  [ "$(ls -A mine)" = thesis.tex ]
  # The output below the input is not read.
  run prep-resize raw -o raw/small
  [ "$status" -eq 0 ]
  run prep-resize raw -o raw/small
  [[ "$output" == *"40 read = 0 written + 40 skipped"* ]]
}

@test "two runs cannot write one output" {
  mkfifo in
  prep-resize --quiet in -o out.tar 2>/dev/null &
  local pid=$!
  exec 9<> in
  sleep 0.2
  run prep-resize "$PHOTOS" -o out.tar
  [ "$status" -eq 1 ]
  [[ "$output" == *"out.tar: another run is writing it"* ]]
  kill $pid
  exec 9>&-
  wait $pid || true
}

@test "samples with the same key, from two inputs, are not mixed up" {
  mkdir a b
  cp "$(find "$PHOTOS" -name '*.jpg' | sort | head -n 1)" a/x.jpg
  cp "$(find "$PHOTOS" -name '*.jpg' | sort | tail -n 1)" b/x.jpg
  run prep-resize a b -o out
  [ "$status" -eq 3 ]
  [[ "$output" == *"b/x.jpg: another sample before it has the key 'x' too"* ]]
  prep-resize --quiet a -o alone
  cmp out/x.jpg alone/x.jpg
}

@test "empty inputs are errors" {
  mkdir nothing
  run prep-resize nothing -o out
  [ "$status" -eq 1 ]
  [[ "$output" == *"there are no samples in nothing"* ]]
  [ ! -e out ]
  touch nothing/.hidden
  run prep-ls nothing
  [ "$status" -eq 1 ]
  [[ "$output" == *"1 hidden file left out"* ]]
}

@test "progress only on a terminal, and never in the data" {
  run_apart prep-resize "$PHOTOS" -o - 
  [[ "$stderr" != *$'\r'* ]]
  run_apart prep-resize "$PHOTOS" -o small --progress always
  [[ "$stderr" == *$'\r'* ]]
}
