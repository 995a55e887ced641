"""Times prep-pack and its peers: a tree of loose photographs into shards, in memory.

With --small, a tree of so many files of 1 kB instead, shuffled into 100 shards.
"""
import os
import random

import harness

ONE = "prep-pack -j1"
TWO = "prep-pack -j2"
RECORDS = "prep-pack -j1, TFRecord"
FILES_A_FOLDER = 1000


def our_programs(build, options):
    path = harness.tool(build, "prep-pack")
    version = harness.version_of(path)
    cores = harness.cores()
    command = [path, "{input}", *options]
    tar = [*command, "-o", "{output}/train-%06d.tar"]
    yield harness.Program(ONE, version, [*tar, "-j", "1"], cores[-1:])
    if len(cores) >= 2:
        yield harness.Program(TWO, version, [*tar, "-j", "2"], cores[-2:])
    yield harness.Program(RECORDS, version,
                          [*command, "-o", "{output}/train-%06d.tfrecord", "-j", "1"], cores[-1:])


def peers():
    yield harness.command_peer("GNU tar --sort=name", "tar", "tar",
                               harness.peer_command("gnu_tar.sh"))
    yield harness.python_peer("WebDataset ShardWriter", "webdataset",
                              "webdataset, found through PYTHONPATH",
                              harness.peer_command("webdataset_pack.py"))


def write_tree(folder, contents, count):
    """`count` files, the contents in turn, FILES_A_FOLDER to a folder; how many bytes."""
    total = 0
    for i in range(count):
        parent = os.path.join(folder, "n%04d" % (i // FILES_A_FOLDER))
        if i % FILES_A_FOLDER == 0:
            os.makedirs(parent)
        content = contents[i % len(contents)]
        with open(os.path.join(parent, "%07d.jpg" % i), "wb") as file:
            file.write(content)
        total += len(content)
    return total


def photographs(source):
    contents = []
    for path in harness.jpegs_below(source):
        with open(path, "rb") as file:
            contents.append(file.read())
    if not contents:
        harness.fail("%s holds no JPEGs" % source)
    return contents


def main():
    parser = harness.corpus_arguments("pack", __doc__, limit=5000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--small", type=int, metavar="N", help="N files of 1 kB instead")
    arguments = parser.parse_args()
    if arguments.small:
        random.seed(1)
        contents = [random.randbytes(1000) for _ in range(997)]
        count, options = arguments.small, ["--shuffle", "1", "--shards", "100"]
    else:
        contents, count, options = photographs(arguments.corpus), arguments.limit, []
    found = [*our_programs(arguments.build, options), *peers()]
    if arguments.small:  # its writer makes one shard after the other, and cannot shuffle
        found = [one for one in found if not one.name.startswith("WebDataset")]
    programs = [one for one in found if isinstance(one, harness.Program)]
    with harness.scratch_folder() as scratch:
        source = os.path.join(scratch, "in")
        total = write_tree(source, contents, count)
        results = harness.run_in_turns(programs, source, os.path.join(scratch, "out"),
                                       arguments.runs)
    report(arguments, programs, results, count, total)
    for peer in found:
        if isinstance(peer, harness.Missing):
            print("missing: %s (package %s)" % peer)


def report(arguments, programs, results, count, total):
    wall = {p.name: harness.median(results[p.name], "wall") for p in programs}
    rows = []
    for program in programs:
        seconds = wall[program.name]
        rows.append([program.name, program.version, "%.0f" % (count / seconds), "%.2f" % seconds,
                     "%.2f" % harness.median(results[program.name], "cpu"),
                     *("%.2f" % (seconds / wall[name]) for name in (ONE, TWO) if name in wall)])
    print("%d files, mean %.1f kB; medians of %d interleaved runs in memory, one core each "
          "(-j2: two), %s\n" % (count, total / count / 1e3, arguments.runs, harness.cpu_model()))
    print(harness.markdown_table(["program", "version", "samples/s", "seconds", "CPU seconds",
                                  "-j1 is faster by", "-j2 is faster by"], rows))
    if arguments.json:
        harness.write_json(arguments.json, {
            "files": count, "bytes": total, "machine": harness.machine(),
            "seconds": {name: [run.wall for run in runs] for name, runs in results.items()}})


if __name__ == "__main__":
    main()
