"""Picks and derives the benchmarks' photographs from what Debian packages have installed.

Makes three folders:

  real-small        the JPEGs of opencv-doc with 0.1 to 0.5 megapixels, as they are: photographs and
                    screen shots, mostly 4:2:0 of middling quality
  derived-500x375   crops of the larger photographs of both packages, at the size, quality and
                    subsampling of ImageNet's files: 500x375 or 375x500, quality 96, three of four
                    4:4:4. Derived, because no package has a thousand photographs of that kind
  large             the JPEGs of plasma-workspace-wallpapers with 4 to 15 megapixels, as they are
"""
import argparse
import collections
import gzip
import hashlib
import io
import itertools
import os
import shutil
import subprocess
import sys

from PIL import Image

PACKAGES = ("opencv-doc", "plasma-workspace-wallpapers")
SMALL_MEGAPIXELS = (0.1, 0.5)
LARGE_MEGAPIXELS = (4, 15)
DERIVED_COUNT = 1000
DERIVED_SIZE = (500, 375)
DERIVED_QUALITY = 96
DERIVED_SUBSAMPLINGS = ("4:4:4", "4:4:4", "4:2:0", "4:4:4")
# Smaller than this are skies and walls. ImageNet's mean is 110 kB.
DERIVED_BYTES = (50_000, 250_000)
# Source pixels to one derived pixel; every third scale makes tall pictures.
DERIVED_SCALES = (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.2, 4.0, 5.0)

Photo = collections.namedtuple("Photo", "package path data megapixels")


def files_of(package):
    listing = subprocess.run(["dpkg", "-L", package], check=True, capture_output=True, text=True)
    return sorted(path for path in listing.stdout.splitlines()
                  if path.lower().endswith((".jpg", ".jpeg", ".jpg.gz", ".jpeg.gz")))


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return file.read()


def photos_of(package):
    """Each distinct JPEG once: the wallpapers are linked under many names."""
    seen = set()
    for path in files_of(package):
        if not os.path.isfile(path):
            continue
        data = read(path)
        digest = hashlib.sha1(data).digest()
        if digest in seen:
            continue
        seen.add(digest)
        with Image.open(io.BytesIO(data)) as image:
            if image.format == "JPEG":
                yield Photo(package, path, data, image.width * image.height / 1e6)


def within(photo, limits):
    return limits[0] <= photo.megapixels <= limits[1]


def write_all(folder, photos):
    os.makedirs(folder)
    for index, photo in enumerate(photos):
        name = os.path.basename(photo.path.removesuffix(".gz"))
        with open(os.path.join(folder, "%04d-%s" % (index, name)), "wb") as file:
            file.write(photo.data)


def crop_boxes(image):
    """(box, size) of the boxes that lie side by side in the image, for each scale that fits."""
    for index, scale in enumerate(DERIVED_SCALES):
        size = DERIVED_SIZE[::-1] if index % 3 == 2 else DERIVED_SIZE
        width, height = (int(side * scale) for side in size)
        for top in range(0, image.height - height + 1, height):
            for left in range(0, image.width - width + 1, width):
                yield (left, top, left + width, top + height), size


def derive(image, box, size, subsampling):
    small = image.resize(size, Image.LANCZOS, box=box)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=DERIVED_QUALITY, subsampling=subsampling)
    return buffer.getvalue()


def derived_from(photo):
    """The usable crops of one photograph, lazily."""
    with Image.open(io.BytesIO(photo.data)) as image:
        image = image.convert("RGB")
    subsamplings = itertools.cycle(DERIVED_SUBSAMPLINGS)
    subsampling = next(subsamplings)
    for box, size in crop_boxes(image):
        data = derive(image, box, size, subsampling)
        if DERIVED_BYTES[0] <= len(data) <= DERIVED_BYTES[1]:
            yield data
            subsampling = next(subsamplings)


def round_robin(iterators):
    """One of each in turn, so that no photograph has more than its share."""
    queue = collections.deque(iterators)
    while queue:
        iterator = queue.popleft()
        for item in itertools.islice(iterator, 1):
            yield item
            queue.append(iterator)


def write_derived(folder, photos):
    os.makedirs(folder)
    pictures = round_robin([derived_from(photo) for photo in photos])
    for index, data in enumerate(itertools.islice(pictures, DERIVED_COUNT)):
        with open(os.path.join(folder, "%04d.jpg" % index), "wb") as file:
            file.write(data)


def subsampling_of(image):
    if len(image.layer) == 1:
        return "grey"
    factors = [layer[1:3] for layer in image.layer]
    names = {(1, 1): "4:4:4", (2, 1): "4:2:2", (2, 2): "4:2:0", (1, 2): "4:4:0"}
    return names.get(factors[0], "other") if factors[1] == (1, 1) else "other"


def estimated_quality(image):
    """From the mean of the luma table, which libjpeg scales linearly in both ranges."""
    standard_mean = 57.625
    scale = 100 * sum(image.quantization[0]) / 64 / standard_mean
    return 100 - scale / 2 if scale <= 100 else 5000 / scale


def describe(folder):
    sizes, megapixels, qualities = [], [], []
    samplings = collections.Counter()
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        with Image.open(path) as image:
            sizes.append(os.path.getsize(path))
            megapixels.append(image.width * image.height / 1e6)
            samplings[subsampling_of(image)] += 1
            if image.quantization:
                qualities.append(estimated_quality(image))
    count = len(sizes)
    kinds = ", ".join("%d %s" % (number, kind) for kind, number in samplings.most_common())
    print("%s: %d files, mean %.0f kB, %.2f megapixels, quality about %.0f; %s" % (
        folder, count, sum(sizes) / count / 1e3, sum(megapixels) / count,
        sum(qualities) / max(len(qualities), 1), kinds))


def fill(root):
    opencv, wallpapers = (list(photos_of(package)) for package in PACKAGES)
    write_all(os.path.join(root, "real-small"),
              [photo for photo in opencv if within(photo, SMALL_MEGAPIXELS)])
    write_all(os.path.join(root, "large"),
              [photo for photo in wallpapers if within(photo, LARGE_MEGAPIXELS)])
    sources = [photo for photo in opencv + wallpapers if photo.megapixels > SMALL_MEGAPIXELS[1]]
    write_derived(os.path.join(root, "derived-%dx%d" % DERIVED_SIZE), sources)


def main():
    parser = argparse.ArgumentParser(description="Fills DIR with photographs for the benchmarks.")
    parser.add_argument("dir", metavar="DIR")
    root = parser.parse_args().dir
    if not os.path.isdir(root):
        # Under another name until complete, so that an interrupted run is not taken for a corpus.
        partial = root.rstrip("/") + ".partial"
        shutil.rmtree(partial, ignore_errors=True)
        fill(partial)
        os.rename(partial, root)
    for name in sorted(os.listdir(root)):
        describe(os.path.join(root, name))


if __name__ == "__main__":
    sys.exit(main())
