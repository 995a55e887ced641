#!/usr/bin/env bash
# Photos to shards on a Slurm cluster: submit.sh RAW OUT [TASKS]
#
# Three jobs, each waiting for the one before: an array that resizes (task I does its share of the
# photos), an array that packs (task I writes its own shards), and one that merges the manifests and
# verifies. The shards are byte for byte those of a single machine. A task that is killed or
# requeued goes on where it was. RAW and OUT are on a file system that all nodes share.
#
# Prints the number of the last job; with WAIT=1 in the environment it waits for that one.
set -euo pipefail

if [[ $# -lt 2 || $# -gt 3 ]]; then
  echo "usage: submit.sh RAW OUT [TASKS]" >&2
  exit 2
fi
raw=$(realpath -- "$1")
mkdir -p "$2"
out=$(realpath -- "$2")
readonly raw out tasks="${3:-8}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

submit() {  # SBATCH_OPTION... SCRIPT ARGUMENT...
  sbatch --parsable --requeue --output="$out/%x-%A_%a.log" "$@"
}

resize=$(submit --array="0-$((tasks - 1))" "$here/resize.sbatch" "$raw" "$out/small")
pack=$(submit --array="0-$((tasks - 1))" --dependency="afterok:$resize" --kill-on-invalid-dep=yes \
  "$here/pack.sbatch" "$out/small" "$out/shards")
finish=$(submit ${WAIT:+--wait} --dependency="afterok:$pack" --kill-on-invalid-dep=yes \
  "$here/finish.sbatch" "$out/shards")
echo "$finish"
