#!/usr/bin/env bash
# jpegtran_optimize.sh INPUT OUTPUT: optimised Huffman tables, nothing else changed.
set -euo pipefail

readonly input="$1" output="$2"

find "$input" -type f -print0 |
  while IFS= read -r -d '' path; do
    jpegtran -optimize -copy none -outfile "$output/${path##*/}" "$path"
  done
