#!/usr/bin/env bash
# Installs what is missing of the named groups of packages.txt: install-packages.sh GROUP...
# When nothing is missing it needs neither the network nor root.
set -euo pipefail

list="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/packages.txt"
readonly list

packages_of() {  # GROUP...
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2; found = 1 } END { exit !found }' "$list" || {
      echo "install-packages.sh: no group '$group' in $list" >&2
      exit 2
    }
  done
}

is_installed() {  # PACKAGE
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

missing_of() {  # PACKAGE...
  local package
  for package in "$@"; do
    is_installed "$package" || echo "$package"
  done
}

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  else
    sudo "$@"
  fi
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq "$@" >&2
}

main() {
  if [[ $# -eq 0 ]]; then
    echo "usage: install-packages.sh GROUP... (groups: $(awk '/^[a-z]/ { print $1 }' "$list" |
      sort -u | xargs))" >&2
    exit 2
  fi

  local wanted missing
  wanted=$(packages_of "$@" | sort -u)
  if ! command -v dpkg-query apt-get >/dev/null; then
    echo "install-packages.sh: not a Debian system; going on as if these were there:" $wanted >&2
    exit 0
  fi
  missing=$(missing_of $wanted)
  [[ -n "$missing" ]] || exit 0

  if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null; then
    echo "install-packages.sh: neither root nor sudo; ask an administrator for:" >&2
    echo "  apt-get install --no-install-recommends" $missing >&2
    exit 1
  fi
  echo "Installing" $missing >&2
  apt update
  apt install --yes --no-install-recommends $missing
}

main "$@"
