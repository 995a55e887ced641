"""Times prep-verify and what it is measured by: sha256sum, and decoding JPEGs to planes."""
import ctypes
import os
import shutil
import subprocess

import harness

STRUCTURE, DIGESTS, DECODE = "structure (--quick)", "with SHA-256", "decoding (--decode)"


def programs(build, shards, photographs):
    path = harness.tool(build, "prep-verify")
    version = harness.version_of(path)
    core = harness.cores()[-1:]
    manifest = os.path.join(shards, "manifest.json")
    for name, options in ((STRUCTURE, ["--quick"]), (DIGESTS, []), (DECODE, ["--decode"])):
        yield harness.Program("prep-verify -j1, " + name, version,
                              [path, manifest, "-j", "1", *options], core)
    tars = sorted(os.path.join(shards, name) for name in os.listdir(shards)
                  if name.endswith(".tar"))
    yield harness.Program("sha256sum", harness.version_of("sha256sum"), ["sha256sum", *tars], core)
    try:
        ctypes.CDLL("libturbojpeg.so.0")
    except OSError:
        yield harness.Missing("TurboJPEG to planes", "libturbojpeg0")
        return
    command = harness.peer_command("turbojpeg_planes.py")
    yield harness.Program("TurboJPEG to planes", "2.1",
                          [word.replace("{input}", photographs) for word in command], core)


def main():
    parser = harness.corpus_arguments("verify", __doc__, limit=1000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with harness.scratch_folder() as scratch:
        corpus = harness.stage(arguments.corpus, os.path.join(scratch, "in"), arguments.limit)
        shards = os.path.join(scratch, "shards")
        subprocess.run([harness.tool(arguments.build, "prep-pack"), corpus.folder, "--quiet",
                        "-o", os.path.join(shards, "%06d.tar"), "--max-size", "50M"], check=True)
        found = list(programs(arguments.build, shards, corpus.folder))
        runnable = [one for one in found if isinstance(one, harness.Program)]
        results = harness.run_in_turns(runnable, corpus.folder, os.path.join(scratch, "out"),
                                       arguments.runs)
        total = sum(os.path.getsize(os.path.join(shards, name)) for name in os.listdir(shards)
                    if name.endswith(".tar"))
        shutil.rmtree(shards)
    rows = []
    for program in runnable:
        seconds = harness.median(results[program.name], "wall")
        rows.append([program.name, program.version, "%.3f" % seconds,
                     "%.2f" % (total / seconds / 1e9), "%.0f" % (len(corpus.names) / seconds)])
    print("%s, in shards of 50 MB; medians of %d interleaved runs in memory, one core, %s\n" % (
        corpus.describe(), arguments.runs, harness.cpu_model()))
    print(harness.markdown_table(["program", "version", "seconds", "GB/s", "images/s"], rows))
    for peer in found:
        if isinstance(peer, harness.Missing):
            print("missing: %s (package %s)" % peer)
    if arguments.json:
        harness.write_json(arguments.json, {
            "corpus": corpus.as_json(), "machine": harness.machine(),
            "seconds": {name: [run.wall for run in runs] for name, runs in results.items()}})


if __name__ == "__main__":
    main()
