#!/usr/bin/env python3
"""Hugging Face datasets on shards that prep-pack made: load.py SHARDS_DIR

The same folder can go to the Hub as it is: shards of about 1 GB, split by name
(prep-pack -o 'data/{split}-%06d.tar' --split train=0.9,validation=0.1).
"""
import json
import pathlib
import sys


def data_files(directory):
    """{split: [paths]}; without splits, all is "train"."""
    directory = pathlib.Path(directory)
    manifest = json.loads((directory / "manifest.json").read_text())
    files = {}
    for shard in manifest["shards"]:
        files.setdefault(shard.get("split") or "train", []).append(str(directory / shard["name"]))
    return files


def main():
    files = data_files(sys.argv[1])
    for split, paths in files.items():
        print(f"{split}: {len(paths)} shards")
    try:
        from datasets import load_dataset
    except ImportError:
        print("datasets is not installed; load_dataset('webdataset', data_files=...) takes these")
        return
    dataset = load_dataset("webdataset", data_files=files, streaming=True)
    for split in dataset:
        sample = next(iter(dataset[split]))
        print(split, {name: type(value).__name__ for name, value in sample.items()})


if __name__ == "__main__":
    main()
