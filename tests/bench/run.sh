#!/usr/bin/env bash
# Runs a benchmark: run.sh NAME [ARGUMENTS]. A benchmark is a file NAME.py or NAME.sh beside this one.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly here

names() {
  find "$here" -maxdepth 1 \( -name '*.py' -o -name '*.sh' \) \
    ! -name run.sh ! -name corpus.sh -printf '%f\n' | sed 's/\.[a-z]*$//' | sort | xargs
}

usage() {
  echo "usage: run.sh NAME [ARGUMENTS]; NAME is one of: $(names)" >&2
  exit 2
}

[[ $# -gt 0 ]] || usage
name="$1"
shift
export PYTHONPATH="$here/lib${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1
if [[ "$name" =~ ^[a-z0-9-]+$ && -f "$here/$name.py" ]]; then
  exec /usr/bin/python3 "$here/$name.py" "$@"
elif [[ "$name" =~ ^[a-z0-9-]+$ && "$name" != run && "$name" != corpus &&
  -f "$here/$name.sh" ]]; then
  exec bash "$here/$name.sh" "$@"
fi
usage
