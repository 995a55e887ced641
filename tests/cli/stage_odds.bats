# prep-stage on what other programs fail at: odd keys, objects that change, servers that redirect.
load common
load s3

setup_file() { start_servers; }
teardown_file() { stop_servers; }
setup() { begin_test; }

# Writes objects under keys as they are, bytes and all: put KEY FILE. The proxy signs.
put() {
  rules "resign method=PUT"
  local path
  path="$(/usr/bin/python3 -c 'import os, sys, urllib.parse
print(urllib.parse.quote(os.fsencode(sys.argv[1]), safe=b"/"))' "$1")"
  curl -sf --path-as-is -X PUT --data-binary "@$2" -H 'Content-Type: ' "$PROXY/$path"
  rules ""
}

counts() {  # FIELD
  curl -s "$PROXY/.fault/counts" | /usr/bin/python3 -c "import json, sys; print(json.load(sys.stdin)['$1'])"
}

# CPU milliseconds and KiB of a command: measured COMMAND... (its output is thrown away)
measured() {
  /usr/bin/python3 -c '
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round((used.ru_utime + used.ru_stime) * 1000), used.ru_maxrss, code)' "$@"
}

@test "names with spaces, plus, percent, newline, control characters, and of 1,024 bytes" {
  s3 mb s3://names
  local long keys key i
  long="$(printf 'd%.0s' $(seq 250))/$(printf 'e%.0s' $(seq 250))/$(printf 'f%.0s' $(seq 250))/$(printf 'g%.0s' $(seq 250))/xyz.bin"
  keys=('p/sp ace' 'p/a+b' 'p/a%2Fb' 'p/ünïcödé' $'p/new\nline' $'p/\x01' 'p/q?a=b&c#d' "p/$long")
  i=1
  for key in "${keys[@]}"; do
    put "names/$key" "$IN/small-$i.bin"
    i=$((i + 1))
  done
  stage sync s3://names/p/ out
  i=1
  for key in "${keys[@]}"; do
    cmp "out/${key#p/}" "$IN/small-$i.bin"
    stage cat "s3://names/$key" | cmp - "$IN/small-$i.bin"
    i=$((i + 1))
  done
  # A name that no file system takes is refused by its name, and the others are there.
  put "names/p/$(printf 'n%.0s' $(seq 300))" "$IN/small-1.bin"
  run prep-stage sync s3://names/p/ out
  [ "$status" -eq 3 ]
  [[ "$output" == *nnnnnnnn* ]]
}

@test "d and d/f, d/ of no byte and of one" {
  s3 mb s3://dirs
  put dirs/p/d "$IN/small-1.bin"
  put dirs/p/d/f "$IN/small-2.bin"
  put dirs/p/e/ /dev/null
  put dirs/p/e/f "$IN/small-3.bin"
  printf x > one
  put dirs/p/g/ one
  run prep-stage sync s3://dirs/p/ out
  [ "$status" -eq 3 ]
  [[ "$output" == *"p/d"* && "$output" == *"p/g/"* ]]
  [[ "$output" == *"where there is a directory"* ]]
  [ -d out/e ]
  # A key below one that was a file before.
  put dirs/q/h "$IN/small-1.bin"
  stage sync s3://dirs/q/ later
  put dirs/q/h/i "$IN/small-2.bin"
  run prep-stage sync s3://dirs/q/ later
  [ "$status" -eq 3 ]
  [[ "$output" == *"q/h/i: a file is where its directory would be"* ]]
  cmp later/h "$IN/small-1.bin"
  cmp out/e/f "$IN/small-3.bin"
  # The cache keeps all of them.
  stage cat s3://dirs/p/d | cmp - "$IN/small-1.bin"
  stage cat s3://dirs/p/d/f | cmp - "$IN/small-2.bin"
  stage cat s3://dirs/p/g/ | cmp - one
}

@test "other content of the same size is fetched; a cached object stays until it is asked after" {
  s3 mb s3://same
  put same/x "$IN/small-5.bin"
  head -c 5000 /dev/urandom > other
  stage sync s3://same/ out
  stage cat s3://same/x | cmp - "$IN/small-5.bin"
  put same/x other
  stage sync s3://same/ out
  cmp out/x other
  stage cat s3://same/x | cmp - "$IN/small-5.bin"
  stage cat s3://same/x --revalidate | cmp - other
}

@test "an object that is overwritten while it is fetched is one or the other, never both" {
  s3 mb s3://moving
  put moving/x "$IN/large.bin"
  rules "overwrite after=3000000 times=1 key=moving/x"
  run prep-stage sync s3://moving/ out --part-size 2Mi
  rules ""
  if [ -e out/x ] && ! cmp -s out/x "$IN/large.bin"; then
    s3 get s3://moving/x whole
    cmp out/x whole
  fi
  stage sync s3://moving/ out
  s3 get --force s3://moving/x whole
  cmp out/x whole
}

@test "a hit asks nobody, and costs less than 5 ms besides starting" {
  stage get s3://data/set/small-3.bin > /dev/null
  rules "drop"
  curl -s -X DELETE "$PROXY/.fault/counts" > /dev/null
  stage cat s3://data/set/small-3.bin | cmp - "$IN/small-3.bin"
  [ "$(counts methods)" = "{}" ]
  # Beyond what any program costs that does nothing.
  local hit nothing
  read -r hit _ < <(measured bash -c 'for i in $(seq 50); do prep-stage cat s3://data/set/small-3.bin; done')
  read -r nothing _ < <(measured bash -c 'for i in $(seq 50); do prep-stage --version; done')
  echo "# a hit: $((hit * 20)) us of CPU, $((nothing * 20)) of them for starting" >&3
  [ $((hit - nothing)) -lt 250 ]
}

@test "a long listing takes little memory" {
  rules "list keys=200000 size=10 bucket=many"
  local rss code
  read -r _ rss code < <(measured prep-stage --quiet sync s3://many/ out --dry-run)
  [ "$code" -eq 0 ]
  echo "# 200,000 keys: $((rss / 1024)) MiB" >&3
  [ "$rss" -lt 60000 ]
}

@test "a region elsewhere, a clock that is off, a token that has expired" {
  rules "resign when=authorization:*/eu-west-1/s3/*
error status=301 code=PermanentRedirect region=eu-west-1 unless=authorization:*/eu-west-1/s3/*"
  stage get s3://data/set/small-1.bin > /dev/null
  rules "clock seconds=3600"
  stage sync s3://data/set/deep/ out
  [ "$(cat out/er/x.txt)" = deep ]
  rules "error status=400 code=ExpiredToken"
  run prep-stage get s3://data/set/small-2.bin
  [ "$status" -eq 1 ]
  [[ "$output" == *ExpiredToken* && "$output" == *data* ]]
}

@test "plain HTTP, an HTTP proxy, and TLS with an authority of one's own" {
  rules "resign"
  stage get "$PROXY/data/set/small-4.bin" > path
  cmp "$(cat path)" "$IN/small-4.bin"
  rules ""
  curl -s -X DELETE "$PROXY/.fault/counts" > /dev/null
  AWS_ENDPOINT_URL="http://$S3_HOST" http_proxy="$PROXY" no_proxy="" stage cat s3://data/set/small-6.bin | cmp - "$IN/small-6.bin"
  [ "$(counts proxied)" -ge 1 ]
  openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
    -addext 'subjectAltName=IP:127.0.0.1' 2> /dev/null
  /usr/bin/python3 "$PREP_SOURCE/tests/data/fault_proxy.py" --upstream "$S3_HOST" --port-file port \
    --cert cert.pem --key key.pem > proxy.log 2>&1 3>&- &
  local proxy=$! i
  for ((i = 0; i < 100; ++i)); do
    [ -s port ] && break
    sleep 0.05
  done
  run prep-stage get s3://data/set/small-7.bin --endpoint-url "https://127.0.0.1:$(cat port)" --retries 1
  [ "$status" -eq 1 ]
  [[ "$output" == *certificate* ]]
  prep-stage --quiet cat s3://data/set/small-7.bin --endpoint-url "https://127.0.0.1:$(cat port)" \
    --ca-bundle cert.pem | cmp - "$IN/small-7.bin"
  kill $proxy
}
