"""Decodes files with OpenCV in one thread: how many a second, for each of so many turns after one
that does not count. opencv_loop.py imdecode|imread TURNS FILE...

Started with malloc told to keep what is freed, as a loader that reuses its buffers does; else each
picture's memory is asked for anew from the kernel, page by page.
"""
import os
import sys
import time

KEEP = {"MALLOC_MMAP_THRESHOLD_": str(4 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20)}
if any(os.environ.get(name) != value for name, value in KEEP.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP})

import cv2
import numpy as np

FLAGS = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION


def main():
    function, turns, paths = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    cv2.setNumThreads(1)
    if function == "imdecode":
        inputs, decode = [np.fromfile(path, np.uint8) for path in paths], cv2.imdecode
    else:
        inputs, decode = paths, cv2.imread
    for turn in range(turns + 1):
        start = time.process_time()
        for one in inputs:
            decode(one, FLAGS)
        if turn > 0:
            print("%.2f" % (len(paths) / (time.process_time() - start)))


if __name__ == "__main__":
    main()
