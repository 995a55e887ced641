#!/usr/bin/env bash
# gnu_tar.sh INPUT OUTPUT: one tar of a tree, in the order of names.
set -euo pipefail
exec tar --sort=name -C "$1" -cf "$2/all.tar" .
