#!/usr/bin/env bash
# A Slurm cluster of two nodes on this machine: slurm.sh start DIR | stop DIR
#
# `start` writes DIR/slurm.conf and waits until both nodes are idle; then SLURM_CONF=DIR/slurm.conf
# makes sbatch and the rest use it. Everything is below DIR and listens on 127.0.0.1 only, on ports
# that were free. Needs root, slurm-wlm and munge.
set -euo pipefail

readonly wait_seconds=60

free_ports() {  # COUNT
  /usr/bin/python3 - "$1" <<'PY'
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))
PY
}

# Messages between the daemons are signed by munged, which refuses to run as another's user.
start_munge() {  # DIR
  local -r dir="$1/munge"
  install -d -o munge -g munge -m 0755 "$dir"
  head -c 1024 /dev/urandom > "$dir/key"
  chown munge:munge "$dir/key"
  chmod 0400 "$dir/key"
  setpriv --reuid=munge --regid=munge --clear-groups munged --key-file="$dir/key" \
    --socket="$dir/socket" --pid-file="$dir/pid" --log-file="$dir/log" --seed-file="$dir/seed" \
    --num-threads=2
}

write_config() {  # DIR
  local -r dir="$1"
  local host controller first second
  host=$(hostname -s)
  read -r controller first second <<< "$(free_ports 3)"
  mkdir -p "$dir"/{state,spool/one,spool/two}
  cat > "$dir/slurm.conf" <<CONF
ClusterName=preptools
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=1,sched_interval=1
ReturnToService=2
KillWait=2
MinJobAge=3600
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=$first CPUs=2 RealMemory=500
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=$second CPUs=2 RealMemory=500
PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP
CONF
}

# --- commands ------------------------------------------------------------------------------------

start() {  # DIR
  local dir
  mkdir -p "$1"
  dir=$(realpath "$1")
  chmod 0755 "$dir"
  start_munge "$dir"
  write_config "$dir"
  export SLURM_CONF="$dir/slurm.conf"
  slurmctld -f "$SLURM_CONF" -c
  slurmd -f "$SLURM_CONF" -N one
  slurmd -f "$SLURM_CONF" -N two
  for ((i = 0; i < wait_seconds * 10; ++i)); do
    if [[ "$(sinfo --noheader --states=idle --format=%D 2> /dev/null)" == 2 ]]; then
      return
    fi
    sleep 0.1
  done
  echo "slurm.sh: the nodes did not come up in $wait_seconds s" >&2
  tail -n 20 "$dir"/*.log >&2
  exit 1
}

# Nothing that they know is wanted again, so none is given long to write it down.
stop() {  # DIR
  local file pid
  local -a pids=()
  for file in "$1"/slurmd.*.pid "$1"/slurmctld.pid "$1/munge/pid"; do
    [[ -s "$file" ]] || continue
    pid=$(< "$file")
    kill "$pid" 2> /dev/null && pids+=("$pid")
  done
  sleep 0.5
  for pid in "${pids[@]}"; do kill -9 "$pid" 2> /dev/null || true; done
}

case "${1-}:$#" in
  start:2) start "$2" ;;
  stop:2) stop "$2" ;;
  *)
    echo "usage: slurm.sh start|stop DIR" >&2
    exit 2
    ;;
esac
