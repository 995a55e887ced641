#!/usr/bin/env python3
"""Reads shards that prep-pack made, as a training loop would: train.py SHARDS_DIR [--epochs N]

With PyTorch and WebDataset it is their pipeline; where they are not installed, the same samples come
from Python's own tarfile, so that the shards can be looked at on any machine.
"""
import argparse
import io
import json
import pathlib
import tarfile

try:
    import torch
    import webdataset as wds
except ImportError:
    wds = None


def shard_paths(directory):
    """The shards, in the manifest's order: what is not in it is no part of the set."""
    directory = pathlib.Path(directory)
    manifest = json.loads((directory / "manifest.json").read_text())
    return [str(directory / shard["name"]) for shard in manifest["shards"]], manifest


def samples_by_tarfile(paths):
    """(key, {part: bytes}): members that follow each other and share a key are one sample."""
    for path in paths:
        with tarfile.open(path) as shard:
            key, parts = None, {}
            for member in shard:
                directory, _, base = member.name.rpartition("/")
                stem, _, part = base.partition(".")
                name = f"{directory}/{stem}" if directory else stem
                if name != key and parts:
                    yield key, parts
                    parts = {}
                key = name
                parts[part] = shard.extractfile(member).read()
            if parts:
                yield key, parts


def decode(image):
    """A picture as an array [height, width, 3], where Pillow and NumPy are there."""
    import numpy
    from PIL import Image

    return numpy.asarray(Image.open(io.BytesIO(image)).convert("RGB"))


def loader_by_webdataset(paths, manifest, batch):
    """Shards are shuffled anew each epoch, and samples within a buffer; they were shuffled once over
    the whole set when they were packed, which is what makes a small buffer enough."""
    transform = torch.nn.Identity()  # random crop, flip, normalise
    dataset = (
        wds.WebDataset(paths, shardshuffle=len(paths), nodesplitter=wds.split_by_node)
        .shuffle(1000)
        .decode("torchrgb")
        .to_tuple("jpg", "cls")
        .map_tuple(transform, int)
        .batched(batch, collation_fn=list)
    )
    # Every rank makes the same number of steps.
    return wds.WebLoader(dataset, batch_size=None, num_workers=4).with_length(
        manifest["totals"]["samples"] // batch
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shards")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    paths, manifest = shard_paths(options.shards)
    for epoch in range(options.epochs):
        seen, pixels, labels = 0, 0, set()
        if wds:
            for batch in loader_by_webdataset(paths, manifest, options.batch):
                for image, label in batch:
                    seen, pixels = seen + 1, pixels + image.shape[-1] * image.shape[-2]
                    labels.add(label)
        else:
            for _, parts in samples_by_tarfile(paths):
                image = decode(parts["jpg"])
                seen, pixels = seen + 1, pixels + image.shape[0] * image.shape[1]
                labels.add(int(parts["cls"]))
        print(f"epoch {epoch}: {seen} samples, {pixels / 1e6:.1f} million pixels, "
              f"{len(labels)} classes, by {'webdataset' if wds else 'tarfile'}")
        if seen != manifest["totals"]["samples"] and not wds:
            raise SystemExit(f"the manifest promises {manifest['totals']['samples']} samples")


if __name__ == "__main__":
    main()
