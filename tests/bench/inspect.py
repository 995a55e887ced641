"""Whether prep-inspect's projection from a sample is what the full run then gives.

Runs prep-inspect on a sample, then prep-resize and prep-recompress on everything, and compares: the
bytes of the outputs, and the CPU time to decode them as prep-bench measures it. Wants a folder of
photographs (corpus.sh makes one).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import harness

MOST_ERROR = 0.05


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def bytes_below(folder):
    return sum(path.stat().st_size for path in folder.rglob("*.jpg"))


def decode_seconds(bench, folder, count, scratch):
    """CPU seconds for decoding all pictures once, libjpeg-turbo to RGB: the run least disturbed."""
    report = scratch / "decode.json"
    run(bench, "decode", folder, "--decoders", "rgb", "--from", "memory", "--samples", str(count),
        "--runs", "5", "--json", report)
    results = json.loads(report.read_text())["results"]
    return sum(min(result["cpu_seconds"]) for result in results)


def full_runs(build, inputs, scratch):
    """Bytes and decoding times of what the tools really make, by variant."""
    resize, recompress = harness.tool(build, "prep-resize"), harness.tool(build, "prep-recompress")
    bench = harness.tool(build, "prep-bench")
    count = sum(1 for _ in inputs.rglob("*.jpg"))
    resized = scratch / "resized"
    run(resize, inputs, "-o", resized)
    folders = {"as_is": inputs, "resized": resized}
    for quality in (90, 80, 70):
        folders[f"quality_{quality}"] = scratch / f"q{quality}"
        run(recompress, inputs, "-o", scratch / f"q{quality}", "-q", str(quality))
    for quality in (80, 70):
        folders[f"resized_quality_{quality}"] = scratch / f"both{quality}"
        run(recompress, resized, "-o", scratch / f"both{quality}", "-q", str(quality))
    return {name: (bytes_below(folder), decode_seconds(bench, folder, count, scratch))
            for name, folder in folders.items()}


def compare(name, what, interval, truth):
    error = interval["value"] / truth - 1
    inside = interval["low"] <= truth <= interval["high"]
    print(f"{name:20} {what:14} projected {interval['value']:14.6g} "
          f"[{interval['low']:.6g}, {interval['high']:.6g}]  full run {truth:14.6g}  "
          f"{error * 100:+5.1f} %  {'inside' if inside else 'OUTSIDE'}")
    return abs(error) <= MOST_ERROR, inside


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", type=pathlib.Path)
    parser.add_argument("--build", default="build", help="build directory")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    good = inside = checks = 0
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        report = scratch / "inspect.json"
        run(harness.tool(arguments.build, "prep-inspect"), arguments.inputs,
            "--samples", str(arguments.samples), "--seed", str(arguments.seed), "-j", "1",
            "--json", report)
        variants = {one["variant"]: one for one in json.loads(report.read_text())["variants"]}
        truths = full_runs(arguments.build, arguments.inputs, scratch)
        for name, (size, seconds) in truths.items():
            ratio = seconds / truths["as_is"][1]
            for what, truth in (("bytes", size), ("decode_cpu_seconds", seconds),
                                ("decode_ratio", ratio)):
                is_good, is_inside = compare(name, what, variants[name][what], truth)
                checks += 1
                good += is_good
                inside += is_inside
    print(f"within {MOST_ERROR:.0%}: {good} of {checks}; inside of the interval: {inside}")
    sys.exit(good < checks)


if __name__ == "__main__":
    main()
