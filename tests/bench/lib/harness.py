"""What the benchmarks share: staging a corpus, timing whole programs in turns, tables."""
import argparse
import collections
import contextlib
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from PIL import Image

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PEERS = os.path.join(ROOT, "tests", "bench", "peers")
ORIENTATION_TAG = 0x0112
# Memory, so that no disk is measured.
FAST_DIR = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()

# In `command`, {input} and {output} stand for the folders. `cores` it may run on.
Program = collections.namedtuple("Program", "name version command cores")
Missing = collections.namedtuple("Missing", "name package")
Run = collections.namedtuple("Run", "wall cpu files bytes")


class Corpus(collections.namedtuple("Corpus", "source folder names bytes left_out")):
    """The staged files of `source`.

    `names` maps a staged path below `folder` to the original's below `source`; `left_out` counts
    the others by reason.
    """

    def describe(self):
        text = "%s: %d files, mean %.0f kB" % (self.source, len(self.names),
                                               self.bytes / len(self.names) / 1e3)
        reasons = ["%d %s" % (count, reason) for reason, count in sorted(self.left_out.items())]
        return text + ("; left out: " + ", ".join(reasons) if reasons else "")

    def as_json(self):
        return {"source": self.source, "files": len(self.names), "bytes": self.bytes,
                "left_out": self.left_out}


@contextlib.contextmanager
def scratch_folder():
    """A folder in memory that goes away however the benchmark ends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="prep-bench-", dir=FAST_DIR,
                                     ignore_cleanup_errors=True) as folder:
        yield folder


def fail(message):
    print("error: " + message, file=sys.stderr)
    sys.exit(1)


def jpegs_below(folder):
    return sorted(os.path.join(parent, name) for parent, _, names in os.walk(folder)
                  for name in names if name.lower().endswith((".jpg", ".jpeg")))


def reason_to_leave_out(image, short):
    """Why this picture would not be the same work for every program, or None."""
    if image.format != "JPEG":
        return "no JPEG inside"
    if image.mode not in ("RGB", "L"):
        return "not RGB or grey"
    if image.getexif().get(ORIENTATION_TAG, 1) != 1:
        return "not upright"
    if min(image.size) <= short:
        return "already small enough"
    image.load()
    return None


def spread(items, limit):
    """At most `limit` of the items, evenly spaced."""
    if len(items) <= limit:
        return items
    return [items[i * len(items) // limit] for i in range(limit)]


def copy_all(source, target, chosen):
    names, total = {}, 0
    for kind in ("wide", "tall"):
        os.makedirs(os.path.join(target, kind))
    for index, (path, kind) in enumerate(chosen):
        name = "%s/%06d.jpg" % (kind, index)
        shutil.copyfile(path, os.path.join(target, name))
        names[name] = os.path.relpath(path, source)
        total += os.path.getsize(path)
    return names, total


def stage(source, target, limit, short=0):
    """Copies the usable JPEGs below `source` whose short side exceeds `short`, at most `limit` of
    them, to target/wide and target/tall.

    Two folders, because vipsthumbnail can be told a width or a height, not a short side; new
    names, because some programs write all outputs into one folder.
    """
    left_out, usable = collections.Counter(), []
    for path in jpegs_below(source):
        try:
            with Image.open(path) as image:
                reason = reason_to_leave_out(image, short)
                wide = image.width >= image.height
        except (OSError, SyntaxError, Image.DecompressionBombError):
            reason = "unreadable"
        if reason:
            left_out[reason] += 1
        else:
            usable.append((path, "wide" if wide else "tall"))
    chosen = spread(usable, limit)
    if len(chosen) < len(usable):
        left_out["beyond --limit"] = len(usable) - len(chosen)
    if not chosen:
        fail("no usable JPEG below %s (%s)" % (source, dict(left_out)))
    return Corpus(source, target, *copy_all(source, target, chosen), dict(left_out))


def one_thread_environment():
    """Peers compete core against core, so none may start threads of its own."""
    return dict(os.environ, VIPS_CONCURRENCY="1", MAGICK_THREAD_LIMIT="1", OMP_NUM_THREADS="1",
                OPENBLAS_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")


def files_below(folder):
    """Those that are not hidden: what a program notes for its own use is no output."""
    return [os.path.join(parent, name) for parent, _, names in os.walk(folder)
            for name in names if not name.startswith(".")]


def wait_for(process):
    """(status, resource usage of the process and of all that it waited for)"""
    try:
        return os.wait4(process.pid, 0)[1:]
    except BaseException:
        process.kill()
        raise


def run_program(program, source, target):
    """Runs a program from folder to folder, on its cores; its messages show only if it fails."""
    command = [word.replace("{input}", source).replace("{output}", target)
               for word in program.command]
    cores = ",".join(map(str, program.cores))
    with tempfile.TemporaryFile() as messages:
        start = time.perf_counter()
        process = subprocess.Popen(["taskset", "-c", cores, *command], stdin=subprocess.DEVNULL,
                                   stdout=messages, stderr=messages,
                                   env=one_thread_environment())
        status, usage = wait_for(process)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            messages.seek(0)
            fail("%s ended with %d:\n%s" % (program.name, process.returncode,
                                            messages.read().decode(errors="replace")))
    files = files_below(target)
    return Run(wall, usage.ru_utime + usage.ru_stime, len(files), sum(map(os.path.getsize, files)))


def show_progress(text):
    if sys.stderr.isatty():
        print("\r%-60s\r%s" % ("", text), end="", file=sys.stderr, flush=True)


def run_in_turns(programs, source, target, runs):
    """A B C A B C …, after one uncounted turn, so that a slow minute hits all of them alike."""
    results = {program.name: [] for program in programs}
    for turn in range(runs + 1):
        for program in programs:
            show_progress("turn %d of %d: %s" % (turn, runs, program.name))
            os.makedirs(target)
            run = run_program(program, source, target)
            shutil.rmtree(target)
            if turn > 0:
                results[program.name].append(run)
    show_progress("")
    return results


def median(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def machine():
    return {"cpu": cpu_model(), "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release()}


def first_line_of(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return (result.stdout or result.stderr).partition("\n")[0].strip()


def python_version_of(module):
    """The module's version for /usr/bin/python3, or None where it is not installed."""
    code = "import %s as m; print(m.__version__)" % module
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                            check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def version_of(program, option="--version"):
    match = re.search(r"\d+(\.\d+)+(-\d+)?", first_line_of(program, option))
    return match.group() if match else "?"


def peer_command(script, *words):
    """One of the scripts in peers, from folder to folder."""
    interpreter = {".py": sys.executable, ".js": "node"}.get(os.path.splitext(script)[1], "bash")
    return [interpreter, os.path.join(PEERS, script), "{input}", "{output}", *map(str, words)]


def python_peer(name, module, package, command):
    """A program of /usr/bin/python3 that needs the module; on the last core."""
    version = python_version_of(module)
    return Program(name, version, command, cores()[-1:]) if version else Missing(name, package)


def node_peer(name, module, command):
    """A program of node that needs the module, which tells its own version."""
    package = "%s from npm, found through NODE_PATH" % module
    if not shutil.which("node"):
        return Missing(name, package)
    code = "console.log(require('%s').versions['%s'])" % (module, module)
    result = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return Missing(name, package)
    return Program(name, result.stdout.strip(), command, cores()[-1:])


def command_peer(name, executable, package, command, version_option="--version"):
    """A script that calls the executable; on the last core."""
    if not shutil.which(executable):
        return Missing(name, package)
    return Program(name, version_of(executable, version_option), command, cores()[-1:])


def cores():
    return sorted(os.sched_getaffinity(0))


def tool(build, name):
    path = os.path.join(build, "tools", name)
    if not os.access(path, os.X_OK):
        fail("%s is not there; build it first, or say --build DIR" % path)
    return path


def markdown_table(header, rows):
    """The first column to the left, the others to the right."""
    lines = ["| " + " | ".join(header) + " |",
             "|" + "|".join([" --- "] + [" ---: "] * (len(header) - 1)) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def write_json(path, content):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")


def corpus_arguments(name, description, limit):
    """The parser of `run.sh NAME`, with what every benchmark on a corpus takes."""
    parser = argparse.ArgumentParser(prog="run.sh " + name, description=description)
    parser.add_argument("corpus", help="a folder of JPEGs; others in it are left out")
    parser.add_argument("--json", metavar="F", help="write the figures to this file")
    parser.add_argument("--limit", type=int, default=limit, help="use at most so many files")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), metavar="DIR")
    return parser


def speed_arguments(name, description):
    parser = corpus_arguments(name, description, limit=1000)
    parser.add_argument("--runs", type=int, default=5)
    return parser.parse_args()


def check_counts(results, corpus):
    for name, runs in results.items():
        for run in runs:
            if run.files < len(corpus.names):
                fail("%s wrote %d files of %d" % (name, run.files, len(corpus.names)))


def summarize_speed(programs, results, corpus, references):
    """A row for each program; `faster` and `cpu_faster` say by how much each reference is so."""
    medians = {name: (median(runs, "wall"), median(runs, "cpu")) for name, runs in results.items()}
    summary = []
    for program in programs:
        runs = results[program.name]
        wall, cpu = medians[program.name]
        summary.append({
            "name": program.name, "version": program.version, "cores": len(program.cores),
            "wall_seconds": [run.wall for run in runs], "cpu_seconds": [run.cpu for run in runs],
            "median_wall_seconds": wall, "median_cpu_seconds": cpu,
            "images_per_second": len(corpus.names) / wall, "output_bytes": runs[-1].bytes,
            "faster": {name: wall / medians[name][0] for name in references},
            "cpu_faster": {name: cpu / medians[name][1] for name in references},
        })
    return summary


def speed_table(summary, references):
    header = ["program", "version", "images/s", "seconds", "CPU seconds", "size, MB"]
    for name in references:
        header += ["%s is faster by" % name, "in CPU by"]
    rows = []
    for row in summary:
        cells = [row["name"], row["version"], "%.1f" % row["images_per_second"],
                 "%.2f" % row["median_wall_seconds"], "%.2f" % row["median_cpu_seconds"],
                 "%.2f" % (row["output_bytes"] / 1e6)]
        for name in references:
            cells += ["%.2f" % row["faster"][name], "%.2f" % row["cpu_faster"][name]]
        rows.append(cells)
    return markdown_table(header, rows)


def scaling(summary, one, two):
    """What a second core gives; `one` and `two` are names of programs."""
    seconds = {row["name"]: row["median_wall_seconds"] for row in summary}
    if two not in seconds:
        return "-j2 not measured: only one core"
    return "-j2 is %.2f times as fast as -j1" % (seconds[one] / seconds[two])


def compare_speed(arguments, found, references, scaled, short=0):
    """Times the programs, prints the report, writes the JSON.

    `found` are Program and Missing; `references` the names of our programs that the others are
    compared with; `scaled` the names of one program on one core and on two.
    """
    programs = [program for program in found if isinstance(program, Program)]
    missing = [program for program in found if isinstance(program, Missing)]
    with scratch_folder() as scratch:
        corpus = stage(arguments.corpus, os.path.join(scratch, "in"), arguments.limit, short)
        results = run_in_turns(programs, corpus.folder, os.path.join(scratch, "out"),
                               arguments.runs)
    check_counts(results, corpus)
    summary = summarize_speed(programs, results, corpus, references)
    print("%s; medians of %d interleaved runs, one core each (-j2: two), %s\n" % (
        corpus.describe(), arguments.runs, cpu_model()))
    print(speed_table(summary, references) + "\n\n" + scaling(summary, *scaled))
    for peer in missing:
        print("missing: %s (package %s)" % peer)
    if arguments.json:
        write_json(arguments.json, {
            "corpus": corpus.as_json(), "machine": machine(), "runs": arguments.runs,
            "programs": summary, "missing": [peer._asdict() for peer in missing]})
