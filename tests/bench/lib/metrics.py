"""Float64 resampling as the reference, and how far a picture is from it."""
import functools

import numpy as np

# ITU-R BT.601, full range, as JFIF has it.
LUMA = np.array([0.299, 0.587, 0.114])
SSIM_SIGMA = 1.5
SSIM_RADIUS = 5  # 11 x 11, as in Wang et al. 2004
SSIM_C1 = (0.01 * 255) ** 2
SSIM_C2 = (0.03 * 255) ** 2


@functools.lru_cache(maxsize=64)
def triangle_matrix(size_in, size_out):
    """The weights (size_out x size_in) of the antialiased triangle filter.

    The filter is as wide as two output pixels: the geometry of torchvision's antialiased resize
    and of Pillow's BILINEAR.
    """
    scale = size_in / size_out
    support = max(scale, 1.0)
    centers = (np.arange(size_out) + 0.5) * scale
    distances = np.arange(size_in) + 0.5 - centers[:, None]
    weights = np.maximum(1 - np.abs(distances) / support, 0)
    return weights / weights.sum(axis=1, keepdims=True)


def resample(pixels, width, height):
    """A float64 array of height x width x channels."""
    rows = triangle_matrix(pixels.shape[0], height)
    columns = triangle_matrix(pixels.shape[1], width)
    narrow = np.matmul(columns, pixels.astype(np.float64))  # a matrix product for each row
    return np.tensordot(rows, narrow, axes=1)


def psnr(a, b):
    error = np.mean((a - b) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255 ** 2 / error))


def gaussian():
    window = np.exp(-np.arange(-SSIM_RADIUS, SSIM_RADIUS + 1) ** 2 / (2 * SSIM_SIGMA ** 2))
    return window / window.sum()


def blur(planes):
    """Along the first two axes, where the whole window fits."""
    window = gaussian()
    for axis in (0, 1):
        length = planes.shape[axis] - 2 * SSIM_RADIUS
        planes = sum(weight * planes.take(range(i, i + length), axis)
                     for i, weight in enumerate(window))
    return planes


def ssim(a, b):
    """The mean over the picture, and over its channels if it has several."""
    mean_a, mean_b = blur(a), blur(b)
    variance_a = blur(a * a) - mean_a ** 2
    variance_b = blur(b * b) - mean_b ** 2
    covariance = blur(a * b) - mean_a * mean_b
    similarity = ((2 * mean_a * mean_b + SSIM_C1) * (2 * covariance + SSIM_C2) /
                  ((mean_a ** 2 + mean_b ** 2 + SSIM_C1) * (variance_a + variance_b + SSIM_C2)))
    return float(similarity.mean())


def compare(rgb, reference):
    """PSNR in dB and SSIM, in RGB and in luma."""
    rgb = rgb.astype(np.float64)
    luma, reference_luma = rgb @ LUMA, reference @ LUMA
    return {"psnr_rgb": psnr(rgb, reference), "psnr_luma": psnr(luma, reference_luma),
            "ssim_rgb": ssim(rgb, reference), "ssim_luma": ssim(luma, reference_luma)}
