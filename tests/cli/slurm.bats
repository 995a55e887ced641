# The job arrays of examples/slurm, on a Slurm that really runs.
load common

setup_file() {
  for program in slurmctld slurmd munged; do
    command -v "$program" > /dev/null && continue
    echo "# $program is not there: examples/slurm was NOT TESTED (apt-get install slurm-wlm munge)" >&3
    return 1
  done
  make_photos_once 240
  rm -rf "$BAD"
  # munged, which is not root, must be able to get there.
  SLURM_DIR=$(mktemp -d "${TMPDIR:-/tmp}/prep-slurm.XXXXXX")
  export SLURM_DIR SLURM_CONF="$SLURM_DIR/slurm.conf"
  "$PREP_SOURCE/tests/data/slurm.sh" start "$SLURM_DIR"
}

teardown_file() {
  [ -n "${SLURM_DIR-}" ] || return 0
  "$PREP_SOURCE/tests/data/slurm.sh" stop "$SLURM_DIR"
  rm -rf "$SLURM_DIR"
}

setup() { cd "$BATS_TEST_TMPDIR"; }

# A program of that name, before the real one in the PATH: in one task it is killed in the middle of
# its first run, when WHEN is true, and Slurm is told to put the task back into its queue.
requeue_once() {  # TOOL TASK WHEN
  mkdir -p bin
  cat > "bin/$1" <<SH
#!/usr/bin/env bash
if [[ "\$SLURM_ARRAY_TASK_ID" == $2 && "\${SLURM_RESTART_COUNT-0}" == 0 ]]; then
  "$PREP_BIN/$1" "\$@" &
  until $3 || ! kill -0 \$!; do :; done
  kill -9 \$! && echo "$1" >> "$PWD/killed"
  scontrol requeue "\$SLURM_JOB_ID"
  sleep 60
fi
exec "$PREP_BIN/$1" "\$@"
SH
  chmod +x "bin/$1"
}

# Until the job has ended, one way or another; `sbatch --wait` would ask every 30 s only.
wait_for_job() {  # JOB
  for ((i = 0; i < 600; ++i)); do
    scontrol --oneliner show job "$1" | grep -qE 'JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT)' && return
    sleep 0.2
  done
}

@test "arrays that resize and pack, with tasks killed and requeued: a single run's shards" {
  prep-resize --quiet "$PHOTOS" -o small
  prep-pack --quiet small -o 'one/train-%06d.tar' --shards 12 --shuffle 1 --labels dir
  requeue_once prep-resize 1 'sleep 0.05'
  requeue_once prep-pack 2 "[ -e $PWD/cluster/shards/train-000002.tar ]"
  export PATH="$PWD/bin:$PATH" SHARDS=12
  run "$PREP_SOURCE/examples/slurm/submit.sh" "$PHOTOS" cluster 4
  [ "$status" -eq 0 ]
  wait_for_job "$output"
  tail -n 30 cluster/*.log
  scontrol --oneliner show job "$output" | grep 'JobState=COMPLETED'
  # Both tasks were killed, and ran again.
  [ "$(sort killed | xargs)" = 'prep-pack prep-resize' ]
  [ "$(scontrol --oneliner show job | grep -c 'Restarts=1 ')" -eq 2 ]
  grep -q 'verify: 12 shards, 240 samples' cluster/prep-finish-*.log
  diff <(cd one && sha256sum *.tar) <(cd cluster/shards && sha256sum *.tar)
  diff <(digest small) <(digest cluster/small)
  [ -z "$(temporaries cluster)" ]
  # The manifests say the same, but for where the inputs and outputs are.
  diff <(grep -v '"small"\|"output"\|cluster' one/manifest.json) \
    <(grep -v '"output"\|/small"' cluster/shards/manifest.json)
}
