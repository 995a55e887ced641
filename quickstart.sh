#!/usr/bin/env bash
# Builds preptools and shrinks a folder of images: ./quickstart.sh [IMAGE_DIR]
#
# Without IMAGE_DIR it generates a small data set to work on. Everything it makes is below build/;
# the images given to it are only read. Missing Debian packages are installed first.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly root
readonly build="$root/build"
readonly work="$build/quickstart"

say() { printf '%s\n' "$*"; }

# Runs a command quietly; its output is shown only if it fails.
quietly() {  # WHAT COMMAND...
  local what="$1" log="$build/quickstart.log"
  shift
  mkdir -p "$build"
  say "$what"
  "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    say "quickstart.sh: failed: $*" >&2
    exit 1
  }
}

build_tools() {
  "$root/scripts/install-packages.sh" build
  cd "$root"
  quietly "Configuring …" cmake --preset release
  quietly "Building the tools in $build (a few minutes the first time) …" \
    cmake --build --preset release --target tools/all make_photos
}

generate_photos() {  # DIR
  [[ -d "$1" ]] && return
  rm -rf "$1.new"
  quietly "Generating a data set in $1 …" "$build/tests/data/make_photos" "$1.new"
  mv "$1.new" "$1"
}

# "240 files, 15.3 MB" of the images below a directory.
sizes() {  # DIR
  find -L "$1" -type f ! -name '.*' -printf '%s\n' |
    awk '{ bytes += $1 } END { printf "%d files, %.1f MB\n", NR, bytes / 1e6 }'
}

explain_bad_samples() {  # GENERATED?
  say
  if "$1"; then
    say "The bad files named above are part of the demonstration: the generator damages a few."
  fi
  say "A bad file never stops the run and never reaches the output; exit code 3 says that there"
  say "were more of them than --max-errors allows (by default, any). Their names and reasons, one"
  say "JSON line each: $work/errors.jsonl"
}

resize() {  # INPUT OUTPUT GENERATED?
  local -r input="$1" output="$2" generated="$3"
  local status=0
  say
  say "\$ prep-resize $input -o $output"
  "$build/tools/prep-resize" "$input" -o "$output" --errors "$work/errors.jsonl" || status=$?
  if [[ $status -ne 0 && $status -ne 3 ]]; then
    exit "$status"
  fi
  [[ $status -eq 0 ]] || explain_bad_samples "$generated"
  say
  say "before: $(sizes "$input")  $input"
  say "after:  $(sizes "$output")  $output"
  say "Run it again: it does only what is missing. More: $build/tools/prep-resize --help"
  "$generated" || exit "$status"
}

main() {
  if [[ $# -gt 1 || "${1-}" == -* ]]; then
    say "usage: quickstart.sh [IMAGE_DIR]" >&2
    exit 2
  fi
  local input
  if [[ $# -eq 1 ]]; then
    [[ -d "$1" ]] || {
      say "quickstart.sh: $1 is not a directory" >&2
      exit 2
    }
    input=$(realpath -- "$1")
  fi

  build_tools
  mkdir -p "$work"
  if [[ $# -eq 1 ]]; then
    # One output for each input, so that a rerun finds its own.
    resize "$input" "$work/of$input" false
  else
    generate_photos "$work/raw"
    resize "$work/raw" "$work/small" true
  fi
}

main "$@"
