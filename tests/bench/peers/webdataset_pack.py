#!/usr/bin/python3
"""webdataset_pack.py INPUT OUTPUT: shards of a tree, with WebDataset's own writer."""
import os
import sys

import webdataset


def main():
    source, target = sys.argv[1:]
    with webdataset.ShardWriter(os.path.join(target, "%06d.tar"), maxcount=10**9, maxsize=10**9,
                                verbose=0) as writer:
        for folder, folders, names in os.walk(source):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                key, part = os.path.relpath(path, source).split(".", 1)
                with open(path, "rb") as file:
                    writer.write({"__key__": key, part: file.read()})


if __name__ == "__main__":
    main()
