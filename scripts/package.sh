#!/usr/bin/env bash
# Builds the Debian package: package.sh [BUILD_DIR]. Prints its name, and nothing else, on standard
# output. The same sources give the same bytes, wherever and whenever they are built.
#
# SOURCE_DATE_EPOCH is the time that the package says it was made at: by default that of the last
# commit or, without git, of CHANGELOG.md.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly root

time_of_sources() {
  git -C "$root" log -1 --format=%ct 2> /dev/null || stat --format=%Y "$root/CHANGELOG.md"
}

main() {
  if [[ $# -gt 1 || "${1-}" == -* ]]; then
    echo "usage: package.sh [BUILD_DIR]" >&2
    exit 2
  fi
  local build="${1-$root/build-package}"
  "$root/scripts/install-packages.sh" build package
  export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH-$(time_of_sources)}"
  export LC_ALL=C.UTF-8 TZ=UTC
  umask 022

  cd "$root"
  cmake --preset package -B "$build" >&2
  cmake --build "$build" --parallel "$(nproc)" >&2
  # No package of an earlier version is to be found there.
  rm -rf "$build/package"
  (cd "$build" && cpack -B "$build/package" >&2)
  realpath "$build"/package/*.deb
}

main "$@"
