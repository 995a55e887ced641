"""Times prep-spectrogram and its peers: EDF recordings of 20 channels, an hour at 256 Hz each, Hann
windows of 256 samples every 64, in memory.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import scipy
import scipy.signal

import harness

ONE, TWO = "prep-spectrogram -j1", "prep-spectrogram -j2"
CHANNELS, RATE, SECONDS = 20, 256, 3600
SCIPY = "scipy alone, a call a channel"


def recording(seed):
    """An EDF of noise: how long it takes does not depend on what is in it."""
    def column(width, *values):
        return b"".join(str(v).encode().ljust(width) for v in values)

    def signals(width, value):
        return column(width, *[value] * CHANNELS)

    head = column(8, 0) + column(80, "X X X X", "Startdate 01-JAN-2020 X X X")
    head += column(8, "01.01.20", "00.00.00", 256 * (CHANNELS + 1)) + column(44, "")
    head += column(8, SECONDS, 1) + column(4, CHANNELS)
    head += column(16, *["E%d" % i for i in range(CHANNELS)]) + signals(80, "") + signals(8, "uV")
    head += signals(8, -3276.8) + signals(8, 3276.7) + signals(8, -32768) + signals(8, 32767)
    head += signals(80, "") + signals(8, RATE) + signals(32, "")
    noise = np.random.default_rng(seed).normal(0, 300, SECONDS * CHANNELS * RATE)
    return head + noise.astype("<i2").tobytes()


def programs(build):
    path = harness.tool(build, "prep-spectrogram")
    command = [path, "{input}", "-o", "{output}", "--nperseg", "256", "--hop", "64", "--force"]
    version, cores = harness.version_of(path), harness.cores()
    yield harness.Program(ONE, version, [*command, "-j", "1"], cores[-1:])
    if len(cores) >= 2:
        yield harness.Program(TWO, version, [*command, "-j", "2"], cores[-2:])
    yield harness.python_peer("MNE + scipy script", "mne", "python3-mne",
                              harness.peer_command("mne_spectrogram.py"))


def scipy_alone(runs):
    """Seconds for one recording's channels that are in memory already; nothing is written."""
    data = np.random.default_rng(1).normal(0, 30, (CHANNELS, SECONDS * RATE)).astype(np.float32)
    seconds = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        for channel in data:
            scipy.signal.spectrogram(channel, RATE, "hann", 256, 192)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def peak_megabytes(program, source, target):
    """Of one run: in a process of its own, since the figure is that of all children."""
    words = [w.replace("{input}", source).replace("{output}", target) for w in program.command]
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
            "capture_output=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    os.makedirs(target, exist_ok=True)
    found = subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)
    return int(found.stdout) / 1000


def main():
    parser = argparse.ArgumentParser(prog="run.sh spectrogram", description=__doc__)
    parser.add_argument("--recordings", type=int, default=8)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--build", default=os.path.join(harness.ROOT, "build"), metavar="DIR")
    parser.add_argument("--json", metavar="F", help="write the figures to this file")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, harness.cores()[-2:])
    found = list(programs(arguments.build))
    timed = [p for p in found if isinstance(p, harness.Program)]
    with harness.scratch_folder() as scratch:
        source, target = os.path.join(scratch, "in"), os.path.join(scratch, "out")
        os.makedirs(source)
        first = recording(0)
        for i in range(arguments.recordings):
            with open(os.path.join(source, "r%d.edf" % i), "wb") as file:
                file.write(first if i == 0 else recording(i))
        results = harness.run_in_turns(timed, source, target, arguments.runs)
        single = os.path.join(scratch, "single")
        os.makedirs(single)
        os.rename(os.path.join(source, "r0.edf"), os.path.join(single, "r0.edf"))
        memory = {p.name: peak_megabytes(p, single, os.path.join(scratch, "peak")) for p in timed}
    alone = scipy_alone(arguments.runs) * arguments.recordings
    report(arguments, timed, results, memory, alone)
    for peer in found:
        if isinstance(peer, harness.Missing):
            print("missing: %s (package %s)" % peer)


def report(arguments, timed, results, memory, alone):
    wall = {p.name: harness.median(results[p.name], "wall") for p in timed}
    rows = [[p.name, p.version, "%.2f" % (wall[p.name] / arguments.recordings),
             "%.0f" % memory[p.name], "%.1f" % (wall[p.name] / wall[ONE])] for p in timed]
    rows.append([SCIPY, scipy.__version__, "%.2f" % (alone / arguments.recordings), "",
                 "%.1f" % (alone / wall[ONE])])
    print("%d recordings of %d channels, %d s at %d Hz; medians of %d interleaved runs in memory, "
          "one core each (-j2: two), %s\n" % (arguments.recordings, CHANNELS, SECONDS, RATE,
                                              arguments.runs, harness.cpu_model()))
    print(harness.markdown_table(["program", "version", "s a recording", "MB of memory",
                                  "-j1 is faster by"], rows))
    if TWO in wall:
        print("\n-j2 is %.2f times as fast as -j1" % (wall[ONE] / wall[TWO]))
    if arguments.json:
        harness.write_json(arguments.json, {
            "machine": harness.machine(), "recordings": arguments.recordings,
            "megabytes": memory, "scipy_alone_seconds": alone,
            "seconds": {name: [run.wall for run in runs] for name, runs in results.items()}})


if __name__ == "__main__":
    main()
