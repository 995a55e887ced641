# The guide's commands, as they stand, in order: what a new user does first.
load common

setup_file() {
  make_photos_once 120
  rm -rf "$BAD"
  cd "$BATS_FILE_TMPDIR"
  /usr/bin/python3 "$PREP_SOURCE/tests/data/make_eeg.py" eeg
  awk '/^```/ { inside = ($0 == "```sh"); next } inside' "$PREP_SOURCE/docs/guide.md" > commands
  bash -ex -o pipefail commands > output 2> errors || { tail -n 5 errors; false; }
}
setup() { cd "$BATS_FILE_TMPDIR"; }

@test "every command ran" {
  [ "$(wc -l < commands)" -ge 12 ]
  [ "$(grep -c '^+ prep-' errors)" -ge 14 ]
}

@test "the shards hold every photo once, the spectrograms every epoch" {
  [ "$(prep-ls --quiet shards/*.tar | sort -u | wc -l)" -eq 120 ]
  [ "$(prep-ls --quiet once/*.tar | sort -u | wc -l)" -eq 120 ]
  [ "$(prep-ls --quiet eeg-shards/*.tar | wc -l)" -eq 16 ]
  [ -s report.html ]
}

@test "the numbers got better" {
  /usr/bin/python3 -c '
import json
before, after = (json.load(open(f))["images_per_s"] for f in ("before.json", "after.json"))
assert after > before, (before, after)'
}
