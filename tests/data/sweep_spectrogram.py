#!/usr/bin/python3
"""Compares lib/signal's spectrograms with scipy's over several hundred settings, and with what
torch.stft and librosa do, which is written down here in numpy.

    sweep_spectrogram.py SIGNAL_DRIVER

Prints a line for every setting that differs and ends with 1 if there was any; with 77, which ctest
takes for skipped, where there is no scipy.
"""
import itertools
import subprocess
import sys

try:
    import numpy as np
    import scipy.signal
except ImportError:
    sys.exit(77)

# Of the largest magnitude of the reference. In double what remains is scipy's own error in long
# dpss windows.
TOLERANCE = {"double": 2e-12, "float": 2e-6}

WINDOWS = {
    "hann": "hann",
    "hamming": "hamming",
    "boxcar": "boxcar",
    "tukey:0.25": ("tukey", 0.25),
    "dpss:2.5": ("dpss", 2.5),
}


def run(driver, command, values, **arguments):
    words = [f"{name}={value}" for name, value in arguments.items()]
    data = np.asarray(values, dtype=np.float64).tobytes()
    done = subprocess.run([driver, command, *words], input=data, stdout=subprocess.PIPE, check=True)
    return np.frombuffer(done.stdout)


def signal(length, rate, seed):
    """A few sines, noise, an offset and a trend: as large as EEG in microvolts with a drift."""
    random = np.random.default_rng(seed)
    t = np.arange(length) / rate
    x = 40 * np.sin(2 * np.pi * 0.11 * rate * t) + 15 * np.cos(2 * np.pi * 0.31 * rate * t + 1)
    return x + random.normal(0, 10, length) + 200 + 0.05 * np.arange(length)


def measured(driver, x, mode, bins, **arguments):
    values = run(driver, "stft", x, mode=mode, **arguments)
    if mode == "complex":
        values = values.view(np.complex128)
    return values.reshape(bins, -1)


def scipy_reference(x, rate, window, nperseg, hop, nfft, detrend, scaling, mode):
    _, _, values = scipy.signal.spectrogram(
        x,
        fs=rate,
        window=WINDOWS[window],
        nperseg=nperseg,
        noverlap=nperseg - hop,
        nfft=nfft,
        detrend=False if detrend == "none" else detrend,
        scaling=scaling,
        mode=mode,
    )
    return values


def torch_reference(x, window, nperseg, hop, nfft, center, power):
    """torch.stft (center="reflect" or "none") and librosa.stft (center="zero")."""
    if center != "none":
        mode = "reflect" if center == "reflect" else "constant"
        x = np.pad(x, nfft // 2, mode=mode)
    padded = np.zeros(nfft)
    left = (nfft - nperseg) // 2
    padded[left : left + nperseg] = scipy.signal.get_window(WINDOWS[window], nperseg)
    count = 1 + (len(x) - nfft) // hop
    frames = np.stack([x[s * hop : s * hop + nfft] * padded for s in range(count)])
    values = np.fft.rfft(frames, axis=1).T
    return np.abs(values) ** 2 if power else values


def scipy_settings():
    shapes = [  # samples, nperseg, hop, nfft
        (64, 16, 8, 16),
        (64, 15, 7, 15),
        (64, 15, 3, 32),
        (64, 64, 32, 64),
        (63, 63, 1, 63),
        (257, 32, 5, 45),
        (1000, 200, 37, 200),
        (1000, 256, 64, 256),
        (1021, 100, 150, 1000),
        (500, 37, 10, 37),
        (500, 64, 16, 74),
        (500, 97, 24, 97),
        (500, 89, 24, 134),
        (300, 7, 2, 7),
        (300, 1, 1, 1),
        (300, 1, 1, 2),
        (300, 2, 1, 2),
        (300, 3, 2, 3),
        (9, 4, 1, 4),
        (700, 150, 50, 210),
        (5000, 1024, 512, 2048),
        (2000, 401, 100, 401),
    ]
    modes = ["psd", "magnitude", "complex"]
    detrends, scalings = ["none", "constant", "linear"], ["density", "spectrum"]
    rest = list(itertools.product(detrends, scalings, modes))
    for i, shape in enumerate(shapes):
        for j, (detrend, scaling, mode) in enumerate(rest):
            windows = [w for w in WINDOWS if not (w.startswith("dpss") and shape[1] < 7)]
            window = windows[(i + j) % len(windows)]
            yield shape, window, detrend, scaling, mode


def torch_settings():
    shapes = [
        (64, 16, 8, 16),
        (65, 15, 8, 15),
        (400, 100, 40, 128),
        (400, 99, 40, 128),
        (400, 100, 33, 129),
        (1000, 128, 39, 1024),
    ]
    for shape in shapes:
        for center in ["none", "reflect", "zero"]:
            if shape[0] < shape[3] and center == "none":
                continue
            for mode in ["psd", "complex"]:
                yield shape, center, mode


class Sweep:
    def __init__(self, driver):
        self.driver, self.tried, self.wrong, self.worst = driver, 0, 0, {}

    def check(self, what, ours, reference, precision):
        self.tried += 1
        scale = np.max(np.abs(reference))
        if ours.shape != reference.shape:
            error = np.inf
        else:
            error = np.max(np.abs(ours - reference)) / (scale if scale > 0 else 1)
        self.worst[precision] = max(self.worst.get(precision, 0), error)
        if not error <= TOLERANCE[precision]:
            self.wrong += 1
            print(f"{what}: {ours.shape} {reference.shape} error {error:.3g}")

    def scipy(self, precision):
        for shape, window, detrend, scaling, mode in scipy_settings():
            samples, nperseg, hop, nfft = shape
            rate = 64.0 if samples % 2 else 173.61
            x = signal(samples, rate, samples + nfft)
            if precision == "float":
                # Both get the same numbers; the reference is computed in double.
                x = x.astype(np.float32).astype(np.float64)
            reference = scipy_reference(
                x, rate, window, nperseg, hop, nfft, detrend, scaling, mode
            )
            ours = measured(
                self.driver,
                x,
                mode,
                nfft // 2 + 1,
                rate=rate,
                window=window,
                nperseg=nperseg,
                hop=hop,
                nfft=nfft,
                detrend=detrend,
                scaling=scaling,
                precision=precision,
                block=5 if samples % 3 else 100,
            )
            what = f"scipy {shape} {window} {detrend} {scaling} {mode} {precision}"
            # A frame without its mean may hold nothing at all, and what remains is rounding.
            if np.max(np.abs(reference)) < 1e-12 * np.max(np.abs(x)):
                reference = np.zeros_like(reference)
                ours = np.where(np.abs(ours) < 1e-9, 0, ours)
            self.check(what, ours, reference, precision)

    def torch(self, precision):
        for shape, center, mode in torch_settings():
            samples, nperseg, hop, nfft = shape
            x = signal(samples, 64.0, samples).astype(np.float32).astype(np.float64)
            reference = torch_reference(x, "hann", nperseg, hop, nfft, center, mode == "psd")
            ours = measured(
                self.driver,
                x,
                mode,
                nfft // 2 + 1,
                rate=64.0,
                window="hann",
                nperseg=nperseg,
                hop=hop,
                nfft=nfft,
                centred=1,
                center=center,
                scaling="none",
                precision=precision,
                block=3,
            )
            self.check(f"torch {shape} {center} {mode} {precision}", ours, reference, precision)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sweep = Sweep(sys.argv[1])
    for precision in TOLERANCE:
        sweep.scipy(precision)
        sweep.torch(precision)
    worst = ", ".join(f"{name} {error:.2g}" for name, error in sweep.worst.items())
    print(f"{sweep.tried} settings, {sweep.wrong} wrong; largest error of the maximum: {worst}")
    sys.exit(1 if sweep.wrong or sweep.tried < 200 else 0)


main()
