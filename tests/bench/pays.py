"""What preparing a data set pays: its bytes, what a loader delivers before and after, and after how many
epochs the time spent has come back.

    pays.py PHOTOS           resized, packed; and resized, recompressed to 80, packed
    pays.py --eeg RECORDINGS spectrograms made once; CPU time, as a loader would need it each epoch

Whole-set figures: an epoch is what `prep-bench feed` delivers, with a worker a core, all samples once.
"""
import argparse
import collections
import json
import os
import shlex
import subprocess
import time

import harness

Step = collections.namedtuple("Step", "name bytes rate epoch prepared")


def bytes_below(folder):
    return sum(os.path.getsize(path) for path in harness.files_below(folder))


def feed(build, inputs, seconds, scratch):
    report = os.path.join(scratch, "feed.json")
    subprocess.run([harness.tool(build, "prep-bench"), "feed", *inputs, "--seconds", str(seconds),
                    "--quiet", "--json", report], check=True, stdout=subprocess.DEVNULL)
    with open(report, encoding="utf-8") as file:
        return json.load(file)["images_per_s"]


def shards(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".tar"))


def timed(command):
    start = time.monotonic()
    subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=True)
    return time.monotonic() - start


def photos(arguments, scratch):
    count = sum(1 for _ in harness.files_below(arguments.inputs))
    raw_rate = feed(arguments.build, [arguments.inputs], arguments.seconds, scratch)
    rows = [Step("as they are", bytes_below(arguments.inputs), raw_rate, count / raw_rate, None)]
    tools = {name: shlex.quote(harness.tool(arguments.build, "prep-" + name))
             for name in ("resize", "recompress", "pack")}
    raw = shlex.quote(os.path.abspath(arguments.inputs))
    pack = "{pack} - -q -o '%s/%%06d.tar' --shuffle 1 --shuffle-buffer 1000 --max-size 50M"
    for name, command in (
            ("resized, packed", "{resize} " + raw + " --quiet -o - | " + pack),
            ("resized, recompressed to 80, packed",
             "{resize} " + raw + " --quiet -o - | {recompress} - --quiet -q 80 -o - | " + pack)):
        out = os.path.join(scratch, name.replace(" ", "-").replace(",", ""))
        seconds = timed((command % out).format(**tools))
        rate = feed(arguments.build, shards(out), arguments.seconds, scratch)
        rows.append(Step(name, sum(map(os.path.getsize, shards(out))), rate, count / rate, seconds))
    return rows


def report_photos(rows):
    first = rows[0]
    table = []
    for row in rows:
        pays = row.prepared / (first.epoch - row.epoch) if row.prepared else None
        table.append((row.name, f"{row.bytes / 1e6:.1f}", f"{row.bytes / first.bytes:.0%}",
                      f"{row.rate:,.0f}", f"{row.rate / first.rate:.1f}", f"{row.epoch:.2f}",
                      f"{row.prepared:.2f}" if row.prepared else "",
                      f"{pays:.1f}" if pays else ""))
    print(harness.markdown_table(("photographs", "MB", "size", "images/s", "times", "s an epoch",
                                  "s to prepare", "pays after epochs"), table))


def report_eeg(arguments, scratch):
    report = os.path.join(scratch, "eeg.json")
    subprocess.run([harness.tool(arguments.build, "prep-inspect"), arguments.inputs, "-j1", "--quiet",
                    "--json", report], check=True, stdout=subprocess.DEVNULL)
    with open(report, encoding="utf-8") as file:
        found = json.load(file)["recordings"]
    make, load = (found[key]["value"] for key in ("make_cpu_seconds", "load_cpu_seconds"))
    seconds = timed(f"{shlex.quote(harness.tool(arguments.build, 'prep-spectrogram'))} --quiet -j1 "
                    f"{shlex.quote(arguments.inputs)} -o {shlex.quote(scratch)}/out")
    made = bytes_below(os.path.join(scratch, "out"))
    print(harness.markdown_table(
        ("recordings", "MB", "CPU s an epoch", "s to prepare", "pays after epochs"),
        [("as they are", f"{bytes_below(arguments.inputs) / 1e6:.1f}", f"{make:.3f}", "", ""),
         ("spectrograms", f"{made / 1e6:.1f}", f"{load:.3f}", f"{seconds:.3f}",
          f"{seconds / (make - load):.1f}")]))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs")
    parser.add_argument("--build", default=os.path.join(harness.ROOT, "build"))
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--eeg", action="store_true", help="the inputs are recordings")
    arguments = parser.parse_args()
    with harness.scratch_folder() as scratch:
        if arguments.eeg:
            report_eeg(arguments, scratch)
        else:
            report_photos(photos(arguments, scratch))


main()
