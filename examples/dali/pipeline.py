#!/usr/bin/env python3
"""NVIDIA DALI on shards that were packed with --index dali: pipeline.py SHARDS_DIR

The index files beside the shards (train-000000.idx) spare DALI from reading every shard once before
the first batch.
"""
import json
import pathlib
import sys


def shard_paths(directory):
    directory = pathlib.Path(directory)
    manifest = json.loads((directory / "manifest.json").read_text())
    paths = [directory / shard["name"] for shard in manifest["shards"]]
    indexes = [path.with_suffix(".idx") for path in paths]
    missing = [str(index) for index in indexes if not index.exists()]
    if missing:
        raise SystemExit(f"{missing[0]} is missing: pack with --index dali")
    return [str(path) for path in paths], [str(index) for index in indexes], manifest


def make_pipeline(paths, indexes, batch=256):
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=batch, num_threads=4, device_id=0)
    def photos():
        jpegs, labels = fn.readers.webdataset(
            paths=paths,
            index_paths=indexes,
            ext=["jpg", "cls"],
            random_shuffle=True,
            pad_last_batch=True,
            name="Reader",
        )
        # Photos whose short side is 256 decode in a fraction of the time.
        images = fn.decoders.image_random_crop(jpegs, device="mixed")
        images = fn.resize(images, size=[224, 224])
        images = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            mean=[123.675, 116.28, 103.53],
            std=[58.395, 57.12, 57.375],
            mirror=fn.random.coin_flip(),
        )
        return images, labels

    return photos()


def main():
    paths, indexes, manifest = shard_paths(sys.argv[1])
    samples = sum(int(pathlib.Path(index).read_text().split("\n", 1)[0].split()[1])
                  for index in indexes)
    print(f"{len(paths)} shards and indexes, {samples} samples")
    if samples != manifest["totals"]["samples"]:
        raise SystemExit(f"the manifest promises {manifest['totals']['samples']} samples")
    try:
        pipeline = make_pipeline(paths, indexes)
    except ImportError:
        print("nvidia.dali is not installed; the indexes are sound")
        return
    pipeline.build()
    images, labels = pipeline.run()
    print(f"a batch: {images.shape()[0]}, {len(labels)} labels")


if __name__ == "__main__":
    main()
