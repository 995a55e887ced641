"""Compares prep-recompress with decoding and encoding, in PSNR at equal size.

Both start from the same JPEG, and both outputs are compared with that JPEG, decoded by Pillow.
Decoding and encoding is Pillow's (libjpeg-turbo, optimised Huffman tables, same subsampling). Ours
is made at qualities around the target's, and its PSNR interpolated over the logarithm of the size
to the size that decoding and encoding has at the target.

Where a source was a JPEG before, on the same 8x8 grid, PSNR peaks at its former quality, and
interpolation is far off. The means are given over all files, and over those whose PSNR rises
steadily with the size.
"""
import collections
import functools
import io
import multiprocessing
import os

import harness
import metrics
import numpy as np
from corpus import estimated_quality, subsampling_of
from PIL import Image

# What is measured of ours, with and without the rate-distortion choice.
VARIANTS = {
    "420": ["--subsampling", "420"],
    "420, no trellis": ["--subsampling", "420", "--no-trellis"],
    "keep": ["--subsampling", "keep"],
    "keep, no trellis": ["--subsampling", "keep", "--no-trellis"],
}
# Ours are smaller than the encoder's at the same quality, so more of them above.
OFFSETS = (-3, 0, 3, 6, 9)
METRICS = ("psnr_luma", "psnr_rgb")
# Nearer to the source's quality than this, there is little to do and little to compare.
MARGIN = 3


def our_qualities(targets):
    return sorted({min(max(target + offset, 1), 100) for target in targets for offset in OFFSETS})


def run_ours(build, source, scratch, qualities):
    """{(variant, quality): folder}"""
    path, folders = harness.tool(build, "prep-recompress"), {}
    for variant, options in VARIANTS.items():
        for quality in qualities:
            harness.show_progress("prep-recompress %s -q %d" % (variant, quality))
            command = [path, "{input}", "-o", "{output}", "-q", str(quality), *options,
                       "--min-gain", "0"]
            folder = os.path.join(scratch, "%s-%d" % (variant, quality))
            os.makedirs(folder)
            harness.run_program(harness.Program("prep-recompress", "", command, harness.cores()),
                                source, folder)
            folders[variant, quality] = folder
    return folders


def read(path):
    with open(path, "rb") as file:
        return file.read()


def decode(data):
    """(pixels in RGB, subsampling)"""
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB")), subsampling_of(image)


def measure(data, reference):
    return {"bytes": len(data), **metrics.compare_psnr(decode(data)[0], reference)}


def encode(data, quality, subsampling):
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(data)) as image:
        options = {} if subsampling == "grey" else {"subsampling": subsampling}
        # Ours keeps the profile, and sizes are compared.
        image.save(buffer, "JPEG", quality=quality, optimize=True,
                   icc_profile=image.info.get("icc_profile"), **options)
    return buffer.getvalue()


def interpolate(points, size, metric):
    """The metric at that size, or None outside of the sizes measured."""
    points = sorted(points, key=lambda point: point["bytes"])
    if not points or not points[0]["bytes"] <= size <= points[-1]["bytes"]:
        return None
    return float(np.interp(np.log(size), np.log([point["bytes"] for point in points]),
                           [point[metric] for point in points]))


def rises(points):
    """Whether a larger file is always a better one."""
    values = [point["psnr_luma"] for point in sorted(points, key=lambda point: point["bytes"])]
    return values == sorted(values)


def our_points(name, source, reference, folders, variant):
    """(points by quality, the output's subsampling); none where the source was copied."""
    points, written = {}, None
    for (kind, quality), folder in folders.items():
        if kind != variant:
            continue
        data = read(os.path.join(folder, name))
        if data != source:
            pixels, written = decode(data)
            points[quality] = {"bytes": len(data), **metrics.compare_psnr(pixels, reference)}
    return points, written


def compare_at(target, points, theirs):
    """The row of one file at one target, or why there is none."""
    at_size = {metric: interpolate(points.values(), theirs["bytes"], metric)
               for metric in METRICS}
    if target not in points:
        return "copied at the target"
    if None in at_size.values():
        return "equal size out of reach"
    return {"ours": points[target], "theirs": theirs, "ours_at_equal_size": at_size,
            "rises": rises(points.values())}


def measure_file(name, corpus, folders, targets):
    """[(variant, target, row or why there is none)]"""
    source = read(os.path.join(corpus.folder, name))
    with Image.open(io.BytesIO(source)) as image:
        quality = estimated_quality(image)
    reference, _ = decode(source)
    results = []
    for variant in VARIANTS:
        points, written = our_points(name, source, reference, folders, variant)
        for target in targets:
            if quality <= target + MARGIN:
                row = "quality at most %d above" % MARGIN
            elif written is None:
                row = "copied at the target"
            elif written not in ("4:4:4", "4:2:2", "4:2:0", "grey"):
                row = "subsampling that Pillow can't write"
            else:
                row = compare_at(target, points,
                                 measure(encode(source, target, written), reference))
            results.append((variant, target, row))
    return {"file": corpus.names[name], "source_quality": quality, "results": results}


def measure_all(corpus, folders, targets):
    work = functools.partial(measure_file, corpus=corpus, folders=folders, targets=targets)
    files = []
    with multiprocessing.Pool(len(harness.cores())) as pool:
        for result in pool.imap(work, sorted(corpus.names)):
            files.append(result)
            harness.show_progress("%d of %d" % (len(files), len(corpus.names)))
    harness.show_progress("")
    return files


def summarize_rows(rows):
    """`rows` are pairs of a file's name and its row."""
    sizes = [row["ours"]["bytes"] / row["theirs"]["bytes"] for _, row in rows]
    rising = np.array([row["rises"] for _, row in rows])
    summary = {"files": len(rows), "size_at_same_quality": float(np.mean(sizes)),
               "rising": int(rising.sum())}
    for metric in METRICS:
        at_equal_size = np.array([row["ours_at_equal_size"][metric] - row["theirs"][metric]
                                  for _, row in rows])
        at_same_quality = [row["ours"][metric] - row["theirs"][metric] for _, row in rows]
        worst = int(at_equal_size.argmin())
        summary[metric] = {
            "theirs": float(np.mean([row["theirs"][metric] for _, row in rows])),
            "difference_at_same_quality": float(np.mean(at_same_quality)),
            "difference_at_equal_size": float(at_equal_size.mean()),
            "median_difference": float(np.median(at_equal_size)),
            "difference_rising": float(at_equal_size[rising].mean()) if rising.any() else None,
            "not_worse": float((at_equal_size >= 0).mean()),
            "worst_difference": float(at_equal_size[worst]), "worst_file": rows[worst][0],
        }
    return summary


def summarize(files, targets):
    summary = []
    for variant in VARIANTS:
        for target in targets:
            found = [(file["file"], row) for file in files for kind, at, row in file["results"]
                     if (kind, at) == (variant, target)]
            rows = [(name, row) for name, row in found if isinstance(row, dict)]
            left_out = collections.Counter(row for _, row in found if isinstance(row, str))
            summary.append({"variant": variant, "quality": target,
                            "left_out": dict(left_out),
                            **(summarize_rows(rows) if rows else {"files": 0})})
    return summary


def table_row(row):
    cells = [row["variant"], str(row["quality"]), str(row["files"])]
    if row["files"] == 0:
        return cells + ["-"] * 9
    luma, rgb = row["psnr_luma"], row["psnr_rgb"]
    cells += ["%.3f" % row["size_at_same_quality"],
              "%+.2f" % luma["difference_at_same_quality"],
              "%+.2f" % rgb["difference_at_same_quality"],
              "%+.2f" % luma["difference_at_equal_size"],
              "%+.2f" % rgb["difference_at_equal_size"],
              "%.0f %%" % (100 * luma["not_worse"]), str(row["rising"])]
    if row["rising"] == 0:
        return cells + ["-"] * 2
    return cells + ["%+.2f" % luma["difference_rising"], "%+.2f" % rgb["difference_rising"]]


def print_report(corpus, summary):
    print(corpus.describe() + "; PSNR in dB, ours less that of decoding and encoding\n")
    print(harness.markdown_table(
        ("ours", "quality", "files", "size, same quality", "luma, same quality",
         "RGB, same quality", "luma, equal size", "RGB, equal size", "luma not worse",
         "steadily rising", "luma of those", "RGB of those"),
        [table_row(row) for row in summary]))
    print()
    for row in summary:
        for reason, count in sorted(row["left_out"].items()):
            print("left out, %s at %d: %d %s" % (row["variant"], row["quality"], count,
                                                 reason))


def parse_arguments():
    parser = harness.corpus_arguments("recompress-quality", __doc__, limit=300)
    parser.add_argument("--qualities", default="70,80,85", metavar="N,...",
                        help="the targets (default: %(default)s)",
                        type=lambda text: [int(word) for word in text.split(",")])
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    targets = arguments.qualities
    with harness.scratch_folder() as scratch:
        corpus = harness.stage(arguments.corpus, os.path.join(scratch, "in"), arguments.limit)
        folders = run_ours(arguments.build, corpus.folder, scratch, our_qualities(targets))
        files = measure_all(corpus, folders, targets)
    summary = summarize(files, targets)
    print_report(corpus, summary)
    if arguments.json:
        harness.write_json(arguments.json, {
            "corpus": corpus.as_json(), "summary": summary, "files": files})


if __name__ == "__main__":
    main()
