"""Times prep-stage sync and its peers, from a real S3 server on this machine into memory: 2,000 objects
of 100 kB, 4 of 256 MiB, both again with nothing to do, and the small ones with 20 ms of latency.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import time

import harness

DATA = os.path.join(harness.ROOT, "tests", "data")
OURS = "prep-stage sync"
LATENCY_MS = 20


class Server:
    """Ceph's gateway, and a proxy in front of it; `environment` reaches the one or the other."""

    def __init__(self, folder):
        self.folder = folder
        self.script = os.path.join(DATA, "s3_server.sh")
        subprocess.run([self.script, "start", folder], check=True, stdout=subprocess.DEVNULL)
        self.environment = dict(harness.one_thread_environment(), HOME=folder)
        with open(os.path.join(folder, "environment"), encoding="utf-8") as file:
            for line in file:
                name, _, value = line.strip().removeprefix("export ").partition("=")
                self.environment[name] = value.strip("'\"")
        self.host = self.environment["S3_HOST"]
        # rclone knows no such file for a server without TLS.
        self.environment.pop("AWS_CA_BUNDLE", None)
        port = os.path.join(folder, "port")
        self.proxy = subprocess.Popen(
            [sys.executable, os.path.join(DATA, "fault_proxy.py"), "--upstream", self.host,
             "--port-file", port, "latency ms=%d" % LATENCY_MS], env=self.environment)
        while not os.path.exists(port) or not os.path.getsize(port):
            time.sleep(0.05)
        with open(port, encoding="ascii") as file:
            self.slow_host = "127.0.0.1:" + file.read().strip()

    def stop(self):
        self.proxy.kill()
        self.proxy.wait()
        subprocess.run([self.script, "stop", self.folder], check=False)

    def at(self, host):
        return dict(self.environment, AWS_ENDPOINT_URL="http://" + host)

    def fill(self, bucket, source):
        command = s3cmd(self, self.host)
        subprocess.run([*command, "mb", "s3://" + bucket], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*command, "sync", source + "/", "s3://%s/set/" % bucket], check=True,
                       stdout=subprocess.DEVNULL)


def s3cmd(server, host):
    environment = server.environment
    return ["s3cmd", "--quiet", "--no-ssl", "--host=" + host, "--host-bucket=" + host,
            "--access_key=" + environment["AWS_ACCESS_KEY_ID"],
            "--secret_key=" + environment["AWS_SECRET_ACCESS_KEY"]]


def programs(build, server, host, bucket):
    """(name, version, command with {output})"""
    source = "s3://%s/set/" % bucket
    path = harness.tool(build, "prep-stage")
    yield OURS, harness.version_of(path), [path, "--quiet", "sync", source, "{output}"]
    if shutil.which("rclone"):
        remote = (":s3,provider=Ceph,env_auth=true,endpoint='http://%s':%s/set" % (host, bucket))
        yield "rclone", harness.version_of("rclone", "version"), [
            "rclone", "--config", "/dev/null", "sync", remote, "{output}", "--transfers", "32",
            "--checkers", "32", "--fast-list", "--multi-thread-streams", "4"]
    if shutil.which("s3cmd"):
        yield "s3cmd", harness.version_of("s3cmd"), [*s3cmd(server, host), "sync", source,
                                                     "{output}/"]
    if shutil.which("aws"):
        yield "aws s3 sync", harness.version_of("aws"), ["aws", "s3", "sync", "--quiet", source,
                                                         "{output}"]


def timed(command, environment, output):
    words = [word.replace("{output}", output) for word in command]
    start = time.perf_counter()
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        harness.fail("%s ended with %d: %s" % (words[0], done.returncode, done.stderr.decode()))
    return seconds


def measure(found, environment, output, runs):
    """{name: (seconds from nothing, seconds with nothing to do)}, medians of interleaved runs"""
    fresh, again = {}, {}
    for turn in range(runs + 1):
        for name, _, command in found:
            harness.show_progress("turn %d of %d: %s" % (turn, runs, name))
            os.makedirs(output)
            first = timed(command, environment, output)
            second = timed(command, environment, output)
            shutil.rmtree(output)
            if turn > 0:
                fresh.setdefault(name, []).append(first)
                again.setdefault(name, []).append(second)
    harness.show_progress("")
    return {name: (sorted(fresh[name])[runs // 2], sorted(again[name])[runs // 2])
            for name in fresh}


def write_objects(folder, count, size):
    os.makedirs(folder)
    for i in range(count):
        with open(os.path.join(folder, "%06d.bin" % i), "wb") as file:
            for _ in range(max(1, size >> 20)):
                file.write(random.randbytes(min(size, 1 << 20)))


def main():
    parser = argparse.ArgumentParser(prog="run.sh stage", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--small", type=int, default=2000, help="how many objects of 100 kB")
    parser.add_argument("--large", type=int, default=4, help="how many objects of 256 MiB")
    parser.add_argument("--build", default=os.path.join(harness.ROOT, "build"), metavar="DIR")
    parser.add_argument("--json", metavar="F", help="write the figures to this file")
    arguments = parser.parse_args()
    random.seed(1)
    results = {}
    with harness.scratch_folder() as scratch:
        server = Server(os.path.join(scratch, "server"))
        try:
            for bucket, count, size in (("small", arguments.small, 100_000),
                                        ("large", arguments.large, 256 << 20)):
                if count == 0:
                    continue
                source = os.path.join(scratch, bucket)
                write_objects(source, count, size)
                server.fill(bucket, source)
                shutil.rmtree(source)
                found = list(programs(arguments.build, server, server.host, bucket))
                results["%d x %s" % (count, "100 kB" if size < 1 << 20 else "256 MiB")] = measure(
                    found, server.at(server.host), os.path.join(scratch, "out"), arguments.runs)
            if arguments.small:
                found = list(programs(arguments.build, server, server.slow_host, "small"))
                results["%d x 100 kB, %d ms" % (arguments.small, LATENCY_MS)] = measure(
                    found, server.at(server.slow_host), os.path.join(scratch, "out"),
                    arguments.runs)
        finally:
            server.stop()
    report(results, {name: version for name, version, _ in found})
    if arguments.json:
        harness.write_json(arguments.json, {"machine": harness.machine(), "seconds": results})


def report(results, versions):
    columns = ["program", "version"]
    for what in results:
        columns += [what + ", s", "again, s"]
    rows = [[name, version] + ["%.2f" % seconds for what in results
                               for seconds in results[what][name]]
            for name, version in versions.items()]
    print("from a server on the same machine to memory; medians of interleaved runs, %s\n"
          % harness.cpu_model())
    print(harness.markdown_table(columns, rows))


if __name__ == "__main__":
    main()
