#!/usr/bin/env python3
"""Reads TFRecords that prep-pack made: read.py SHARDS_DIR

With TensorFlow it is a tf.data pipeline; where it is not installed, the records are read by a few
lines of Python, which is all that the format takes.
"""
import json
import pathlib
import struct
import sys

try:
    import tensorflow as tf
except ImportError:
    tf = None


def shard_paths(directory):
    directory = pathlib.Path(directory)
    manifest = json.loads((directory / "manifest.json").read_text())
    return [str(directory / shard["name"]) for shard in manifest["shards"]], manifest


def dataset(paths, batch=256):
    features = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(record):
        sample = tf.io.parse_single_example(record, features)
        image = tf.io.decode_jpeg(sample["image/encoded"], channels=3)
        return tf.image.resize_with_crop_or_pad(image, 224, 224), sample["image/class/label"]

    # Shards in a new order each epoch, several at once; the samples were shuffled when they were
    # packed, over the whole set.
    shards = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths))
    return (
        shards.interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE)
        .shuffle(1000)
        .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(batch)
        .prefetch(tf.data.AUTOTUNE)
    )


def records(path):
    """The records of a file: u64 length, u32 CRC, data, u32 CRC; little endian. prep-verify checks
    the CRCs."""
    with open(path, "rb") as file:
        while head := file.read(12):
            (length,) = struct.unpack("<Q", head[:8])
            data = file.read(length)
            if len(data) != length or len(file.read(4)) != 4:
                raise SystemExit(f"{path}: ends early")
            yield data


def main():
    paths, manifest = shard_paths(sys.argv[1])
    if tf:
        seen = sum(int(labels.shape[0]) for _, labels in dataset(paths))
    else:
        seen = sum(1 for path in paths for _ in records(path))
    print(f"{seen} samples in {len(paths)} files, by {'tf.data' if tf else 'plain Python'}")
    if seen != manifest["totals"]["samples"]:
        raise SystemExit(f"the manifest promises {manifest['totals']['samples']} samples")


if __name__ == "__main__":
    main()
