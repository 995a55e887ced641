"""What a training set gains from prep-recompress: its size, and the time that decoding it takes.

The sources are the pictures of the corpus, saved by Pillow at the first quality of each pair;
prep-recompress with its defaults brings them to the second.
"""
import collections
import io
import os
import time

import harness
import numpy as np
from PIL import Image

try:
    import cv2
except ImportError:
    cv2 = None

Case = collections.namedtuple("Case", "source subsampling target")
CASES = (Case(95, "4:2:0", 90), Case(90, "4:2:0", 80), Case(90, "4:2:0", 70),
         Case(96, "4:4:4", 70))


def make_sources(corpus, folder, case):
    os.makedirs(folder)
    for name in corpus.names:
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with Image.open(os.path.join(corpus.folder, name)) as image:
            image.save(target, "JPEG", quality=case.source, subsampling=case.subsampling)


def recompress(build, source, target, quality):
    command = [harness.tool(build, "prep-recompress"), "{input}", "-o", "{output}", "-q",
               str(quality)]
    os.makedirs(target)
    harness.run_program(harness.Program("prep-recompress", "", command, harness.cores()), source,
                        target)


def load(corpus, folder):
    files = []
    for name in sorted(corpus.names):
        with open(os.path.join(folder, name), "rb") as file:
            files.append(file.read())
    return files


def decode_with_pillow(data):
    with Image.open(io.BytesIO(data)) as image:
        image.load()


def decode_with_opencv(data):
    cv2.cvtColor(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR),
                 cv2.COLOR_BGR2RGB)


def decoders():
    found = {"Pillow": decode_with_pillow}
    if cv2:
        cv2.setNumThreads(1)
        found["OpenCV"] = decode_with_opencv
    return found


def seconds(decoder, files):
    start = time.process_time()
    for data in files:
        decoder(data)
    return time.process_time() - start


def decode_times(decoder, before, after, runs):
    """Medians, each for all the files, in turns after one that is not counted."""
    times = [(seconds(decoder, before), seconds(decoder, after)) for _ in range(runs + 1)]
    return [float(median) for median in np.median(times[1:], axis=0)]


def measure(case, corpus, scratch, arguments):
    source = os.path.join(scratch, "%d-for-%d" % (case.source, case.target))
    target = source + "-out"
    make_sources(corpus, source, case)
    recompress(arguments.build, source, target, case.target)
    before, after = load(corpus, source), load(corpus, target)
    row = {**case._asdict(), "copied": sum(a == b for a, b in zip(before, after)),
           "bytes": [sum(map(len, before)), sum(map(len, after))], "decode_seconds": {}}
    for name, decoder in decoders().items():
        harness.show_progress("%d to %d, %s" % (case.source, case.target, name))
        row["decode_seconds"][name] = decode_times(decoder, before, after, arguments.runs)
    harness.show_progress("")
    return row


def print_report(corpus, rows, runs):
    print("%s; medians of %d runs of CPU time, %s\n" % (corpus.describe(), runs,
                                                        harness.cpu_model()))
    names = list(decoders())
    header = ["qualities", "kB before", "kB after", "size", "copied"]
    for name in names:
        header += ["%s, ms before" % name, "ms after", "time"]
    count, cells = len(corpus.names), []
    for row in rows:
        before, after = row["bytes"]
        line = ["%d (%s) → %d" % (row["source"], row["subsampling"], row["target"]),
                "%.1f" % (before / count / 1e3), "%.1f" % (after / count / 1e3),
                "%.0f %%" % (100 * after / before), str(row["copied"])]
        for name in names:
            first, second = row["decode_seconds"][name]
            line += ["%.2f" % (first / count * 1e3), "%.2f" % (second / count * 1e3),
                     "%.0f %%" % (100 * second / first)]
        cells.append(line)
    print(harness.markdown_table(header, cells))
    if "OpenCV" not in names:
        print("\nmissing: OpenCV (package python3-opencv)")


def parse_arguments():
    parser = harness.corpus_arguments("recompress-gain", __doc__, limit=300)
    parser.add_argument("--runs", type=int, default=5)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with harness.scratch_folder() as scratch:
        corpus = harness.stage(arguments.corpus, os.path.join(scratch, "in"), arguments.limit)
        rows = [measure(case, corpus, scratch, arguments) for case in CASES]
    print_report(corpus, rows, arguments.runs)
    if arguments.json:
        harness.write_json(arguments.json, {"corpus": corpus.as_json(),
                                            "machine": harness.machine(),
                                            "runs": arguments.runs, "cases": rows})


if __name__ == "__main__":
    main()
