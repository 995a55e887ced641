#!/usr/bin/env bash
# mogrify_resize.sh INPUT OUTPUT SHORT QUALITY: with the hint that lets libjpeg decode to half size.
set -euo pipefail

readonly input="$1" output="$2" short="$3" quality="$4"

find "$input" -type f -print0 |
  xargs -0 -r mogrify -path "$output" -define "jpeg:size=$((2 * short))x$((2 * short))" \
    -filter Triangle -resize "${short}x${short}^" -quality "$quality" -sampling-factor 4:2:0
