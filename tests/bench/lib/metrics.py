"""Float64 resampling as the reference, and how far a picture is from it."""
import functools
import math

import numpy as np

# ITU-R BT.601, full range, as JFIF has it.
LUMA = np.array([0.299, 0.587, 0.114])
SSIM_SIGMA = 1.5
SSIM_RADIUS = 5  # 11 x 11, as in Wang et al. 2004
SSIM_C1 = (0.01 * 255) ** 2
SSIM_C2 = (0.03 * 255) ** 2


@functools.lru_cache(maxsize=64)
def triangle_taps(size_in, size_out):
    """(first input index, weights) for each output index of the antialiased triangle filter.

    The filter is as wide as two output pixels: the geometry of torchvision's antialiased resize
    and of Pillow's BILINEAR.
    """
    scale = size_in / size_out
    support = max(scale, 1.0)
    taps = []
    for index in range(size_out):
        center = (index + 0.5) * scale
        first = max(math.floor(center - support), 0)
        last = min(math.ceil(center + support), size_in)
        weights = 1 - np.abs(np.arange(first, last) + 0.5 - center) / support
        weights = np.maximum(weights, 0)
        taps.append((first, weights / weights.sum()))
    return taps


def resample_rows(pixels, size_out):
    """Along the first axis."""
    result = np.empty((size_out, *pixels.shape[1:]))
    for index, (first, weights) in enumerate(triangle_taps(pixels.shape[0], size_out)):
        rows = pixels[first:first + len(weights)].reshape(len(weights), -1)
        result[index] = (weights @ rows.astype(np.float64)).reshape(pixels.shape[1:])
    return result


def resample(pixels, width, height):
    """An array of height x width x channels, to float64."""
    short = resample_rows(pixels, height)
    narrow = resample_rows(np.ascontiguousarray(short.swapaxes(0, 1)), width)
    return narrow.swapaxes(0, 1)


def psnr(a, b):
    error = np.mean((a - b) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255 ** 2 / error))


def gaussian():
    window = np.exp(-np.arange(-SSIM_RADIUS, SSIM_RADIUS + 1) ** 2 / (2 * SSIM_SIGMA ** 2))
    return window / window.sum()


def blur(planes):
    """Along the last two axes, where the whole window fits."""
    window = gaussian()
    height, width = (side - 2 * SSIM_RADIUS for side in planes.shape[-2:])
    planes = sum(weight * planes[..., i:i + height, :] for i, weight in enumerate(window))
    return sum(weight * planes[..., i:i + width] for i, weight in enumerate(window))


def ssim(a, b):
    """The mean over the picture; of channels x height x width also over the channels."""
    mean_a, mean_b = blur(a), blur(b)
    variance_a = blur(a * a) - mean_a ** 2
    variance_b = blur(b * b) - mean_b ** 2
    covariance = blur(a * b) - mean_a * mean_b
    similarity = ((2 * mean_a * mean_b + SSIM_C1) * (2 * covariance + SSIM_C2) /
                  ((mean_a ** 2 + mean_b ** 2 + SSIM_C1) * (variance_a + variance_b + SSIM_C2)))
    return float(similarity.mean())


def planar(rgb):
    return np.ascontiguousarray(np.moveaxis(rgb.astype(np.float64), -1, 0))


def luma(planes):
    return np.tensordot(LUMA, planes, axes=1)


def compare_psnr(rgb, reference):
    """In dB, in RGB and in luma."""
    a, b = planar(rgb), planar(reference)
    return {"psnr_rgb": psnr(a, b), "psnr_luma": psnr(luma(a), luma(b))}


def compare(rgb, reference):
    """PSNR in dB and SSIM, in RGB and in luma."""
    a, b = planar(rgb), planar(reference)
    return {**compare_psnr(rgb, reference),
            "ssim_rgb": ssim(a, b), "ssim_luma": ssim(luma(a), luma(b))}
