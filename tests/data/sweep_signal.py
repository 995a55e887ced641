#!/usr/bin/python3
"""Compares what lib/signal does besides spectrograms with scipy and numpy, and with what librosa
does, which is written down here in numpy: windows, filters, resampling, mel banks, decibels,
float16, statistics, the preset hms.

    sweep_signal.py SIGNAL_DRIVER

Prints a line for everything that differs and ends with 1 if there was anything; with 77, which
ctest takes for skipped, where there is no scipy.
"""
import subprocess
import sys

try:
    import numpy as np
    import scipy.signal
except ImportError:
    sys.exit(77)


class Sweep:
    def __init__(self, driver):
        self.driver, self.tried, self.wrong = driver, 0, 0

    def run(self, command, values=(), **arguments):
        words = [f"{name}={value}" for name, value in arguments.items()]
        data = np.asarray(values, dtype=np.float64).tobytes()
        program = [self.driver, command, *words]
        done = subprocess.run(program, input=data, stdout=subprocess.PIPE, check=True)
        return np.frombuffer(done.stdout)

    def check(self, what, ours, reference, tolerance):
        """The tolerance is of the largest magnitude of the reference; NaNs have to be the same."""
        self.tried += 1
        ours, reference = np.ravel(ours) * 1.0, np.ravel(reference) * 1.0
        if ours.shape != reference.shape or np.any(np.isnan(ours) != np.isnan(reference)):
            error = np.inf
        else:
            error = np.nanmax(np.abs(ours - reference)) / max(np.nanmax(np.abs(reference)), 1e-300)
        if not error <= tolerance:
            self.wrong += 1
            print(f"{what}: {ours.shape} {reference.shape} error {error:.3g}")


def noise(length, seed, offset=100.0):
    random = np.random.default_rng(seed)
    return random.normal(0, 10, length) + offset + np.linspace(0, 5, length)


def windows(sweep):
    names = {"boxcar": "boxcar", "hann": "hann", "hamming": "hamming"}
    names.update({f"tukey:{a}": ("tukey", a) for a in (0, 0.1, 0.25, 0.5, 0.9, 1)})
    names.update({f"dpss:{nw}": ("dpss", nw) for nw in (0.9, 1.5, 2.5, 4, 10)})
    for name, of_scipy in names.items():
        for length in (1, 2, 3, 4, 5, 8, 15, 16, 63, 64, 100, 255, 256, 1000, 4096):
            if name.startswith("dpss") and of_scipy[1] >= length / 2:
                continue
            reference = scipy.signal.get_window(of_scipy, length)
            ours = sweep.run("window", window=name, length=length)
            tolerance = 1e-10 if name.startswith("dpss") else 1e-14
            sweep.check(f"window {name} {length}", ours, reference, tolerance)


def filters(sweep):
    for rate, length in ((256.0, 2000), (173.61, 500), (1000.0, 3000)):
        x = noise(length, length)
        for order in (1, 2, 3, 4, 5, 6, 7, 8):
            for kind, hz in (("highpass", 0.5), ("highpass", 3), ("lowpass", 40), ("lowpass", 70)):
                sos = scipy.signal.butter(order, hz, kind, fs=rate, output="sos")
                reference = scipy.signal.sosfiltfilt(sos, x)
                ours = sweep.run("filter", x, kind=kind, hz=hz, rate=rate, order=order)
                # High orders with a low corner are badly conditioned in scipy as well.
                tolerance = 1e-9 if order <= 4 or hz > 1 else 1e-5
                sweep.check(f"{kind} {hz} {rate} order {order}", ours, reference, tolerance)
        for hz, quality in ((50.0, 30), (60.0, 5), (50.0, 100)):
            b, a = scipy.signal.iirnotch(hz, quality, fs=rate)
            reference = scipy.signal.filtfilt(b, a, x)
            ours = sweep.run("filter", x, kind="notch", hz=hz, rate=rate, quality=quality)
            sweep.check(f"notch {hz} {quality} {rate}", ours, reference, 1e-10)


def filter_gaps(sweep):
    x = noise(900, 5)
    x[100:130], x[135:140], x[800] = np.nan, np.inf, np.nan
    sos = scipy.signal.butter(4, 1.0, "highpass", fs=256, output="sos")
    reference = np.full(900, np.nan)
    for first, last in ((0, 100), (140, 800), (801, 900)):
        reference[first:last] = scipy.signal.sosfiltfilt(sos, x[first:last])
    reference[135:140] = np.inf
    ours = sweep.run("filter", x, kind="highpass", hz=1.0, rate=256, order=4)
    finite = np.isfinite(reference)
    sweep.check("gaps", np.isfinite(ours), finite, 0)
    sweep.check("runs between gaps", ours[finite], reference[finite], 1e-9)


def resampling(sweep):
    ratios = [(25, 32), (32, 125), (128, 125), (1, 2), (2, 1), (3, 7), (100, 1), (1, 100), (1, 1)]
    for up, down in ratios + [(20000, 17361), (6, 4), (441, 480)]:
        for length in (1, 2, 17, 500, 1501):
            x = noise(length, up + length)
            for edge, padding in (("zero", "constant"), ("repeat", "edge")):
                reference = scipy.signal.resample_poly(x, up, down, padtype=padding)
                ours = sweep.run("resample", x, up=up, down=down, edge=edge, block=97)
                sweep.check(f"resample {up}/{down} {length} {edge}", ours, reference, 1e-12)
    x = noise(1000, 1).astype(np.float32)
    reference = scipy.signal.resample_poly(x.astype(float), 25, 32)
    ours = sweep.run("resample", x, up=25, down=32, precision="float")
    sweep.check("resample float", ours, reference, 1e-7)


def ratios(sweep):
    rates = [(256, 200, 25, 32), (1000, 256, 32, 125), (250, 256, 128, 125), (200, 200, 1, 1)]
    for before, after, up, down in rates + [(173.61, 200, 20000, 17361), (1 / 3, 1, 3, 1)]:
        ours = sweep.run("ratio", **{"from": repr(before), "to": after})
        sweep.check(f"ratio {before} {after}", ours, [up, down], 0)


def slaney_hz(mels):
    mels = np.asarray(mels)
    step = np.log(6.4) / 27
    return np.where(mels < 15, mels * 200 / 3, 1000 * np.exp(step * (mels - 15)))


def slaney_mel(hz):
    return hz * 3 / 200 if hz < 1000 else 15 + np.log(hz / 1000) / (np.log(6.4) / 27)


def mel_reference(rate, nfft, mels, low, high):
    """librosa.filters.mel, in double."""
    points = slaney_hz(np.linspace(slaney_mel(low), slaney_mel(high), mels + 2))
    frequencies = np.fft.rfftfreq(nfft, 1 / rate)
    ramps = points[:, None] - frequencies[None, :]
    steps = np.diff(points)
    rising = -ramps[:-2] / steps[:-1, None]
    falling = ramps[2:] / steps[1:, None]
    return np.maximum(0, np.minimum(rising, falling)) * (2 / (points[2:] - points[:-2]))[:, None]


def banks(sweep):
    for rate, nfft, mels, low, high in (
        (200, 1024, 128, 0, 20),
        (256, 256, 32, 0.5, 100),
        (16000, 400, 80, 0, 8000),
        (22050, 2048, 128, 50, 11025),
        (200, 75, 10, 1, 99),
    ):
        ours = sweep.run("bank", rate=rate, nfft=nfft, mels=mels, low=low, high=high)
        reference = mel_reference(rate, nfft, mels, low, high)
        sweep.check(f"mel {rate} {nfft} {mels}", ours, reference, 1e-12)
    frequencies = np.fft.rfftfreq(256, 1 / 200)
    limits = [(0.5, 4), (8, 13), (30, 100), (12.5, 50)]
    rows = [(frequencies >= low) & (frequencies < high) for low, high in limits]
    ours = sweep.run("bank", rate=200, nfft=256, bands="delta,alpha,gamma,12.5-50")
    sweep.check("bands", ours, np.stack([row / row.sum() for row in rows]), 1e-14)


def power_to_db(power, reference, least=1e-10, top=None):
    """librosa.power_to_db"""
    db = 10 * np.log10(np.maximum(least, power)) - 10 * np.log10(max(least, reference))
    return db if top is None else np.maximum(db, db.max() - top)


def logarithms(sweep):
    random = np.random.default_rng(3)
    x = np.concatenate([
        np.exp(random.uniform(-690, 700, 5000)), 1 + random.normal(0, 1e-3, 5000),
        random.uniform(0.5, 2, 5000), [0.0, 1.0, 2.0, np.inf, -1.0, 1e-10, 5e-324],
    ])
    ours = sweep.run("logarithms", np.append(x, np.nan), least=1e-299)
    reference = np.append(np.log(np.maximum(x, 1e-299)), np.nan)
    finite = np.isfinite(reference)
    error = np.abs(ours[finite] - reference[finite])
    error /= np.maximum(np.abs(reference[finite]), 1e-300)
    sweep.check("logarithm", error * (error > 6e-16), 0 * error, 0)
    sweep.check("logarithm of infinity", np.isposinf(ours), np.isposinf(reference), 0)
    power = np.exp(random.uniform(-40, 10, 999))
    for reference_power in (1.0, power.max(), 0.0):
        ours = sweep.run("decibels", power, reference=repr(float(reference_power)))
        sweep.check("decibels", ours, power_to_db(power, reference_power), 1e-15)


def halves(sweep):
    steps = np.arange(0, 0x10000, dtype=np.uint16).view(np.float16).astype(np.float64)
    random = np.random.default_rng(4)
    bits = random.integers(0, 2**32, 200000, dtype=np.uint64).astype(np.uint32)
    with np.errstate(all="ignore"):
        between = (steps[:-1] + steps[1:]) / 2  # ties
        x = np.concatenate([steps, between, bits.view(np.float32)]).astype(np.float32)
        x = x[~np.isnan(x)]
        reference = x.astype(np.float16).view(np.uint16)
    sweep.check("float16", sweep.run("float16", x), reference, 0)


def statistics(sweep):
    for offset, length in ((0.0, 1000), (1e4, 5001), (-1e6, 777), (3.0, 1)):
        x = noise(length, length, offset).astype(np.float32)
        exact = x.astype(np.longdouble)
        reference = [length, float(exact.mean()), float(exact.std())]
        whole = sweep.run("statistics", x)
        for i, name in enumerate(("count", "mean", "deviation")):
            if reference[i] != 0:
                sweep.check(f"statistics {name} {offset}", whole[i], reference[i], 1e-13)
        for block in (1, 7, 512):
            sweep.check(f"statistics in {block}", sweep.run("statistics", x, block=block), whole, 0)


def hms_reference(electrodes):
    """The public recipe: librosa.feature.melspectrogram and power_to_db, in double."""
    image = np.zeros((128, 256))
    window = np.zeros(1024)
    window[448:576] = scipy.signal.get_window("hann", 128)
    bank = mel_reference(200, 1024, 128, 0, 20)
    for a, b in zip(electrodes[:-1], electrodes[1:]):
        x = a - b
        x = np.where(np.isnan(x), np.nanmean(x), x)
        padded = np.pad(x, 512)
        count = 1 + (len(padded) - 1024) // 39
        frames = np.stack([padded[39 * s : 39 * s + 1024] * window for s in range(count)])
        power = bank @ (np.abs(np.fft.rfft(frames, axis=1)) ** 2).T
        image += (power_to_db(power, power.max(), top=80)[:, :256] + 40) / 40
    return image / 4


def hms(sweep):
    t = np.arange(10000) / 200
    x = 30 * np.sin(2 * np.pi * 3 * t) + 10 * np.sin(2 * np.pi * 11 * t + 0.5) + 0.02 * t
    golden = sweep.run("hms", [4 * x, 3 * x, 2 * x, x, 0 * x]).reshape(128, 256)
    values = [golden.mean(), golden[19, 128], golden[70, 128]]
    sweep.check("hms golden", values, [0.26406865038, 0.991548250218, 0.739241082735], 1e-6)
    random = np.random.default_rng(9)
    electrodes = [np.cumsum(random.normal(0, 5, 10000)) for _ in range(5)]
    electrodes[1][300:350] = np.nan
    ours = sweep.run("hms", np.concatenate(electrodes))
    sweep.check("hms with gaps", ours, hms_reference(electrodes), 1e-6)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sweep = Sweep(sys.argv[1])
    for part in (windows, filters, filter_gaps, resampling, ratios, banks, logarithms, halves,
                 statistics, hms):
        part(sweep)
    print(f"{sweep.tried} comparisons, {sweep.wrong} wrong")
    sys.exit(1 if sweep.wrong or not sweep.tried else 0)


main()
