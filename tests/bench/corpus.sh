#!/usr/bin/env bash
# Fills a folder with photographs from Debian packages, for the benchmarks: corpus.sh DIR
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly here

if [[ $# -ne 1 || "$1" == -* ]]; then
  echo "usage: corpus.sh DIR" >&2
  exit 2
fi
"$here/../../scripts/install-packages.sh" corpus
exec /usr/bin/python3 "$here/lib/corpus.py" "$1"
