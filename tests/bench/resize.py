"""Times prep-resize and its peers, whole programs from folder to folder, to short side 256."""
import argparse
import os
import shutil
import sys

import harness

SHORT = 256
QUALITY = 90
OURS = "prep-resize -j1"
OURS_TWO = "prep-resize -j2"


def peer_command(name, *options):
    path = os.path.join(harness.PEERS, name)
    interpreter = sys.executable if name.endswith(".py") else "bash"
    return [interpreter, path, "{input}", "{output}", str(SHORT), str(QUALITY), *options]


def our_programs(build, cores):
    path = harness.tool(build, "prep-resize")
    version = harness.first_line_of(path, "--version").split(" ")[-1]
    # The peers do not convert profiles either. The input goes first, the output follows -o.
    command = [path, "{input}", "-o", "{output}", "--short", str(SHORT), "-q", str(QUALITY),
               "--icc", "ignore"]
    programs = [harness.Program(OURS, version, [*command, "-j", "1"], cores[-1:])]
    if len(cores) >= 2:
        programs.append(harness.Program(OURS_TWO, version, [*command, "-j", "2"], cores[-2:]))
    return programs


def python_peers(core):
    for name, module, package, command in (
            ("Pillow", "PIL", "python3-pil", peer_command("pillow_resize.py")),
            ("Pillow, draft()", "PIL", "python3-pil", peer_command("pillow_resize.py", "--draft")),
            ("OpenCV from Python", "cv2", "python3-opencv", peer_command("opencv_resize.py"))):
        version = harness.python_version_of(module)
        if version:
            yield harness.Program(name, version, command, [core])
        else:
            yield harness.Missing(name, package)


def command_peers(core):
    for name, package, command in (
            ("vipsthumbnail", "libvips-tools", peer_command("vipsthumbnail_resize.sh")),
            ("mogrify", "imagemagick", peer_command("mogrify_resize.sh"))):
        if shutil.which(name):
            words = harness.first_line_of(name, "--version").split()
            version = next(word for word in words if word[0].isdigit() or word[5:6].isdigit())
            yield harness.Program(name, version.removeprefix("vips-"), command, [core])
        else:
            yield harness.Missing(name, package)


def check_counts(results, corpus):
    for name, runs in results.items():
        for run in runs:
            if run.files < len(corpus.names):
                harness.fail("%s wrote %d files of %d" % (name, run.files, len(corpus.names)))


def summarize(programs, results, corpus):
    ours = harness.median(results[OURS], "wall")
    our_cpu = harness.median(results[OURS], "cpu")
    summary = []
    for program in programs:
        runs = results[program.name]
        wall, cpu = harness.median(runs, "wall"), harness.median(runs, "cpu")
        summary.append({
            "name": program.name, "version": program.version, "cores": len(program.cores),
            "wall_seconds": [run.wall for run in runs], "cpu_seconds": [run.cpu for run in runs],
            "median_wall_seconds": wall, "median_cpu_seconds": cpu,
            "images_per_second": len(corpus.names) / wall,
            "times_ours": wall / ours, "cpu_times_ours": cpu / our_cpu,
        })
    return summary


def print_report(corpus, summary, missing, runs):
    print("%s; medians of %d interleaved runs, one core each (-j2: two), %s\n" % (
        corpus.describe(), runs, harness.cpu_model()))
    rows = [(row["name"], row["version"], "%.1f" % row["images_per_second"],
             "%.2f" % row["median_wall_seconds"], "%.2f" % row["times_ours"],
             "%.2f" % row["median_cpu_seconds"], "%.2f" % row["cpu_times_ours"])
            for row in summary]
    print(harness.markdown_table(
        ("program", "version", "images/s", "seconds", "ours is faster by", "CPU seconds",
         "in CPU by"), rows))
    by_name = {row["name"]: row for row in summary}
    if OURS_TWO in by_name:
        print("\n-j2 is %.2f times as fast as -j1" % (1 / by_name[OURS_TWO]["times_ours"]))
    else:
        print("\n-j2 not measured: only one core")
    for peer in missing:
        print("missing: %s (package %s)" % peer)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="run.sh resize", description=__doc__)
    parser.add_argument("corpus", help="a folder of JPEGs; others in it are left out")
    parser.add_argument("--json", metavar="F", help="write the figures to this file")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=int, default=1000, help="use at most so many files")
    parser.add_argument("--build", default=os.path.join(harness.ROOT, "build"), metavar="DIR")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    cores = sorted(os.sched_getaffinity(0))
    found = [*our_programs(arguments.build, cores), *python_peers(cores[-1]),
             *command_peers(cores[-1])]
    programs = [program for program in found if isinstance(program, harness.Program)]
    missing = [program for program in found if isinstance(program, harness.Missing)]
    with harness.scratch_folder() as scratch:
        corpus = harness.stage(arguments.corpus, os.path.join(scratch, "in"), SHORT,
                               arguments.limit)
        results = harness.run_in_turns(programs, corpus.folder, os.path.join(scratch, "out"),
                                       arguments.runs)
    check_counts(results, corpus)
    summary = summarize(programs, results, corpus)
    print_report(corpus, summary, missing, arguments.runs)
    if arguments.json:
        harness.write_json(arguments.json, {
            "corpus": {"source": corpus.source, "files": len(corpus.names),
                       "bytes": corpus.bytes, "left_out": corpus.left_out},
            "machine": harness.machine(), "runs": arguments.runs, "programs": summary,
            "missing": [peer._asdict() for peer in missing]})


if __name__ == "__main__":
    main()
