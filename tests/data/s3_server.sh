#!/usr/bin/env bash
# A real S3 server on this machine, Ceph's RADOS Gateway: s3_server.sh start DIR | stop DIR
#
# `start` takes about a second and writes DIR/environment, to be sourced: S3_HOST (127.0.0.1:PORT)
# and the AWS_… variables with which clients reach it. Objects are kept in memory and gone after
# `stop`. Everything is below DIR and listens on 127.0.0.1 only, on ports that were free, so that any
# number of servers can run side by side. Needs radosgw, ceph-mon and ceph-osd.
#
# S3_SERVER_BYTES is how much it holds at most (default 4 GiB; memory is taken as it fills).
set -euo pipefail

readonly access_key=testkey
readonly secret_key='testsecret+/with=chars'  # characters that a client may be tempted to encode
readonly attempts=3
readonly wait_seconds=30

free_ports() {  # COUNT
  /usr/bin/python3 - "$1" <<'PY'
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))
PY
}

# One monitor and one object store without replicas and without authentication among themselves;
# the Paxos intervals are what otherwise makes the start slow. Admin sockets are off because the path
# of a socket has to be short, and DIR may be long.
write_config() {  # DIR CLUSTER_ID MONITOR_PORT MONITOR_PORT_V1 S3_PORT
  local -r dir="$1"
  cat > "$dir/ceph.conf" <<CONF
[global]
fsid = $2
mon host = [v2:127.0.0.1:$3,v1:127.0.0.1:$4]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
run dir = $dir/run
admin socket =
pid file = $dir/run/\$name.pid
log file = $dir/log/\$name.log
crash dir = $dir/run
log to stderr = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon osd full ratio = .99
mon osd backfillfull ratio = .985
mon osd nearfull ratio = .98
mon data avail warn = 1
mon data avail crit = 1
paxos propose interval = 0.02
paxos min wait = 0.01
[mon.a]
mon data = $dir/mon
mon initial members = a
[osd.0]
osd data = $dir/osd
osd objectstore = memstore
memstore device bytes = ${S3_SERVER_BYTES:-4294967296}
memstore page size = 65536
osd memory target = 1073741824
[client.rgw]
ms mon client mode = crc
ms mon service mode = crc
ms mon cluster mode = crc
rgw frontends = beast endpoint=127.0.0.1:$5 tcp_nodelay=1
rgw data = $dir/rgw
rgw thread pool size = 64
rgw enable usage log = false
rgw dns name = localhost
rgw crypt require ssl = false
CONF
}

start_daemons() {  # DIR CLUSTER_ID MONITOR_PORT MONITOR_PORT_V1
  local -r dir="$1" conf="$1/ceph.conf"
  local osd_id
  osd_id=$(< /proc/sys/kernel/random/uuid)
  monmaptool --create --fsid "$2" --addv a "[v2:127.0.0.1:$3,v1:127.0.0.1:$4]" "$dir/monmap" &&
    ceph-mon -c "$conf" -i a --mkfs --monmap "$dir/monmap" &&
    ceph-mon -c "$conf" -i a &&
    timeout "$wait_seconds" ceph -c "$conf" osd new "$osd_id" &&
    ceph-osd -c "$conf" -i 0 --mkfs --osd-uuid "$osd_id" &&
    ceph-osd -c "$conf" -i 0 &&
    timeout "$wait_seconds" radosgw-admin -c "$conf" user create --uid=t --display-name=t \
      --access-key="$access_key" --secret-key="$secret_key" &&
    radosgw -c "$conf" -n client.rgw
}

answers() {  # PORT
  for ((i = 0; i < wait_seconds * 20; ++i)); do
    if curl --noproxy '*' -sf -o /dev/null "http://127.0.0.1:$1/"; then return; fi
    sleep 0.05
  done
  return 1
}

write_environment() {  # DIR PORT
  cat > "$1/environment" <<SH
export S3_HOST=127.0.0.1:$2
export AWS_ENDPOINT_URL=http://127.0.0.1:$2
export AWS_ACCESS_KEY_ID=$access_key
export AWS_SECRET_ACCESS_KEY='$secret_key'
export AWS_DEFAULT_REGION=us-east-1
export AWS_EC2_METADATA_DISABLED=true
SH
}

# Daemons that are told nothing keep what they inherit open, a pipe of the caller's too, and the
# caller would wait for its end. fd 3 … are those that test runners hand down.
try_start() {  # DIR
  local -r dir="$1"
  local cluster_id monitor monitor_v1 s3
  cluster_id=$(< /proc/sys/kernel/random/uuid)
  read -r monitor monitor_v1 s3 <<< "$(free_ports 3)"
  mkdir -p "$dir"/{mon,osd,run,log,rgw}
  write_config "$dir" "$cluster_id" "$monitor" "$monitor_v1" "$s3"
  start_daemons "$dir" "$cluster_id" "$monitor" "$monitor_v1" \
    > "$dir/log/start" 2>&1 < /dev/null 3>&- 4>&- 5>&- 6>&- && answers "$s3" &&
    write_environment "$dir" "$s3"
}

clean() {  # DIR
  rm -rf "$1"/{mon,osd,run,rgw,monmap,environment}
}

# --- commands ------------------------------------------------------------------------------------

start() {  # DIR
  local dir
  mkdir -p "$1"
  dir=$(realpath "$1")
  unset CEPH_CONF CEPH_ARGS
  for ((attempt = 1; attempt <= attempts; ++attempt)); do
    stop "$dir"
    if try_start "$dir"; then return; fi  # a port may have been taken meanwhile
  done
  echo "s3_server.sh: the server did not come up" >&2
  tail -n 20 "$dir"/log/* >&2
  stop "$dir"
  exit 1
}

# Kills what the pid files name if it still is what it was: the numbers are used again. Nothing that
# the daemons know is wanted again, so none is given time to write it down.
stop() {  # DIR
  local file pid
  local -a pids=()
  for file in "$1"/run/*.pid; do
    [[ -s "$file" ]] || continue
    pid=$(< "$file")
    if grep -qzF "$1/ceph.conf" "/proc/$pid/cmdline" 2> /dev/null && kill -9 "$pid"; then
      pids+=("$pid")
    fi
  done
  for pid in "${pids[@]}"; do
    while kill -0 "$pid" 2> /dev/null && ! grep -q '^State:.*Z' "/proc/$pid/status" 2> /dev/null; do
      sleep 0.01
    done
  done
  clean "$1"
}

case "${1-}:$#" in
  start:2) start "$2" ;;
  stop:2) [[ ! -d "$2" ]] || stop "$(realpath "$2")" ;;
  *)
    echo "usage: s3_server.sh start|stop DIR" >&2
    exit 2
    ;;
esac
