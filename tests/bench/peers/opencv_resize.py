#!/usr/bin/python3
"""opencv_resize.py INPUT OUTPUT SHORT QUALITY: as img2dataset does it with OpenCV."""
import os
import sys

import cv2


def output_size(width, height, short):
    if width <= height:
        return short, short * height // width
    return short * width // height, short


def resize(source, target, short, quality):
    image = cv2.imread(source)
    size = output_size(image.shape[1], image.shape[0], short)
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    cv2.imwrite(target, small, [cv2.IMWRITE_JPEG_QUALITY, quality])


def main():
    cv2.setNumThreads(1)
    source, target, short, quality = sys.argv[1:]
    for folder, _, names in os.walk(source):
        out = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(out, exist_ok=True)
        for name in names:
            resize(os.path.join(folder, name), os.path.join(out, name), int(short), int(quality))


if __name__ == "__main__":
    main()
