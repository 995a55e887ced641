# The source tree itself: includes follow the arrows, every file is on the map, nothing is too large.

setup() { cd "$PREP_SOURCE"; }

# Lines that include what a folder must not see.
includes() {  # FOLDER FORBIDDEN_PATTERN
  grep -rnE "^#include \"($2)" "$1" || true
}

@test "no include runs against the arrows" {
  [ -z "$(includes lib/core '(formats|tools|tests|lib/(image|signal|remote))/')" ]
  [ -z "$(includes lib/image '(formats|tools|tests|lib/(signal|remote))/')" ]
  [ -z "$(includes lib/signal '(formats|tools|tests|lib/(image|remote))/')" ]
  [ -z "$(includes lib/measure '(formats|tools|tests|lib/(image|signal|remote))/')" ]
  [ -z "$(includes formats '(tools|tests|lib/(image|signal|remote))/')" ]
  [ -z "$(includes tools 'tests/')" ]
}

@test "third-party picture headers stay in lib/image's source files" {
  run grep -rlE '^#include <(jpeglib|png|tiff|webp/|gif_lib|lcms2|hwy)' lib formats tools
  for file in $output; do
    [[ "$file" == lib/image/*.cc || "$file" == lib/image/*-inl.h ]] || { echo "$file"; false; }
  done
}

@test "every source file is on the code map, and the map names no other" {
  diff <(find lib formats tools -name '*.h' -o -name '*.cc' | sed 's/\.[a-z]*$//' | LC_ALL=C sort -u) \
       <(grep -oE '^\| `[^`]+`' docs/code-map.md | sed 's/^| `//; s/`$//' | LC_ALL=C sort -u)
}

@test "no file is over 1 MB" {
  [ -z "$(find . \( -name .git -o -name 'build*' \) -prune -o -type f -size +1M -print)" ]
}

@test "links between the docs lead somewhere" {
  local file link
  for file in README.md CONTRIBUTING.md docs/*.md; do
    while read -r link; do
      [ -e "$(dirname "$file")/${link%%#*}" ] || { echo "$file: $link"; false; }
    done < <(grep -oE '\]\([^)]+\)' "$file" | sed 's/^](//; s/)$//' | grep -vE '^(https?:|#)')
  done
}
