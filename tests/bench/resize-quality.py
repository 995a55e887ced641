"""Measures how near prep-resize and Pillow come to a float64 reference, at short side 256.

The reference is the full decode, resampled in float64 with the antialiased triangle filter. Both
programs write quality 90 and 4:2:0, and both outputs are decoded by Pillow.
"""
import os
import sys

import harness
import metrics
import numpy as np
from PIL import Image

SHORT = 256
QUALITY = 90
METRICS = ("psnr_luma", "psnr_rgb", "ssim_luma", "ssim_rgb")


def programs(build):
    ours = [harness.tool(build, "prep-resize"), "{input}", "-o", "{output}", "--short",
            str(SHORT), "-q", str(QUALITY), "--icc", "ignore"]
    pillow = [sys.executable, os.path.join(harness.PEERS, "pillow_resize.py"), "{input}",
              "{output}", str(SHORT), str(QUALITY)]
    cores = harness.cores()
    return {"ours": harness.Program("prep-resize", "", ours, cores),
            "pillow": harness.Program("Pillow", "", pillow, cores[:1])}


def load(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def measure_file(name, corpus, outputs):
    pictures = {who: load(os.path.join(folder, name)) for who, folder in outputs.items()}
    sizes = {picture.shape for picture in pictures.values()}
    if len(sizes) != 1:
        harness.fail("%s: the sizes differ: %s" % (corpus.names[name], sizes))
    height, width, _ = sizes.pop()
    reference = metrics.resample(load(os.path.join(corpus.folder, name)), width, height)
    result = {who: metrics.compare(picture, reference) for who, picture in pictures.items()}
    return {"file": corpus.names[name], **result}


def measure(corpus, outputs):
    results = []
    for name in sorted(corpus.names):
        harness.show_progress("%d of %d" % (len(results) + 1, len(corpus.names)))
        results.append(measure_file(name, corpus, outputs))
    harness.show_progress("")
    return results


def summarize(results):
    """For each metric: the means, and the file where ours falls furthest behind."""
    summary = {}
    for metric in METRICS:
        ours = np.array([result["ours"][metric] for result in results])
        pillow = np.array([result["pillow"][metric] for result in results])
        # Both perfect is no difference.
        difference = np.where(ours == pillow, 0.0, ours - pillow)
        worst = int(difference.argmin())
        summary[metric] = {
            "ours": float(ours.mean()), "pillow": float(pillow.mean()),
            "mean_difference": float(difference.mean()),
            "worst_difference": float(difference[worst]), "worst_file": results[worst]["file"],
        }
    return summary


def print_report(corpus, summary):
    print(corpus.describe() + "\n")
    rows = []
    for metric, row in summary.items():
        digits = "%.2f" if metric.startswith("psnr") else "%.4f"
        signed = digits.replace("%", "%+")
        rows.append((metric.replace("_", ", ").replace("psnr", "PSNR, dB").replace("ssim", "SSIM"),
                     digits % row["ours"], digits % row["pillow"], signed % row["mean_difference"],
                     signed % row["worst_difference"], row["worst_file"]))
    print(harness.markdown_table(
        ("mean", "prep-resize", "Pillow", "difference", "worst difference", "of"), rows))


def main():
    arguments = harness.corpus_arguments("resize-quality", __doc__, limit=300).parse_args()
    with harness.scratch_folder() as scratch:
        corpus = harness.stage(arguments.corpus, os.path.join(scratch, "in"), arguments.limit,
                               SHORT)
        outputs = {}
        for who, program in programs(arguments.build).items():
            outputs[who] = os.path.join(scratch, who)
            os.makedirs(outputs[who])
            harness.run_program(program, corpus.folder, outputs[who])
        results = measure(corpus, outputs)
    summary = summarize(results)
    print_report(corpus, summary)
    if arguments.json:
        harness.write_json(arguments.json, {
            "corpus": corpus.as_json(), "summary": summary, "files": results})


if __name__ == "__main__":
    main()
