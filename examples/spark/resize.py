#!/usr/bin/env python3
"""prep-resize on a Spark cluster: spark-submit resize.py RAW OUT [TASKS]

RDD.pipe starts a tool in each partition. A partition is nothing but the number of its task: the tool
itself takes that task's share of the photos, by a hash of their names, so that Spark moves numbers
and no pictures. A task that Spark starts again does only what is missing. RAW and OUT are on a
file system that all workers share.
"""
import shlex
import sys


def command(raw, out, tasks):
    """Reads its number from the standard input, as RDD.pipe hands it over."""
    script = (f"read -r task; exec prep-resize {shlex.quote(raw)} -o {shlex.quote(out)} "
              f"--task $task/{tasks} --max-errors 0.1% -j 1 2>&1")
    return f"bash -c {shlex.quote(script)}"


def main():
    raw, out = sys.argv[1:3]
    tasks = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("prep-resize").getOrCreate()
    numbers = spark.sparkContext.parallelize(range(tasks), tasks)
    for line in numbers.pipe(command(raw, out, tasks), checkCode=True).collect():
        print(line)
    spark.stop()


if __name__ == "__main__":
    main()
