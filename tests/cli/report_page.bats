# The HTML reports, opened in a browser: they hold what they should, fetch nothing, and fit a phone.
load common

setup_file() {
  make_photos_once
  cd "$BATS_FILE_TMPDIR"
  prep-inspect "$PHOTOS" --html inspect.html > /dev/null
  prep-bench feed "$PHOTOS" --workers 1 --seconds 0.5 --need 1e9 --html feed.html > /dev/null
  prep-bench decode "$PHOTOS" --samples 10 --runs 2 --decoders rgb,scaled --variants all --html decode.html > /dev/null
  prep-resize "$PHOTOS" -o photos.tar --quiet
  prep-bench read "$PHOTOS" photos.tar --runs 2 --html read.html > /dev/null
  local page
  for page in inspect feed decode read; do
    /usr/bin/python3 "$PREP_SOURCE/tests/data/open_page.py" $page.html > $page.json
  done
  /usr/bin/python3 "$PREP_SOURCE/tests/data/open_page.py" inspect.html dark > dark.json
}
setup() { cd "$BATS_FILE_TMPDIR"; }

# The value of a Python expression over what was seen, as `r`; its wide view as `d`.
value() {  # FILE EXPRESSION
  /usr/bin/python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
d = r["desk"]
print(eval(sys.argv[2]))' "$@"
}

@test "nothing is fetched, no script complains, no link leads nowhere" {
  local page
  for page in inspect feed decode read; do
    [ "$(value $page.json '[r["requests"], r["console"], d["anchors"], d["broken"]]')" = "[[], [], 0, 0]" ]
    ! grep -qE '<script|(src|href)="(http|//)|url\((http|//)|@import' $page.html
  done
}

@test "a phone's width is enough, and every chart has its words" {
  local page
  for page in inspect feed decode read; do
    [ "$(value $page.json '[r["phone"]["overflow"], d["overflow"], d["language"]]')" = "[0, 0, 'en']" ]
    [ "$(value $page.json 'd["charts"] != [] and all(c.startswith("img:") and len(c) > 8 for c in d["charts"])')" = True ]
  done
}

@test "light and dark follow the reader's setting" {
  [ "$(value inspect.json 'min(map(int, d["background"][4:-1].split(","))) > 200')" = True ]
  [ "$(value dark.json 'max(map(int, d["background"][4:-1].split(","))) < 60')" = True ]
}

@test "prep-inspect's page says what its text says" {
  [ "$(value inspect.json '"40 samples, 40 files" in d["text"] and "prep-resize " in d["text"]')" = True ]
  [ "$(value inspect.json '"Odd pictures" in d["headings"]')" = True ]
  [ "$(value inspect.json 'd["pictures"] >= 8')" = True ]
  [ "$(value inspect.json 'len(d["charts"])')" -eq 6 ]
}

@test "prep-bench's pages name the limit, the decoders and the containers" {
  [ "$(value feed.json '"1,000,000,000" in d["text"] and "decode" in d["text"]')" = True ]
  [ "$(value decode.json '"libjpeg-turbo" in d["text"] and max(d["tables"]) >= 5')" = True ]
  [ "$(value read.json '"loose files" in d["text"] and "tar" in d["text"]')" = True ]
}
