#!/usr/bin/env bash
# mogrify_recompress.sh INPUT OUTPUT QUALITY: it keeps the source's subsampling.
set -euo pipefail

readonly input="$1" output="$2" quality="$3"

find "$input" -type f -print0 | xargs -0 -r mogrify -path "$output" -quality "$quality"
