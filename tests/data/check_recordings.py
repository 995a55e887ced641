#!/usr/bin/python3
"""Checks what the readers make of the recordings of make_recordings.py.

    check_recordings.py DUMP_RECORDING [FOLDER]

DUMP_RECORDING is that program; without a FOLDER, the recordings are made for the occasion. Where
MNE is installed, recordings that it reads right are compared with it, too.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

RELATIVE = 1e-12  # of the largest value: double precision, with another order of operations


def same(ours, theirs, tolerance=RELATIVE):
    if ours.shape != theirs.shape:
        return False
    scale = np.nanmax(np.abs(theirs), initial=1)
    return np.allclose(ours, theirs, rtol=0, atol=tolerance * scale, equal_nan=True)


def dump(program, folder, entry):
    with tempfile.NamedTemporaryFile() as samples:
        files = [os.path.join(folder, name) for name in entry["files"]]
        command = [program, *entry.get("options", []), "--samples", samples.name, *files]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True)
        return done.returncode, json.loads(done.stdout), np.fromfile(samples.name, "<f8")


def faults_of(entry, folder, code, info, samples):
    """What is not as expected, in words."""
    if entry.get("none"):
        return [] if info is None else [f"taken for a recording: {info}"]
    if "error" in entry:
        right = code == 1 and info.get("error") == entry["error"]
        return [] if right else [f"expected {entry['error']}, got {str(info)[:200]}"]
    if code != 0:
        return [f"refused: {info}"]
    faults = []
    readable = [c for c in info["channels"] if c["kind"] != 2 and not c["fault"]]
    got = [{k: c[k] for k in ("name", "unit", "rate", "samples")} for c in readable]
    for ours, theirs in zip(got, entry["channels"]):
        if readable[got.index(ours)]["kind"] == 1:
            ours["unit"] = theirs["unit"]  # a status channel keeps the file's word
        if abs(ours["rate"] - theirs["rate"]) <= 1e-12 * theirs["rate"]:
            ours["rate"] = theirs["rate"]
    if got != entry["channels"]:
        faults.append(f"channels {got}, not {entry['channels']}")
    key = os.path.splitext(entry["files"][0])[0] if len(entry["files"]) > 1 else entry["files"][0]
    if not same(samples, np.fromfile(os.path.join(folder, key + ".expected"), "<f8")):
        faults.append("samples differ")
    segments = [[s["start"], s["first_record"], s["records"]] for s in info["segments"]]
    if not same(np.array(segments, float), np.array(entry["segments"], float)):
        faults.append(f"segments {segments}, not {entry['segments']}")
    annotations = [[a["onset"], a["duration"], a["text"]] for a in info["annotations"]]
    if annotations != entry["annotations"]:
        faults.append(f"annotations {annotations}, not {entry['annotations']}")
    if info["start"] != entry["start"]:
        faults.append(f"start {info['start']}")
    for words in entry["warnings"]:
        if not any(words in warning for warning in info["warnings"]):
            faults.append(f"no warning says '{words}': {info['warnings']}")
    return faults


def read_with_mne(path):
    import mne
    mne.set_log_level("ERROR")
    readers = {".edf": mne.io.read_raw_edf, ".bdf": mne.io.read_raw_bdf,
               ".vhdr": mne.io.read_raw_brainvision}
    ending = os.path.splitext(path)[1]
    # By the ending, MNE also tells whether it wants to read it at all: it knows no ".EDF".
    if ending not in readers:
        return None
    return readers[ending](path, preload=True, verbose="ERROR")


def mne_faults(entry, folder, info, samples):
    raw = read_with_mne(os.path.join(folder, entry["files"][0]))
    if raw is None:
        return None
    readable = [c for c in info["channels"] if c["kind"] != 2 and not c["fault"]]
    faults = []
    at = 0
    for channel, theirs in zip(readable, raw.get_data(units=None)):
        ours = samples[at:at + channel["samples"]]
        at += channel["samples"]
        if not same(ours, theirs * (1e6 if channel["unit"] else 1), 1e-9):
            faults.append(f"channel {channel['name']} differs from MNE's")
    if len(readable) != len(raw.ch_names):
        faults.append(f"MNE has channels {raw.ch_names}")
    if abs(raw.info["sfreq"] - readable[0]["rate"]) > 1e-9 * readable[0]["rate"]:
        faults.append(f"MNE has {raw.info['sfreq']} Hz")
    return faults


def check(program, folder):
    with_mne = importlib.util.find_spec("mne") is not None
    with open(os.path.join(folder, "expected.json")) as file:
        entries = json.load(file)
    bad = compared = 0
    for entry in entries:
        code, info, samples = dump(program, folder, entry)
        faults = faults_of(entry, folder, code, info, samples)
        if with_mne and entry["mne"] and not faults:
            theirs = mne_faults(entry, folder, info, samples)
            compared += theirs is not None
            faults = theirs or []
        for fault in faults:
            print(f"{entry['files'][0]}: {fault}")
        bad += bool(faults)
    print(f"{len(entries)} recordings, {bad} bad; {compared} compared with MNE")
    return bad == 0 and len(entries) > 0 and (compared > 10 or not with_mne)


def main():
    if len(sys.argv) > 2:
        sys.exit(0 if check(*sys.argv[1:]) else 1)
    maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_recordings.py")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, maker, folder], check=True)
        sys.exit(0 if check(sys.argv[1], folder) else 1)


if __name__ == "__main__":
    main()
