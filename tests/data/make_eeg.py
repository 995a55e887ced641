#!/usr/bin/python3
"""Writes a small EEG data set that looks like those that hospitals have: make_eeg.py FOLDER

p1/a.edf, p1/b.edf: the 10-20 system and an EKG, 256 Hz, 40 s; p2/a.edf: other spellings of the same
electrodes, with annotations; p3/a.edf: a gap of 20 s in the middle (EDF+D). A label beside each.
"""
import os
import sys

import numpy as np

from make_recordings import Annotations, Signal, edf, keeper

RATE, SECONDS = 256, 40
ELECTRODES = ("Fp1 Fp2 F7 F3 Fz F4 F8 T7 C3 Cz C4 T8 P7 P3 Pz P4 P8 O1 O2").split()
OLD_NAMES = {"T7": "T3", "T8": "T4", "P7": "T5", "P8": "T6"}


def brain(seed, seconds=SECONDS):
    """Alpha waves that come and go over noise that falls with the frequency; microvolts."""
    random = np.random.default_rng(seed)
    time = np.arange(RATE * seconds) / RATE
    noise = np.cumsum(random.normal(0, 2, time.size))
    noise -= np.convolve(noise, np.ones(RATE) / RATE, "same")
    alpha = 30 * np.sin(2 * np.pi * (9.5 + 0.1 * (seed % 5)) * time) * (np.sin(time / 3 + seed) > 0)
    return np.clip(np.round((alpha + noise) / 0.1), -32768, 32767).astype(int)


def signals(labels, seed, seconds=SECONDS):
    def signal(i, label):
        samples = brain(seed * 100 + i, seconds)
        return Signal(label, RATE, data=lambda r: samples[r * RATE:(r + 1) * RATE])
    return [signal(i, label) for i, label in enumerate(labels)]


def main():
    folder = sys.argv[1]

    def write(name, data):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    clinic = [f"EEG {OLD_NAMES.get(e, e).upper()}-REF" for e in ELECTRODES] + ["EKG1"]
    for i, name in enumerate(("a", "b")):
        write(f"p1/{name}.edf", edf(signals(clinic, i), SECONDS))
        write(f"p1/{name}.cls", b"%d\n" % i)
    write("p2/a.cls", b"1\n")
    write("p3/a.cls", b"0\n")
    notes = [keeper(i) for i in range(SECONDS)]
    notes[10] = keeper(10, b"+10.5\x155\x14seizure\x14\0")
    notes[25] = keeper(25, b"+25.25\x150.5\x14blink\x14\0")
    write("p2/a.edf", edf(signals([e + "." for e in ELECTRODES[::-1]], 2) + [Annotations(notes, 32)],
                          SECONDS, reserved="EDF+C"))
    gap = [keeper(i if i < SECONDS // 2 else i + 20) for i in range(SECONDS)]
    write("p3/a.edf", edf(signals(ELECTRODES, 3) + [Annotations(gap, 32)], SECONDS,
                          reserved="EDF+D"))


if __name__ == "__main__":
    main()
