#!/usr/bin/python3
"""Runs each tool on a small job over and over, and each time lets one call fail that it makes: the
first read, the second, and so on until there is none left; the same for every other kind of call.

Whatever fails, a run must end by itself, with exit 0 and the very output of an undisturbed run, or
with exit 1 or 3 and a message that says what was wrong; no file under a final name may be anything
but what an undisturbed run has written there, this time or before; and the next run, undisturbed,
must complete the work. The table at the end accounts for every run.

    fault_suite.py TOOLS SHIM [--jobs N] [--only WORDS] [--kind KIND] [-v]
"""

import argparse
import concurrent.futures
import dataclasses
import errno
import json
import os
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

import jobs as jobs_module

TIMEOUT_S = 60
SEED = 8


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    error: int  # errno, or 0 for a call that only does less than it was asked
    how: str = "once"
    # What no program may be disturbed by.
    is_harmless: bool = False

    def __str__(self):
        name = errno.errorcode.get(self.error, "short")
        return f"{self.kind} {name}" + (" from then on" if self.how == "on" else "")


FAULTS = (
    Fault("read", errno.EIO),
    Fault("read", errno.EINTR, is_harmless=True),
    Fault("read", 0, "short", is_harmless=True),
    Fault("write", errno.ENOSPC),
    Fault("write", errno.ENOSPC, "on"),
    Fault("write", errno.EINTR, is_harmless=True),
    Fault("write", 0, "short", is_harmless=True),
    Fault("sync", errno.EIO),
    Fault("sync", errno.EINTR, is_harmless=True),
    Fault("rename", errno.EIO),
    Fault("open", errno.EMFILE),
    Fault("open", errno.EACCES),
    Fault("open", errno.EINTR, is_harmless=True),
    Fault("malloc", errno.ENOMEM),
    Fault("malloc", errno.ENOMEM, "on"),
    Fault("map", errno.ENOMEM),
    Fault("close", errno.EIO),
    Fault("truncate", errno.EIO),
    Fault("unlink", errno.EIO),
    Fault("stat", errno.EIO),
    Fault("list", errno.EIO),
    Fault("mkdir", errno.EACCES),
    Fault("time", errno.EIO),
    Fault("lock", errno.ENOLCK, is_harmless=True),
    Fault("thread", errno.EAGAIN, "on", is_harmless=True),
    Fault("seek", errno.EIO),
)


@dataclasses.dataclass
class Result:
    exit_code: int  # negative: the signal that ended it; None: it hung
    stdout: bytes
    stderr: str
    calls: int = 0
    failed: int = 0
    what: str = ""


def contents(directory):
    """The bytes of each final file. The tools' own stamps and links to inputs are left out."""
    found = {}
    for root, directories, files in os.walk(directory):
        directories[:] = [d for d in directories if not d.startswith(".prep-")]
        for name in files:
            if name.startswith(".prep-") or is_temporary(name):
                continue
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = normalized(name, file.read())
    return found


def normalized(name, data):
    """Without what differs from run to run."""
    if name == "report.json":
        report = json.loads(data)
        del report["seconds"]
        return json.dumps(report).encode()
    if name == "found.json":
        json.loads(data)
        return b"times, and what was found"
    if name == "found.html":
        return b"the same" if data.rstrip().endswith(b"</html>") else data
    return data


def is_temporary(name):
    return "prep-tmp" in name or name.endswith(".tmp") or name.startswith("prep-")


def temporaries(directory):
    found = []
    for root, directories, files in os.walk(directory):
        found += [os.path.join(root, n) for n in directories + files if is_temporary(n)]
    return found


def has_tar_end(data):
    """Whether a reader of this tar would find its end."""
    at = 0
    while at + 512 <= len(data):
        header = data[at:at + 512]
        if not any(header):
            return not any(data[at + 512:at + 1024]) and len(data) >= at + 1024
        size = int(header[124:136].rstrip(b"\0 ") or b"0", 8)
        at += 512 + (size + 511) // 512 * 512
    return False


class Bench:
    """One job: its undisturbed run, and its disturbed ones."""

    def __init__(self, job, inputs, base, shim):
        self.job = job
        self.inputs = inputs
        self.shim = shim
        self.base = tempfile.mkdtemp(prefix="job-", dir=base)
        self.template = os.path.join(self.base, "template")
        os.mkdir(self.template)
        os.symlink(inputs, os.path.join(self.template, "in"))
        for command in job.before:
            subprocess.run(command, cwd=self.template, check=True, capture_output=True)
        self.old = contents(self.template)
        directory = self.new_directory()
        good = self.run(directory)
        if good.exit_code != job.good_exit:
            raise RuntimeError(f"{job.name}: undisturbed: exit {good.exit_code}: {good.stderr}")
        self.new = contents(directory)
        self.good = good
        shutil.rmtree(directory)

    def new_directory(self):
        directory = tempfile.mkdtemp(prefix="run-", dir=self.base)
        shutil.copytree(self.template, directory, symlinks=True, dirs_exist_ok=True)
        os.mkdir(os.path.join(directory, ".tmp-dir"))
        return directory

    def run(self, directory, fault=None, nth=0):
        environment = dict(os.environ, TMPDIR=os.path.join(directory, ".tmp-dir"), LC_ALL="C.UTF-8")
        state = directory + ".state"
        if fault:
            with open(state, "wb") as file:
                file.write(bytes(512))
            environment |= {"LD_PRELOAD": self.shim, "FAULT_STATE": state,
                            "FAULT": f"{fault.kind} {nth} {fault.error} {fault.how}"}
        stdin = open(os.path.join(directory, self.job.stdin), "rb") if self.job.stdin else None
        try:
            done = subprocess.run(self.job.command, cwd=directory, env=environment,
                                  capture_output=True, timeout=TIMEOUT_S,
                                  stdin=stdin or subprocess.DEVNULL)
            result = Result(done.returncode, done.stdout, done.stderr.decode(errors="replace"))
        except subprocess.TimeoutExpired as expired:
            result = Result(None, b"", (expired.stderr or b"").decode(errors="replace"))
        finally:
            if stdin:
                stdin.close()
        if self.job.measures:
            result.stdout = b""
        if fault:
            with open(state, "rb") as file:
                data = file.read()
            result.calls, result.failed = struct.unpack_from("QQ", data)
            result.what = data[16:].split(b"\0")[0].decode(errors="replace")
            os.unlink(state)
        return result

    def count(self, fault):
        directory = self.new_directory()
        calls = self.run(directory, fault).calls
        shutil.rmtree(directory)
        return calls

    def try_one(self, fault, nth):
        """Lets the nth call fail; what is wrong with what came of it, as a list of texts."""
        directory = self.new_directory()
        result = self.run(directory, fault, nth)
        wrong = []
        if result.failed == 0:
            # A run of several threads may make fewer calls than the one that was counted.
            if result.exit_code != self.job.good_exit:
                wrong.append(f"exit {result.exit_code} though nothing failed")
        else:
            wrong += self.wrong_end(result, fault)
            wrong += self.wrong_files(result, fault, directory)
            if not wrong and self.new:
                wrong += self.wrong_rerun(directory)
        shutil.rmtree(directory)
        return result, wrong

    def is_success(self, result):
        return result.exit_code == self.job.good_exit and result.exit_code == 0

    def wrong_end(self, result, fault):
        if result.exit_code is None:
            return ["it hangs"]
        if result.exit_code == -11 and "libgdal" in result.what:
            return []  # it crashes while OpenCV's codecs load it, before a line of ours has run
        if result.exit_code not in (0, 1, 3):
            return [f"exit {result.exit_code}"]
        if self.is_success(result):
            if result.stdout != self.good.stdout:
                return ["exit 0, but other data on standard output"]
            return []
        # What measures wants all the threads that it was told to measure with.
        is_harmless = fault.is_harmless and not (fault.kind == "thread" and self.job.measures)
        if is_harmless and result.exit_code != self.job.good_exit:
            return ["what can be tried again ended the run"]
        if result.exit_code == self.job.good_exit and result.stdout == self.good.stdout:
            return []
        if (self.job.is_tar_stream and result.stdout != self.good.stdout
                and has_tar_end(result.stdout)):
            return [f"exit {result.exit_code}, but the tar on standard output is complete"]
        return self.wrong_message(result, fault)

    def wrong_message(self, result, fault):
        tool = os.path.basename(self.job.command[0])
        errors = re.findall(rf"^{tool}: error: (.+)", result.stderr, re.MULTILINE)
        if self.job.prints_findings:
            errors += result.stdout.decode(errors="replace").splitlines()
        if not errors:
            return [f"exit {result.exit_code} without a message"]
        if re.search(r"terminate|what\(\)|std::|bad_alloc|exception", result.stderr):
            return ["a message for programmers"]
        if fault.kind in ("malloc", "map") and any("memory" in error for error in errors):
            return []
        if fault.kind == "malloc":
            return ["the message does not speak of memory"]
        if fault.kind == "thread":
            return []
        names = r"^\.: |(^|[ './])(in|out|raw|bad|report|stats|found)[/.:]|standard (in|out)put|tmp-dir|TMPDIR"
        return [] if any(re.search(names, e) for e in errors) else ["the message names no file"]

    def wrong_files(self, result, fault, directory):
        try:
            found = contents(directory)
        except ValueError as error:
            return [f"a report: {error}"]
        wrong = []
        if self.is_success(result) and found != self.new:
            wrong.append("exit 0, but other files: " + difference(found, self.new))
        report = found.pop("report.json", None)
        if report and json.loads(report)["exit_code"] != result.exit_code:
            wrong.append("report.json tells of another exit code")
        found.pop("bad.jsonl", None)
        for name, data in found.items():
            if self.job.salvages and result.exit_code == 3:
                break
            if data not in (self.old.get(name), self.new.get(name)):
                wrong.append(f"{name}: neither as before nor as it should be")
        for name in self.job.always_there:
            if name not in found:
                wrong.append(f"{name}: gone")
        wrong += self.wrong_seal(found, directory)
        # Without memory nothing may be found to be tidied up; the next run does.
        if fault.kind not in ("unlink", "malloc") and (left := temporaries(directory)):
            wrong.append("left behind: " + " ".join(os.path.relpath(p, directory) for p in left))
        return wrong

    def wrong_seal(self, found, directory):
        job = self.job
        if not job.seal or not os.path.exists(os.path.join(directory, job.seal)):
            return []
        if job.unless and os.path.exists(os.path.join(directory, job.unless)):
            return []
        for whole in (self.old, self.new):
            wanted = {k: v for k, v in whole.items() if k not in ("report.json", "bad.jsonl")}
            # Manifests of tasks that were merged may still be there: they say the same.
            if {k: v for k, v in found.items()
                    if k in wanted or not re.search(r"/manifest\.\d+-of-\d+\.json$", k)} == wanted:
                return []
        return [f"{job.seal} is there, but the files are not complete"]

    def wrong_rerun(self, directory):
        for name in self.job.removed_before_rerun:
            shutil.rmtree(os.path.join(directory, name), ignore_errors=True)
        result = self.run(directory)
        if result.exit_code != self.job.good_exit:
            return [f"run again: exit {result.exit_code}: {result.stderr.strip()}"]
        found = contents(directory)
        # What is already there is counted as skipped.
        wanted = dict(self.new)
        for changing in ("report.json", "bad.jsonl"):
            if (changing in found) != (changing in wanted):
                return [f"run again: {changing}"]
            found.pop(changing, None)
            wanted.pop(changing, None)
        if found != wanted:
            return ["run again: other files: " + difference(found, wanted)]
        return []


def difference(found, wanted):
    names = [n for n in sorted(found | wanted) if found.get(n) != wanted.get(n)]
    return " ".join(names)


def chosen(calls, most):
    """Which calls are to fail: all, or of many the first, the last, and a choice of the others."""
    if most <= 0 or calls <= most:
        return list(range(1, calls + 1))
    ends = max(1, most // 4)
    rest = random.Random(SEED).sample(range(ends + 1, calls - ends + 1), most - 2 * ends)
    return list(range(1, ends + 1)) + sorted(rest) + list(range(calls - ends + 1, calls + 1))


class Suite:
    def __init__(self, arguments, base):
        self.arguments = arguments
        self.base = base
        self.rows = {}  # (job, fault): [calls, tried, {exit code: count}, wrong]
        self.lock = threading.Lock()

    def run_all(self):
        arguments = self.arguments
        tools = os.path.abspath(arguments.tools)
        inputs = os.path.join(self.base, "inputs")
        os.mkdir(inputs)
        jobs_module.make_inputs(inputs, tools)
        jobs = [j for j in jobs_module.all_jobs(tools)
                if arguments.only in j.name and not (j.starts_slowly and arguments.most > 0)]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            def make(job):
                return Bench(job, inputs, self.base, os.path.abspath(arguments.shim))
            pairs = [(bench, fault) for bench in pool.map(make, jobs) for fault in FAULTS
                     if arguments.kind in str(fault)]
            counts = list(pool.map(lambda pair: pair[0].count(pair[1]), pairs))
            tries = []
            for (bench, fault), calls in zip(pairs, counts):
                if calls == 0:
                    continue
                self.rows[bench.job.name, fault] = [calls, 0, {}, 0]
                tries += [(bench, fault, n) for n in chosen(calls, arguments.most)]
            list(pool.map(lambda one: self.try_one(*one), tries))

    def try_one(self, bench, fault, nth):
        result, wrong = bench.try_one(fault, nth)
        with self.lock:
            row = self.rows[bench.job.name, fault]
            row[1] += 1
            row[2][result.exit_code] = row[2].get(result.exit_code, 0) + 1
            row[3] += bool(wrong)
            if wrong or self.arguments.verbose:
                self.tell(bench, fault, nth, result, wrong)

    @staticmethod
    def tell(bench, fault, nth, result, wrong):
        command = " ".join(map(shlex.quote, [os.path.basename(bench.job.command[0]),
                                             *bench.job.command[1:]]))
        print(f"{bench.job.name}, {fault}, call {nth} ({result.what}): "
              f"exit {result.exit_code}: {'; '.join(wrong) or 'good'}")
        print(f"    FAULT='{fault.kind} {nth} {fault.error} {fault.how}' {command}")
        for line in result.stderr.strip().splitlines()[:4]:
            print(f"    {line}")
        sys.stdout.flush()

    def print_table(self):
        print(f"{'job':20} {'what fails':24} {'calls':>6} {'tried':>6} "
              f"{'exit 0':>7} {'exit 1':>7} {'exit 3':>7} {'wrong':>6}")
        for (job, fault), (calls, tried, exits, wrong) in self.rows.items():
            print(f"{job:20} {fault!s:24} {calls:6} {tried:6} {exits.get(0, 0):7} "
                  f"{exits.get(1, 0):7} {exits.get(3, 0):7} {wrong:6}")
        rows = self.rows.values()
        most = self.arguments.most
        print(f"{sum(row[1] for row in rows)} runs of {sum(row[0] for row in rows)} that differ, "
              f"{sum(row[3] for row in rows)} wrong; " +
              (f"of more than {most} calls the first, the last and a choice of the others were tried"
               if most > 0 else "every call was tried"))

    def has_failed(self):
        return not self.rows or any(row[3] for row in self.rows.values())


def scratch_directory():
    """In memory, where there is room: the suite syncs all the time."""
    if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK):
        return "/dev/shm"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", help="the directory of the tools")
    parser.add_argument("shim", help="the library that lets calls fail")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="jobs with this in their name")
    parser.add_argument("--kind", default="", help="faults with this in their name")
    parser.add_argument("--most", type=int, default=0,
                        help="how many calls of a kind fail in a job (0: every one)")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="prep-faults-", dir=scratch_directory()) as base:
        suite = Suite(arguments, base)
        suite.run_all()
    suite.print_table()
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(suite.has_failed())


if __name__ == "__main__":
    main()
