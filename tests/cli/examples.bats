# What is in examples/ runs as it is.
load common

setup_file() {
  make_photos_once
  rm -rf "$BAD"
}

setup() {
  cd "$BATS_TEST_TMPDIR"
  examples="$PREP_SOURCE/examples"
}

photos() { make -s -f "$examples/imagenet/Makefile" RAW=raw OUT=out SHARDS=4 "$@"; }

# Digests of the shards.
shards() { (cd "$1" && sha256sum ./*.tar); }

@test "imagenet: from nothing, again, after a change, and after a photo is gone" {
  cp -r "$PHOTOS" raw
  photos -j2
  prep-verify --quiet out/shards
  [ "$(ls out/shards/*.tar | wc -l)" -eq 4 ]
  shards out/shards > first
  run photos -j2 --no-silent
  [ "$status" -eq 0 ]
  [[ "$output" != *prep-* ]]
  # One photo has a new time: it alone is resized again, and the shards come out the same.
  touch "$(find raw -name '*.jpg' | LC_ALL=C sort | head -n 1)"
  run photos -j2
  [ "$status" -eq 0 ]
  [[ "$output" == *"40 read = 1 written + 39 skipped"* ]]
  diff first <(shards out/shards)
  # A setting, and a photo that is gone.
  photos -j2 SHARDS=3
  [ "$(ls out/shards/*.tar | wc -l)" -eq 3 ]
  rm "$(find raw -name '*.jpg' | LC_ALL=C sort | head -n 1)"
  photos -j2 SHARDS=3
  [ "$(prep-ls --quiet out/shards/*.tar | wc -l)" -eq 39 ]
}

@test "imagenet: recompressed on request, and bad photos are an error" {
  cp -r "$PHOTOS" raw
  photos RECOMPRESS=70 -j2
  prep-verify --quiet out/shards
  [ -e out/recompressed/.prep-recompress.json ]
  : > raw/class-0/empty.jpg
  run photos RECOMPRESS=70
  [ "$status" -ne 0 ]
  [[ "$output" == *"empty.jpg: the file is empty"* ]]
}

@test "imagenet: killed at any time, then again" {
  cp -r "$PHOTOS" raw
  photos -j2 && shards out/shards > expected
  rm -rf out
  for i in $(seq 10); do
    setsid make -s -j2 -f "$examples/imagenet/Makefile" RAW=raw OUT=out SHARDS=4 > log 2>&1 &
    local leader=$!
    sleep 0.0$((RANDOM % 10))$((RANDOM % 10))
    kill -9 -- -$leader 2> /dev/null || true
    wait $leader || true
  done
  photos -j2
  diff expected <(shards out/shards)
  [ -e out/verified.json ]
  [ -z "$(temporaries out)" ]
}

@test "eeg: recordings to normalised spectrograms" {
  /usr/bin/python3 "$PREP_SOURCE/tests/data/make_eeg.py" raw
  make -s -j2 -f "$examples/eeg/Makefile" RAW=raw OUT=out SHARDS=2 \
    OPTIONS='--channels 10-20 --missing skip --epoch 10 --log db'
  prep-verify --quiet --decode out/shards
  [ "$(prep-ls --quiet out/shards/*.tar | wc -l)" -eq 16 ]
  run make -f "$examples/eeg/Makefile" RAW=raw OUT=out SHARDS=2 \
    OPTIONS='--channels 10-20 --missing skip --epoch 10 --log db'
  [[ "$output" != *prep-* ]]
}

@test "pipeline.sh" {
  run "$examples/pipeline.sh" "$PHOTOS" shards
  [ "$status" -eq 0 ]
  [ "$(prep-ls --quiet shards/*.tar | wc -l)" -eq 40 ]
  # What one of the tools cannot do, none of those behind it commits.
  mkdir bad && : > bad/a.jpg
  run "$examples/pipeline.sh" bad other
  [ "$status" -ne 0 ]
  [ -z "$(find other -name '*.tar' 2> /dev/null)" ]
}

@test "loaders: WebDataset or tarfile, tf.data or Python, DALI's index, Hugging Face's splits" {
  prep-pack --quiet "$PHOTOS" -o 's/train-%03d.tar' --shards 3 --labels dir --index dali
  prep-pack --quiet "$PHOTOS" -o 'r/t.tfrecord-%05d-of-%05d' --shards 3 --labels dir
  prep-pack --quiet "$PHOTOS" -o 'h/{split}-%03d.tar' --shards 2 --split train=0.8,validation=0.2
  run /usr/bin/python3 "$examples/pytorch/train.py" s
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"40 samples"* ]]
  run /usr/bin/python3 "$examples/tfdata/read.py" r
  [[ "$output" == *"40 samples in 3 files"* ]]
  run /usr/bin/python3 "$examples/dali/pipeline.py" s
  [[ "$output" == *"3 shards and indexes, 40 samples"* ]]
  run /usr/bin/python3 "$examples/huggingface/load.py" h
  [[ "$output" == *"train: 2 shards"*"validation: 2 shards"* ]]
}

@test "spark: what RDD.pipe would start, started" {
  for i in 0 1 2; do
    /usr/bin/python3 - "$examples/spark" "$PHOTOS" "out put" > command <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
import resize
print(resize.command(sys.argv[2], sys.argv[3], 3))
PY
    echo $i | bash command
  done
  [ "$(digest "out put" | wc -l)" -eq 40 ]
  prep-resize --quiet "$PHOTOS" -o whole
  diff <(digest whole) <(digest "out put")
}

@test "kubernetes: the commands that the jobs name, run" {
  /usr/bin/python3 - "$examples/kubernetes/prepare.yaml" > commands <<'PY'
import sys, yaml
for job in yaml.safe_load_all(open(sys.argv[1])):
    spec = job["spec"]
    assert spec["template"]["spec"]["restartPolicy"] == "OnFailure"
    print(spec.get("completions", 1), spec["template"]["spec"]["containers"][0]["args"][0], sep="\t")
PY
  cp -r "$PHOTOS" raw
  while IFS=$'\t' read -r completions line; do
    for ((i = 0; i < completions; ++i)); do
      JOB_COMPLETION_INDEX=$i bash -ec "$(sed "s#/data#$PWD#g; s#--shards 256#--shards 32#" <<< "$line")"
    done
  done < commands
  prep-verify --quiet --decode shards
  [ "$(prep-ls --quiet shards/*.tar | wc -l)" -eq 40 ]
}
