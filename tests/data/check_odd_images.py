#!/usr/bin/python3
"""Compares what prep-resize made of the tree of make_odd_images with that program's manifest.

    make_odd_images ODD > MANIFEST
    prep-resize ODD -o OUT --nearest mask.png --max-errors 100% --errors ERRORS
    check_odd_images.py MANIFEST ODD OUT ERRORS

With --log, the standard error of prep-resize, every file that the manifest says warns has to be
named there. Prints a line for everything that is wrong and ends with 1 if there was any.
"""
import argparse
import codecs
import json
import os
import struct
import sys

import numpy as np
from PIL import Image

ORIENTATION_TAG = 0x0112
# JPEG at quality 90 twice, on flat quarters.
COLOUR_TOLERANCE = 6


def parse_line(line):
    path, verdict, size, corners, warns = line.rstrip("\n").split("\t")
    return {
        "path": codecs.escape_decode(path)[0],
        "verdict": verdict,
        "size": None if size == "-" else tuple(map(int, size.split("x"))),
        "corners": None if corners == "-" else [bytes.fromhex(c) for c in corners.split()],
        "warns": warns == "warns",
    }


def read_manifest(path):
    with open(path, encoding="ascii") as manifest:
        return [parse_line(line) for line in manifest]


def split_key(path):
    """The sample's key and the part's name: what is before and after the base name's first dot."""
    folder, base = os.path.split(path)
    stem, _, part = base.partition(b".")
    return os.path.join(folder, stem), part


def outputs_of(entry, outputs):
    """The output files that can have come from this one."""
    key, part = split_key(entry["path"])
    parts = [b"jpg", b"jpeg"] if entry["verdict"] == "ok" else [part]
    return [path for path in outputs
            if split_key(path)[0] == key and split_key(path)[1].lower() in parts]


def quarter_means(image):
    """The mean colour of the middle of each quarter."""
    pixels = np.asarray(image.convert("RGB"), dtype=np.float64)
    height, width = pixels.shape[:2]
    means = []
    for top in (height // 8, height * 5 // 8):
        for left in (width // 8, width * 5 // 8):
            middle = pixels[top:top + max(height // 4, 1), left:left + max(width // 4, 1)]
            means.append(middle.mean(axis=(0, 1)))
    return means


def wrong_corners(image, corners):
    for mean, wanted in zip(quarter_means(image), corners):
        if np.abs(mean - np.array(list(wanted))).max() > COLOUR_TOLERANCE:
            found = " ".join("%02x%02x%02x" % tuple(np.rint(m).astype(int))
                             for m in quarter_means(image))
            return "colours " + found + ", not " + " ".join(c.hex() for c in corners)
    return None


def check_ok(entry, source, target):
    with Image.open(target) as image:
        image.load()
        if image.format != "JPEG":
            return "is " + image.format
        if image.size != entry["size"]:
            return "is %dx%d, not %dx%d" % (image.size + entry["size"])
        if image.getexif().get(ORIENTATION_TAG, 1) != 1:
            return "still has its orientation"
        return entry["corners"] and wrong_corners(image, entry["corners"])


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def check_passed(entry, source, target):
    return None if read_bytes(source) == read_bytes(target) else "its bytes changed"


def png_chunk(data, wanted):
    at = 8
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == wanted:
            return data[at + 8:at + 8 + length]
        at += length + 12
    return None


def samples(path):
    with Image.open(path) as image:
        return set(np.unique(np.asarray(image)).tolist())


def check_mask(entry, source, target):
    before, after = read_bytes(source), read_bytes(target)
    if not after.startswith(b"\x89PNG"):
        return "is no PNG"
    header = png_chunk(after, b"IHDR")
    if struct.unpack(">II", header[:8]) != entry["size"]:
        return "is %dx%d" % struct.unpack(">II", header[:8])
    if header[8:10] != png_chunk(before, b"IHDR")[8:10]:
        return "changed its depth or colour type"
    if png_chunk(before, b"PLTE") != png_chunk(after, b"PLTE"):
        return "changed its palette"
    return None if samples(target) == samples(source) else "changed its values"


CHECKS = {"ok": check_ok, "passed": check_passed, "mask": check_mask}


def check_produced(entry, arguments, outputs):
    found = outputs_of(entry, outputs)
    if len(found) != 1:
        return "has %d outputs" % len(found), found
    source = os.path.join(os.fsencode(arguments.source), entry["path"])
    target = os.path.join(os.fsencode(arguments.output), found[0])
    return CHECKS[entry["verdict"]](entry, source, target), found


def check_absent(entry, outputs, codes):
    """For left-out and failed:CODE."""
    key = split_key(entry["path"])[0]
    found = [path for path in outputs if split_key(path)[0] == key]
    if found:
        return "left an output"
    _, _, wanted = entry["verdict"].partition(":")
    code = codes.get(os.fsdecode(key), "")
    return None if code == wanted else "error '%s', not '%s'" % (code, wanted)


def list_files(root):
    root = os.fsencode(root)
    return [os.path.relpath(os.path.join(folder, name), root)
            for folder, _, names in os.walk(root) for name in names]


def read_codes(path):
    with open(path, encoding="utf-8") as errors:
        return {error["key"]: error["code"] for error in map(json.loads, errors)}


def check_warnings(entries, log):
    text = read_bytes(log)
    for entry in entries:
        if entry["warns"] and entry["path"] not in text:
            yield entry["path"], "is not named in %s" % log


def check_all(arguments):
    """(path, what is wrong) of everything that is."""
    entries = read_manifest(arguments.manifest)
    if arguments.log:
        yield from check_warnings(entries, arguments.log)
    outputs = [path for path in list_files(arguments.output)
               if not os.path.basename(path).startswith(b".")]
    codes = read_codes(arguments.errors)
    unclaimed = set(outputs)
    for entry in entries:
        if entry["verdict"] in CHECKS:
            try:
                problem, found = check_produced(entry, arguments, outputs)
            except (OSError, SyntaxError) as error:
                problem, found = str(error), []
            unclaimed.difference_update(found)
        else:
            problem = check_absent(entry, outputs, codes)
        if problem:
            yield entry["path"], problem
    failing = {os.fsdecode(split_key(entry["path"])[0]) for entry in entries
               if entry["verdict"].startswith("failed")}
    for key in sorted(set(codes) - failing):
        yield os.fsencode(key), "failed with '%s'" % codes[key]
    for path in sorted(unclaimed):
        yield path, "is an output of nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("manifest")
    parser.add_argument("source", help="the tree that make_odd_images wrote")
    parser.add_argument("output", help="what prep-resize made of it")
    parser.add_argument("errors", help="the JSON lines of prep-resize --errors")
    parser.add_argument("--log", help="the standard error of prep-resize")
    problems = list(check_all(parser.parse_args()))
    for path, problem in problems:
        print("%r: %s" % (path, problem))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
