#!/usr/bin/env bash
# jpegoptim_recompress.sh INPUT OUTPUT QUALITY: it keeps the source's subsampling.
set -euo pipefail

readonly input="$1" output="$2" quality="$3"

find "$input" -type f -print0 |
  xargs -0 -r jpegoptim --quiet --max="$quality" --strip-all --dest="$output"
# What it can't make smaller it leaves where it is.
find "$input" -type f -print0 | xargs -0 -r cp --no-clobber --target-directory="$output"
