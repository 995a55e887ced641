#!/usr/bin/python3
"""Writes small recordings of every kind that the readers meet, sound and faulty, into a folder.

    make_recordings.py FOLDER

Beside them stands expected.json: for each recording its parts (files), the options that it needs,
and what a reader must make of it: the error, or channels with their samples, segments, annotations,
the start, and words that a warning must have. "mne": whether MNE reads it right, too.
"""
import json
import os
import struct
import sys

import numpy as np

MICROVOLT = "\u00b5V"


def field(value, width):
    raw = value if isinstance(value, bytes) else str(value).encode("latin1")
    return raw.ljust(width)[:width]


class Signal:
    """A signal of an EDF or BDF file, and the digital samples of each of its records."""

    def __init__(self, label="Fp1", samples=64, unit="uV", physical=(-3276.8, 3276.7),
                 digital=(-32768, 32767), data=None, seed=0):
        self.label, self.samples, self.unit = label, samples, unit
        self.physical, self.digital, self.data, self.seed = physical, digital, data, seed

    def record(self, index):
        if self.data is not None:
            return np.asarray(self.data(index), dtype=np.int64)
        time = (np.arange(self.samples) + index * self.samples) / self.samples
        wave = 900 * np.sin(2 * np.pi * (3 + self.seed) * time) + 37 * self.seed
        return np.round(wave).astype(np.int64)

    def values(self, records):
        number = lambda text: float(str(text).replace(",", ".").strip("\0"))
        low, high = map(number, self.physical)
        first, last = map(number, self.digital)
        digital = np.concatenate([self.record(i) for i in records]).astype(float)
        return (digital - first) * (high - low) / (last - first) + low


class Annotations:
    """An annotation signal: the bytes of each record."""

    def __init__(self, lists, samples=32, label="EDF Annotations"):
        self.lists, self.samples, self.label = lists, samples, label
        self.unit, self.physical, self.digital = "", (-1, 1), (-32768, 32767)


def record_bytes(signal, index, width):
    if isinstance(signal, Annotations):
        return signal.lists[index].ljust(signal.samples * width, b"\0")
    low = signal.record(index).astype("<i4").view("u1").reshape(-1, 4)[:, :width]
    return low.tobytes()


def value_of(signal, name):
    if name is None:
        return ""
    return getattr(signal, name) if isinstance(name, str) else getattr(signal, name[0])[name[1]]


def edf(signals, records=4, bdf=False, duration="1", reserved="", header_bytes=None, said=None,
        date="31.12.19", time="23.58.57", version=None, recording="Startdate 31-DEC-2019 X X X",
        patient="X X X X", tail=b"", cut=0):
    count = len(signals)
    version = version or (b"\xffBIOSEMI" if bdf else b"0")
    out = field(version, 8) + field(patient, 80) + field(recording, 80)
    out += field(date, 8) + field(time, 8)
    out += field(256 * (count + 1) if header_bytes is None else header_bytes, 8)
    out += field(reserved, 44) + field(records if said is None else said, 8)
    out += field(duration, 8) + field(count, 4)
    columns = ((16, "label"), (80, None), (8, "unit"), (8, ("physical", 0)), (8, ("physical", 1)),
               (8, ("digital", 0)), (8, ("digital", 1)), (80, None), (8, "samples"), (32, None))
    for width, name in columns:
        for signal in signals:
            out += field(value_of(signal, name), width)
    for index in range(records):
        for signal in signals:
            out += record_bytes(signal, index, 3 if bdf else 2)
    out += tail
    return out[:-cut] if cut else out


def keeper(onset, *lists):
    """The annotations of a record that starts at `onset`."""
    return b"+%s\x14\x14\0" % str(onset).encode() + b"".join(lists)


class Folder:
    def __init__(self, path):
        self.path, self.expected = path, []
        os.makedirs(path, exist_ok=True)

    def write(self, name, data):
        with open(os.path.join(self.path, name), "wb") as file:
            file.write(data)

    def add(self, name, data, channels=None, **expected):
        """`data`: bytes, or the bytes of each part by its ending. `channels`: name, unit, rate,
        values of those that can be read."""
        parts = data if isinstance(data, dict) else {"": data}
        files = []
        for ending, raw in parts.items():
            files.append(name + ending)
            self.write(files[-1], raw)
        entry = {"files": files, "mne": False, "warnings": [], **expected}
        if channels is not None:
            np.concatenate([c[3] for c in channels]).astype("<f8").tofile(
                os.path.join(self.path, name + ".expected"))
            entry["channels"] = [{"name": c[0], "unit": c[1], "rate": c[2], "samples": len(c[3])}
                                 for c in channels]
        self.expected.append(entry)

    def add_edf(self, name, signals, records=4, held=None, faults=(), start="2019-12-31T23:58:57",
                segments=None, annotations=(), mne=True, warnings=(), scale=1, unit=MICROVOLT,
                rate_of=None, names=None, **options):
        """A sound or repairable EDF: `held` is how many whole records there are, `faults` the
        labels of signals that can't be read."""
        held = range(records if held is None else held)
        readable = [s for s in signals if isinstance(s, Signal) and s.label not in faults]
        duration = float(str(options.get("duration", "1")).replace(",", "."))
        channels = []
        for i, s in enumerate(readable):
            channels.append((names[i] if names else s.label, unit, s.samples / duration,
                             s.values(held) * scale))
        self.add(name, edf(signals, records, **options), channels, start=start, mne=mne,
                 warnings=list(warnings), annotations=list(annotations),
                 segments=segments or [[0, 0, len(held)]])


def add_sound_edf(folder):
    two = [Signal("Fp1"), Signal("Fp2", seed=1)]
    folder.add_edf("plain.edf", two)
    folder.add_edf("upper-case.EDF", two)
    folder.add_edf("one-record.edf", two, records=1)
    folder.add_edf("inverted.edf", [Signal(physical=(3276.8, -3276.7))])
    folder.add_edf("millivolts.edf", [Signal(unit="mV")], scale=1e3)
    folder.add_edf("nanovolts.edf", [Signal(unit="nV")], scale=1e-3, mne=False)
    folder.add_edf("volts.edf", [Signal(unit="V", physical=(-1, 1))], scale=1e6)
    for number, mu in enumerate((b"\xb5V", "\u00b5V".encode(), "\u03bcV".encode())):
        folder.add_edf(f"mu-{number}.edf", [Signal(unit=mu)], mne=False)
    folder.add_edf("mixed-rates.edf", [Signal("A", 1000), Signal("B", 999), Signal("C", 1)],
                   mne=False)
    folder.add_edf("short-records.edf", [Signal("A", 5), Signal("B", 5, seed=2)], records=400,
                   duration="0.01")
    folder.add_edf("odd-duration.edf", [Signal("A", 64)], duration="0.999939")
    folder.add_edf("long-records.edf", [Signal("A", 30000), Signal("B", 30000, seed=1),
                                        Signal("C", 100000, seed=2)], records=3, duration="100",
                   mne=False)
    many = [Signal(f"E{i}", 700, seed=i % 7) for i in range(64)]
    folder.add_edf("many-channels.edf", many, records=5)
    folder.add_edf("old-date.edf", two, date="01.02.85", recording="", start="1985-02-01T23:58:57")
    folder.add_edf("far-date.edf", two, date="01.02.84", recording="", start="2084-02-01T23:58:57")


def add_bdf(folder):
    wide = dict(physical=(-262144, 262143), digital=(-8388608, 8388607))
    deep = Signal("Fp1", 64, data=lambda i: np.arange(64) * 260000 - 8388608 + i, **wide)
    folder.add_edf("wide.bdf", [deep, Signal("Fp2", 64, seed=1, **wide)], bdf=True)
    folder.add_edf("status.bdf", [
        Signal("Fp1", 64, data=lambda i: np.full(64, -3000 + i), **wide),
        Signal("Status", 64, physical=(-8388608, 8388607), digital=(-8388608, 8388607),
               data=lambda i: np.full(64, 0x90000 + i + 1))], bdf=True, mne=False)
    lists = [keeper(i) for i in range(4)]
    lists[2] += b"+2.5\x150.5\x14blink\x14\0"
    folder.add_edf("plus.bdf", [Signal("Fp1", 64, **wide),
                                Annotations(lists, 32, "BDF Annotations")],
                   bdf=True, reserved="BDF+C", mne=False, annotations=[[2.5, 0.5, "blink"]])


def add_wrong_headers(folder):
    two = [Signal("Fp1"), Signal("Fp2", seed=1)]
    folder.add_edf("records-unknown.edf", two, said="-1", warnings=["how many records"])
    folder.add_edf("records-too-many.edf", two, said="10", warnings=["10 records"])
    folder.add_edf("records-too-few.edf", two, said="3", warnings=["3 records"], mne=False)
    folder.add_edf("records-blank.edf", two, said="", warnings=["how many records"], mne=False)
    folder.add_edf("cut.edf", two, held=3, cut=50, warnings=["4 records", "206 bytes"], mne=False)
    folder.add_edf("trailing.edf", two, tail=b"\0" * 7, warnings=["7 bytes"])
    folder.add_edf("header-length.edf", two, header_bytes="512", warnings=["512 bytes"], mne=False)
    folder.add_edf("commas.edf", [Signal(physical=("-3276,8", "3276,7"))], duration="1,0",
                   mne=False)
    folder.add_edf("nuls.edf", [Signal(unit=b"uV\0\0", digital=("-32768\0", "32767"))], mne=False)
    folder.add_edf("version.edf", two, version=b"\x000", mne=False)
    folder.add_edf("latin1.edf", two, patient=b"X M 01-JAN-1980 Ren\xe9")
    folder.add_edf("no-date.edf", two, date="00.00.00", time="  :  :  ", start=None, mne=False,
                   warnings=["no date and time"])
    folder.add_edf("hour-24.edf", two, time="24.00.00", start=None, mne=False,
                   warnings=["no date and time"])
    folder.add_edf("same-labels.edf", [Signal("T8-P8"), Signal("T8-P8", seed=1)],
                   names=["T8-P8", "T8-P8:2"], mne=False)
    folder.add_edf("dummy.edf", [Signal("Fp1"), Signal("-", digital=(0, 0))], faults=["-"],
                   mne=False)
    folder.add_edf("flat-range.edf", [Signal("Fp1"), Signal("x", physical=(5, 5))], faults=["x"],
                   mne=False)
    folder.add_edf("no-range.edf", [Signal("Fp1"), Signal("x", physical=("a", "b"))], faults=["x"],
                   mne=False)
    folder.add_edf("out-of-range.edf", [Signal(physical=(-100, 100), digital=(-100, 100))])
    folder.add_edf("no-unit.edf", [Signal(unit="")], unit="", mne=False)
    folder.add_edf("unknown-unit.edf", [Signal(unit=".V")], unit=".V", mne=False)
    folder.add_edf("saturation.edf", [Signal("SpO2", unit="%")], unit="%", mne=False)


def add_edf_plus(folder):
    one = Signal("Fp1")
    gap = [keeper(0), keeper(1), keeper(10), keeper(11, b"+11.5\x150.25\x14spike\x14\0")]
    spike = [[11.5, 0.25, "spike"]]
    two_segments = [[0, 0, 2], [10, 2, 2]]
    folder.add_edf("gap.edf", [one, Annotations(gap)], reserved="EDF+D", annotations=spike,
                   segments=two_segments, mne=False)
    folder.add_edf("gap-mislabelled.edf", [one, Annotations(gap)], reserved="EDF+C",
                   annotations=spike, segments=two_segments, mne=False, warnings=["gaps"])
    unended = gap[:3] + [b"+11\x14\x14+11.5\x150.25\x14spike\x14\0"]
    folder.add_edf("gap-unended.edf", [one, Annotations(unended)], reserved="EDF+D",
                   annotations=spike, segments=two_segments, mne=False)
    folder.add_edf("no-gap.edf", [one, Annotations([keeper(i) for i in range(4)])],
                   reserved="EDF+D", mne=False)
    small = [keeper(0), keeper(1), keeper(2 + 1 / 64), keeper(3 + 1 / 64)]
    folder.add_edf("gap-of-a-sample.edf", [one, Annotations(small)], reserved="EDF+D", mne=False,
                   segments=[[0, 0, 2], [2 + 1 / 64, 2, 2]])
    back = [keeper(5), keeper(6), keeper(2), keeper(3)]
    folder.add_edf("backwards.edf", [one, Annotations(back)], reserved="EDF+D", mne=False,
                   segments=[[5, 0, 2], [2, 2, 2]], warnings=["backwards"])
    folder.add_edf("offset.edf", [one, Annotations([keeper(i + 0.5) for i in range(4)])],
                   reserved="EDF+C", segments=[[0.5, 0, 4]], mne=False)
    folder.add_edf("annotations-first.edf", [Annotations([keeper(i) for i in range(4)]), one],
                   reserved="EDF+C")
    main = [keeper(i, b"+%d.25\x14a\x14b\x14\0" % i) for i in range(4)]
    more = [b"+%d\x14\x14+%d.75\x1502\x14c\x14\0" % (i, i) for i in range(4)]
    texts = sorted(t for i in range(4)
                   for t in ([i + .25, None, "a"], [i + .25, None, "b"], [i + .75, 2, "c"]))
    folder.add_edf("two-annotation-signals.edf", [Annotations(main), one, Annotations(more)],
                   reserved="EDF+C", annotations=texts, mne=False)
    latin = [keeper(0, b"+0.5\x14\xe9v\xe9nement\x14\0")] + [keeper(i) for i in (1, 2, 3)]
    folder.add_edf("annotation-latin1.edf", [one, Annotations(latin)], reserved="EDF+C", mne=False,
                   annotations=[[0.5, None, "\u00e9v\u00e9nement"]], warnings=["Latin-1"])
    broken = [keeper(0), b"nonsense", b"+2\x14\x14\0+x\x14y\x14\0", b"\0" * 64]
    folder.add_edf("annotations-broken.edf", [one, Annotations(broken)], reserved="EDF+C",
                   mne=False, warnings=["not as EDF+", "no time"])


def add_refused_edf(folder):
    two = [Signal("Fp1"), Signal("Fp2", seed=1)]

    def refuse(name, data, error):
        folder.add(name, data, error=error)

    refuse("no-duration.edf", edf(two, duration="0"), "corrupt")
    refuse("negative-duration.edf", edf(two, duration="-1"), "corrupt")
    refuse("only-header.edf", edf(two, records=0), "empty")
    refuse("half-a-record.edf", edf(two, cut=3 * 256 + 100), "truncated")
    refuse("half-a-header.edf", edf(two)[:600], "truncated")
    refuse("only-annotations.edf", edf([Annotations([keeper(i) for i in range(4)])], duration="0"),
           "unsupported")
    refuse("no-signals.edf", edf([], records=0), "corrupt")
    refuse("samples-negative.edf", edf([Signal()]).replace(b"64      ", b"-64     "), "corrupt")
    loud = Signal(data=lambda i: np.arange(64) * 1000 - 32000)
    for ending, raw in (("edf", edf([loud])), ("bdf", edf([loud], bdf=True))):
        refuse("mangled." + ending, raw.decode("utf-8", "replace").encode(), "corrupt")
    refuse("mangled-header.edf",
           edf([Signal(unit=b"\xb5V")]).decode("utf-8", "replace").encode(), "corrupt")


def brainvision_header(name, channels, data=".eeg", markers=".vmrk", interval="3906.25",
                       orientation="MULTIPLEXED", binary="INT_16", extra="", marker_line=True,
                       big=False):
    lines = ["Brain Vision Data Exchange Header File Version 1.0", "; made by a test", "",
             "[Common Infos]", "Codepage=UTF-8", f"DataFile={name}{data}"]
    if marker_line:
        lines.append(f"MarkerFile={name}{markers}")
    lines += ["DataFormat=BINARY", f"DataOrientation={orientation}",
              f"NumberOfChannels={len(channels)}", f"SamplingInterval={interval}"]
    lines += [extra] if extra else []
    lines += ["", "[Binary Infos]", f"BinaryFormat={binary}"]
    lines += ["UseBigEndianOrder=YES"] if big else []
    lines += ["", "[Channel Infos]"]
    lines += [f"Ch{i + 1}={line}" for i, line in enumerate(channels)]
    lines += ["", "[Comment]", "Ch1=not,this,9,V"]
    return "\r\n".join(lines).encode() + b"\r\n"


def brainvision_markers(name, lines):
    head = ["Brain Vision Data Exchange Marker File, Version 1.0", "[Common Infos]",
            f"DataFile={name}.eeg", "[Marker Infos]"]
    return "\r\n".join(head + [f"Mk{i + 1}={m}" for i, m in enumerate(lines)]).encode() + b"\r\n"


def add_brainvision(folder):
    counts = (np.arange(600).reshape(3, 200) * 37 % 2001 - 1000)
    names = ["Fp1,,0.1," + MICROVOLT, "EEG\\1left,,0.5,mV", "Cz,,,"]
    scale = np.array([[0.1], [500], [1]])
    rate = 256
    marks = ["New Segment,,1,1,0,20131113161403794232", "Stimulus,S  1,51,1,0",
             "Comment,a\\1b,101,20,0", "Stimulus,S  9,9999,1,0"]
    found = [[0, None, "New Segment/"], [50 / rate, None, "Stimulus/S  1"],
             [100 / rate, 20 / rate, "Comment/a,b"]]

    def channels(values):
        return [(n, MICROVOLT, rate, v) for n, v in zip(("Fp1", "EEG,left", "Cz"), values)]

    def add(name, raw, header=None, markers=None, values=counts * scale, **expected):
        parts = {".vhdr": header or brainvision_header(name, names), ".eeg": raw,
                 ".vmrk": brainvision_markers(name, marks if markers is None else markers)}
        expected = {"start": "2013-11-13T16:14:03", "annotations": found,
                    "segments": [[0, 0, values.shape[1]]], "warnings": ["1 markers"],
                    "mne": True, **expected}
        folder.add(name, parts, channels(values), **expected)

    add("bv-multiplexed", counts.T.astype("<i2").tobytes())
    add("bv-vectorized", counts.astype("<i2").tobytes(),
        brainvision_header("bv-vectorized", names, orientation="VECTORIZED",
                           extra="DataPoints=200"))
    add("bv-float", (counts.T / 7).astype("<f4").tobytes(),
        brainvision_header("bv-float", names, binary="IEEE_FLOAT_32"),
        values=(counts / 7).astype("<f4").astype(float) * scale)
    add("bv-int32-big", counts.T.astype(">i4").tobytes(),
        brainvision_header("bv-int32-big", names, binary="INT_32", big=True), mne=False)
    add("bv-base-name", counts.T.astype("<i2").tobytes(),
        brainvision_header("$b", names), mne=False)
    add("bv-folder", counts.T.astype("<i2").tobytes(),
        brainvision_header("C:\\data\\bv-folder", names), mne=False)
    add("bv-renamed", counts.T.astype("<i2").tobytes(), brainvision_header("before", names),
        warnings=["before.eeg", "before.vmrk"], mne=False)
    add("bv-commas", counts.T.astype("<i2").tobytes(),
        brainvision_header("bv-commas", ["Fp1,,0,1," + MICROVOLT, "EEG\\1left,,0,5,mV", "Cz,,,"]),
        warnings=["decimal commas"], mne=False)
    add("bv-cut", counts.T.astype("<i2").tobytes()[:-4], values=(counts * scale)[:, :-1],
        warnings=["2 bytes"], mne=False)
    stop = marks[:1] + ["New Segment,,101,1,0,20131113161413794232"]
    add("bv-paused", counts.T.astype("<i2").tobytes(), markers=stop, warnings=[],
        annotations=[[0, None, "New Segment/"], [10, None, "New Segment/"]],
        segments=[[0, 0, 100], [10, 100, 100]], mne=False)
    latin = brainvision_header("bv-latin1", names).decode().encode("latin1")
    add("bv-latin1", counts.T.astype("<i2").tobytes(), latin.replace(b"UTF-8", b"ANSI"), mne=False)

    raw = counts.T.astype("<i2").tobytes()
    refused = {"bv-ascii": (b"=BINARY", b"=ASCII", "unsupported"),
               "bv-frequency": (b"[Binary", b"DataType=FREQUENCYDOMAIN\r\n[Binary", "unsupported"),
               "bv-uint8": (b"INT_16", b"UINT_8", "unsupported"),
               "bv-no-interval": (b"3906.25", b"0", "corrupt"),
               "bv-many-channels": (b"NumberOfChannels=3", b"NumberOfChannels=4", "corrupt"),
               "bv-no-data": (b".eeg", b".dat", "not-found"),
               "bv-outside": (b"bv-outside.eeg", b"../../etc/passwd", "not-found")}
    for name, (old, new, error) in refused.items():
        header = brainvision_header(name, names).replace(old, new)
        folder.add(name, {".vhdr": header, ".eeg": raw}, error=error)
    folder.add("bv-vectorized-cut", {".vhdr": brainvision_header(
        "bv-vectorized-cut", names, orientation="VECTORIZED", extra="DataPoints=200"),
        ".eeg": raw[:-100]}, error="truncated")
    folder.add("bv-empty", {".vhdr": brainvision_header("bv-empty", names), ".eeg": b""},
               error="empty")


def npy_bytes(array, version=None):
    import io
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def add_npy(folder):
    values = np.random.default_rng(1).normal(0, 100, (3, 50))

    def add(name, array, options=(), warnings=(), version=None, raw=None):
        want = (array.T if "--time-channels" in options else array).astype(float)
        channels = [(str(i + 1), "", 128, row) for i, row in enumerate(want)]
        folder.add(name, raw or npy_bytes(array, version), channels,
                   options=["--rate", "128", *options], segments=[[0, 0, want.shape[1]]],
                   annotations=[], start=None, warnings=list(warnings))

    for kind in ("<f4", ">f4", "<f8", ">f8", "<i2", ">i2", "<i4", ">i4"):
        name = "npy-" + kind.replace("<", "little-").replace(">", "big-")
        add(name + ".npy", values.astype(kind))
        add(name + "-fortran.npy", np.asfortranarray(values.astype(kind)))
        add(name + "-time-first.npy", np.ascontiguousarray(values.T.astype(kind)),
            ["--time-channels"])
        add(name + "-time-first-fortran.npy", np.asfortranarray(values.T.astype(kind)),
            ["--time-channels"])
    add("npy-version-2.npy", values, version=(2, 0))
    add("npy-version-3.npy", values, version=(3, 0))
    add("npy-trailing.npy", values, raw=npy_bytes(values) + b"xyz", warnings=["3 bytes"])
    add("npy-turned.npy", values.T.copy(), warnings=["--npy-layout"])
    rate = ["--rate", "128"]
    folder.add("npy-cut.npy", npy_bytes(values)[:-1], error="truncated", options=rate)
    folder.add("npy-no-rate.npy", npy_bytes(values), error="usage")
    folder.add("npy-vector.npy", npy_bytes(values[0]), error="unsupported", options=rate)
    folder.add("npy-int64.npy", npy_bytes(values.astype("<i8")), error="unsupported", options=rate)
    folder.add("npy-fields.npy", npy_bytes(np.zeros((2, 3), "<f4,<i4")), error="unsupported",
               options=rate)
    folder.add("npy-nothing.npy", npy_bytes(values[:, :0]), error="empty", options=rate)
    huge = npy_bytes(values).replace(b"(3, 50)", b"(3, 4611686018427387905)")
    folder.add("npy-huge.npy", huge, error="truncated", options=rate)


def add_csv(folder):
    rows = np.random.default_rng(2).normal(0, 50, (80, 3)).round(3)
    time = np.arange(80) / 256
    names = ["Fp1", "Fp2", "EKG"]

    def add(name, text, values=rows, channels=names, rate=256, segments=None, warnings=(), unit="",
            options=()):
        folder.add(name, text.encode(), [(n, unit, rate, v) for n, v in zip(channels, values.T)],
                   segments=segments or [[0, 0, len(values)]], annotations=[], start=None,
                   warnings=list(warnings), options=list(options))

    def table(header=None, clock=None, comma=",", decimal=".", values=rows, end="\n"):
        lines = [comma.join(header)] if header else []
        for i, row in enumerate(values):
            cells = ([f"{clock[i]:.6f}"] if clock is not None else []) + [str(v) for v in row]
            lines.append(comma.join(c.replace(".", decimal) for c in cells))
        return end.join(lines) + end

    rate = ["--rate", "256"]
    numbered = ["1", "2", "3"]
    add("csv-time.csv", table(["time"] + names, time))
    add("csv-crlf.csv", "\ufeff" + table(["Time (s)"] + names, time, end="\r\n"))
    add("csv-milliseconds.csv", table(["time_ms"] + names, time * 1000))
    add("csv-tab.txt", table(["time"] + names, time, "\t"))
    add("csv-german.csv", table(["Time"] + names, time, ";", ","))
    add("csv-quoted.csv", table(['"time"'] + [f'"{n}"' for n in names], time))
    add("csv-no-time.csv", table(names), options=rate)
    add("csv-bare.csv", table(), channels=numbered, options=rate)
    add("csv-bare-time.csv", table(clock=time), channels=numbered, warnings=["time in seconds"])
    add("csv-index.csv", table([""] + names, np.arange(80)), options=rate, warnings=["counts rows"])
    add("csv-units.csv", table(["time"] + [n + " (mV)" for n in names], time), rows * 1000,
        unit=MICROVOLT)
    add("csv-comment.csv", "# made by a test\n%x\n" + table(["time"] + names, time))
    add("csv-no-end.csv", table(["time"] + names, time)[:-1])
    add("csv-blank-end.csv", table(["time"] + names, time) + "\n\n")
    jump = np.where(np.arange(80) < 50, time, time + 10)
    add("csv-gap.csv", table(["time"] + names, jump),
        segments=[[0, 0, 50], [round(10 + 50 / 256, 6), 50, 30]])
    holes = rows.copy()
    holes[3, 1] = holes[7, 2] = np.nan
    text = table(["time"] + names, time, values=holes)
    add("csv-nan.csv", text.replace("nan", "", 1).replace("nan", "NA"), holes)

    def refuse(name, text, error, options=rate):
        folder.add(name, text.encode(), error=error, options=options)

    refuse("csv-ragged.csv", table(names) + "1,2\n", "corrupt")
    refuse("csv-word.csv", table(names) + "1,2,three\n", "corrupt")
    refuse("csv-blank.csv", table(names) + "\n1,2,3\n", "corrupt")
    refuse("csv-quote.csv", table(names) + '1,2,"3\n', "corrupt")
    refuse("csv-time-back.csv", table(["time"] + names, time) + "0,1,2,3\n", "corrupt", [])
    refuse("csv-no-rate.csv", table(names), "usage", [])
    refuse("csv-two-rates.csv", table(["time"] + names, time), "usage", ["--rate", "250"])


def add_others(folder):
    """What is no recording, and must be said to be none; what is one that is not read."""
    others = {"label.cls": b"3\n", "caption.txt": b"A cat, sitting.\nOn a mat, black.\n",
              "a.json": b'{"a": [1, 2,\n3, 4]}\n', "a.jpg": b"\xff\xd8\xff\xe0" + b"\0" * 300,
              "zeros.bin": b"\0" * 1000, "empty.edf": b"", "edf-in-name-only.edf": b"hello\n" * 99,
              "labels.txt": b"1,2,3\n",
              "events.tsv": b"onset\tduration\ttype\n1\t2\tgo\n2\t2\tstop\n",
              "list.txt": b"\n".join(b"%d" % i for i in range(20)) + b"\n"}
    for name, raw in others.items():
        folder.add(name, raw, none=True)
    for name, head in {"a.gdf": b"GDF 2.20", "a.parquet": b"PAR1", "a.cnt": b"Version 3.0"}.items():
        folder.add(name, head + struct.pack("<99i", *range(99)).replace(b"\n", b"\0"),
                   error="unsupported")


def main():
    folder = Folder(sys.argv[1])
    for add in (add_sound_edf, add_bdf, add_wrong_headers, add_edf_plus, add_refused_edf,
                add_brainvision, add_npy, add_csv, add_others):
        add(folder)
    with open(os.path.join(folder.path, "expected.json"), "w") as file:
        json.dump(folder.expected, file, indent=1)


if __name__ == "__main__":
    main()
