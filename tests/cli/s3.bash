# Shared by the tests of prep-stage: servers, $IN, $PROXY, and rules for what the proxy does.

# A real S3 server with objects that an independent program has written, behind the fault proxy.
start_servers() {
  for program in radosgw ceph-mon ceph-osd; do
    command -v "$program" > /dev/null && continue
    echo "# $program is not there: prep-stage was NOT TESTED (apt-get install radosgw ceph-mon ceph-osd)" >&3
    return 1
  done
  S3_DIR=$(mktemp -d "${TMPDIR:-/tmp}/prep-s3.XXXXXX")
  export S3_DIR
  "$PREP_SOURCE/tests/data/s3_server.sh" start "$S3_DIR"
  set -a
  source "$S3_DIR/environment"
  set +a
  export HOME="$BATS_FILE_TMPDIR"
  /usr/bin/python3 "$PREP_SOURCE/tests/data/fault_proxy.py" --upstream "$S3_HOST" \
    --port-file "$BATS_FILE_TMPDIR/port" > "$BATS_FILE_TMPDIR/proxy.log" 2>&1 &
  echo $! > "$BATS_FILE_TMPDIR/proxy.pid"
  for ((i = 0; i < 100; ++i)); do
    [ -s "$BATS_FILE_TMPDIR/port" ] && break
    sleep 0.05
  done
  PROXY="http://127.0.0.1:$(< "$BATS_FILE_TMPDIR/port")"
  export PROXY
  # Objects that an independent program has written.
  mkdir -p "$BATS_FILE_TMPDIR/in/deep/er"
  cd "$BATS_FILE_TMPDIR/in"
  for i in $(seq 20); do head -c $((i * 1000)) /dev/urandom > small-$i.bin; done
  head -c 20000000 /dev/urandom > large.bin
  : > empty.bin
  echo deep > deep/er/x.txt
  echo odd > 'sp ace +%2F ünï.txt'
  s3 mb s3://data
  s3 sync "$BATS_FILE_TMPDIR/in/" s3://data/set/
}

stop_servers() {
  [ -n "${S3_DIR-}" ] || return 0
  kill "$(< "$BATS_FILE_TMPDIR/proxy.pid")" || true
  "$PREP_SOURCE/tests/data/s3_server.sh" stop "$S3_DIR"
  rm -rf "$S3_DIR"
}

begin_test() {
  cd "$BATS_TEST_TMPDIR"
  export IN="$BATS_FILE_TMPDIR/in" AWS_ENDPOINT_URL="$PROXY" PREP_CACHE="$BATS_TEST_TMPDIR/cache"
  rules ""
  curl -s -X DELETE "$PROXY/.fault/counts" > /dev/null
}

s3() {
  s3cmd --quiet --host="$S3_HOST" --host-bucket="$S3_HOST" --no-ssl \
    --access_key="$AWS_ACCESS_KEY_ID" --secret_key="$AWS_SECRET_ACCESS_KEY" "$@"
}

rules() { curl -s -X PUT --data-binary "$1" "$PROXY/.fault/rules" > /dev/null; }

count() {  # METHOD
  curl -s "$PROXY/.fault/counts" |
    /usr/bin/python3 -c "import json, sys; print(json.load(sys.stdin)['methods'].get('$1', 0))"
}

stage() { prep-stage --quiet "$@"; }
