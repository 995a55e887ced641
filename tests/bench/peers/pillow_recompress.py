#!/usr/bin/python3
"""pillow_recompress.py INPUT OUTPUT QUALITY [--keep]: open and save, 4:2:0 or as the source."""
import os
import sys

from PIL import Image, JpegImagePlugin


def recompress(source, target, quality, keep):
    with Image.open(source) as image:
        # -1 stands for libjpeg's choice, which is 4:2:0.
        subsampling = JpegImagePlugin.get_sampling(image) if keep else -1
        image.save(target, "JPEG", quality=quality, subsampling=subsampling)


def main():
    keep = "--keep" in sys.argv
    source, target, quality = (a for a in sys.argv[1:] if a != "--keep")
    for folder, _, names in os.walk(source):
        out = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(out, exist_ok=True)
        for name in names:
            recompress(os.path.join(folder, name), os.path.join(out, name), int(quality), keep)


if __name__ == "__main__":
    main()
