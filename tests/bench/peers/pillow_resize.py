#!/usr/bin/python3
"""pillow_resize.py INPUT OUTPUT SHORT QUALITY [--draft]: as one does it with Pillow."""
import os
import sys

from PIL import Image


def output_size(width, height, short):
    if width <= height:
        return short, short * height // width
    return short * width // height, short


def resize(source, target, short, quality, draft):
    with Image.open(source) as image:
        size = output_size(*image.size, short)
        if draft:
            # Leaves at least a factor of two to the filter.
            image.draft(None, (2 * size[0], 2 * size[1]))
        image.resize(size, Image.BILINEAR).save(target, "JPEG", quality=quality,
                                                subsampling="4:2:0")


def main():
    draft = "--draft" in sys.argv
    source, target, short, quality = (a for a in sys.argv[1:] if a != "--draft")
    for folder, _, names in os.walk(source):
        out = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(out, exist_ok=True)
        for name in names:
            resize(os.path.join(folder, name), os.path.join(out, name), int(short), int(quality),
                   draft)


if __name__ == "__main__":
    main()
