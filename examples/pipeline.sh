#!/usr/bin/env bash
# Photos to shards in one pipeline, nothing but the shards on the disk: pipeline.sh RAW SHARDS
#
# A tool that fails does not end its tar, and whoever reads it commits nothing: the shards are
# there when all of it worked, and not before. pipefail makes the script say so.
set -euo pipefail

if [[ $# -ne 2 ]]; then
  echo "usage: pipeline.sh RAW_DIRECTORY SHARD_DIRECTORY" >&2
  exit 2
fi
readonly raw="$1" shards="$2"

prep-resize "$raw" -o - --max-errors 0.1% |
  prep-recompress - -o - --quality 80 |
  prep-pack - -o "$shards/train-%06d.tar" --max-size 500M

prep-verify --quick "$shards"
