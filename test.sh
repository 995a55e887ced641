#!/usr/bin/env bash
# Builds preptools and runs every test: first under the address and undefined behaviour sanitizers,
# then the release build. Missing Debian packages are installed first.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
jobs="$(nproc)"
readonly jobs

# Tests labelled release-only measure time or memory, which the sanitizers distort.
run_sanitized() {
  export ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:allocator_may_return_null=1"
  export UBSAN_OPTIONS="print_stacktrace=1"
  cmake --preset sanitize
  cmake --build --preset sanitize --parallel "$jobs"
  ctest --preset sanitize --parallel "$jobs" --label-exclude release-only
}

run_release() {
  cmake --preset release
  cmake --build --preset release --parallel "$jobs"
  ctest --preset release --parallel "$jobs"
}

scripts/install-packages.sh build test
(run_sanitized)
run_release
