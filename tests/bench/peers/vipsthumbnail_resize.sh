#!/usr/bin/env bash
# vipsthumbnail_resize.sh INPUT OUTPUT SHORT QUALITY, where INPUT has the folders wide and tall.
set -euo pipefail

readonly input="$1" output="$2" short="$3" quality="$4"

thumbnails() {  # FOLDER SIZE
  find "$input/$1" -type f -print0 |
    xargs -0 -r vipsthumbnail --size "$2" -o "$output/%s.jpg[Q=$quality,subsample-mode=on]"
}

thumbnails wide "x$short"
thumbnails tall "${short}x"
