"""Compares prep-bench decode with independent loops over the same files, in turns on one core, and
its rankings of the decoders with each other.
"""
import json
import os
import statistics
import subprocess
import tempfile

import harness

# Not rgb: TurboJPEG is the same code, so that chance would rank the two.
DECODERS = "planes,turbojpeg,imdecode,imread"
LOOPS = {"turbojpeg": "memory", "imdecode": "memory", "imread": "disk"}
ALLOWED = 0.10


def on_last_core(*command):
    return ["taskset", "-c", str(harness.cores()[-1]), *command]


def compile_loops(scratch):
    """The programs of LOOPS, as commands."""
    turbojpeg, opencv = (os.path.join(scratch, name) for name in ("turbojpeg_loop", "opencv_loop"))
    subprocess.run(["cc", "-O2", "-o", turbojpeg, os.path.join(harness.PEERS, "turbojpeg_loop.c"),
                    "-lturbojpeg"], check=True)
    subprocess.run(["c++", "-O2", "-I/usr/include/opencv4", "-o", opencv,
                    os.path.join(harness.PEERS, "opencv_loop.cc"), "-lopencv_imgcodecs",
                    "-lopencv_core"], check=True)
    return {"turbojpeg": [turbojpeg], "imdecode": [opencv, "imdecode"],
            "imread": [opencv, "imread"]}


def run_loop(command, files):
    result = subprocess.run(on_last_core(*command, "2", *files), check=True, capture_output=True,
                            text=True)
    return statistics.mean(map(float, result.stdout.split()))


def run_ours(tool, scratch, files, seed):
    names, out = os.path.join(scratch, "names"), os.path.join(scratch, "out.json")
    with open(names, "w", encoding="utf-8") as file:
        file.write("\0".join(files))
    subprocess.run(on_last_core(tool, "decode", "list0:" + names, "--decoders", DECODERS,
                                "--samples", str(len(files)), "--runs", "2", "--seed", str(seed),
                                "--json", out, "--quiet"),
                   check=True, stdout=subprocess.DEVNULL)
    with open(out, encoding="utf-8") as file:
        results = json.load(file)["results"]
    # CPU time, as the loops tell it: what others take of the core is nobody's speed.
    return {(one["decoder"], one["from"]): one["images_per_cpu_s"]["mean"] for one in results}


def main():
    parser = harness.corpus_arguments("decode", __doc__, limit=300)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    tool = harness.tool(arguments.build, "prep-bench")
    ours, loops, rankings = {}, {name: [] for name in LOOPS}, []
    with tempfile.TemporaryDirectory() as scratch:
        corpus = harness.stage(arguments.corpus, scratch, arguments.limit)
        files = [os.path.join(scratch, name) for name in corpus.names]
        commands = compile_loops(scratch)
        for run in range(arguments.runs):
            rates = run_ours(tool, scratch, files, run)
            for case, rate in rates.items():
                ours.setdefault(case, []).append(rate)
            memory = {name: rate for (name, place), rate in rates.items() if place == "memory"}
            rankings.append(sorted(memory, key=memory.get, reverse=True))
            for name in LOOPS:
                loops[name].append(run_loop(commands[name], files))
    report(arguments, corpus, ours, loops, rankings)


def report(arguments, corpus, ours, loops, rankings):
    rows, far = [], False
    for name, place in LOOPS.items():
        mine, other = statistics.median(ours[name, place]), statistics.median(loops[name])
        far = far or abs(mine / other - 1) > ALLOWED
        rows.append([name, "%.0f" % mine, "%.0f" % other, "%+.1f %%" % ((mine / other - 1) * 100)])
    print(corpus.describe())
    print("images a second of CPU, medians of %d turns, %s\n" % (arguments.runs,
                                                               harness.cpu_model()))
    print(harness.markdown_table(["decoder", "prep-bench", "a loop of its own", "difference"], rows))
    for ranking in rankings:
        print("ranked: " + " > ".join(ranking))
    if arguments.json:
        harness.write_json(arguments.json, {"rows": rows, "rankings": rankings})
    if far:
        harness.fail("a difference is larger than %.0f %%" % (ALLOWED * 100))


if __name__ == "__main__":
    main()
