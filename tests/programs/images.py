"""Image processing: filters, geometry, colour, morphology."""

from __future__ import annotations

import numpy as np

from tests.programs.collection import Array, integers, program, uniform

GREY = uniform(24, 31, seed=1)
RGB = uniform(18, 22, 3, seed=2)
BYTES = integers(20, 24, below=256, seed=3, dtype="uint8")


@program(GREY)
def sobel_magnitude(image: Array) -> Array:
    p = np.pad(image, 1, mode="edge")
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    return np.hypot(gx, gy)


@program(GREY)
def gaussian_blur(image: Array) -> Array:
    weights = np.exp(-0.5 * (np.arange(-3, 4) / 1.2) ** 2).astype(np.float32)
    weights = weights / weights.sum()
    p = np.pad(image, ((0, 0), (3, 3)), mode="reflect")
    rows = sum(weights[k] * p[:, k : k + image.shape[1]] for k in range(7))
    p = np.pad(rows, ((3, 3), (0, 0)), mode="reflect")
    return sum(weights[k] * p[k : k + image.shape[0]] for k in range(7))


@program(GREY)
def median_of_nine(image: Array) -> Array:
    height, width = image.shape
    near = np.stack([image[i : i + height - 2, j : j + width - 2] for i in range(3) for j in range(3)])
    return np.sort(near, axis=0)[4]


@program(RGB)
def rgb_to_hsv(rgb: Array) -> Array:
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    value, least = rgb.max(axis=-1), rgb.min(axis=-1)
    delta = value - least
    safe = np.where(delta == 0, 1, delta)
    hue = np.where(value == r, (g - b) / safe % 6, np.where(value == g, (b - r) / safe + 2, (r - g) / safe + 4)) / 6
    return np.stack([np.where(delta == 0, 0, hue), np.where(value == 0, 0, delta / value), value], axis=-1)


@program(RGB)
def rgb_to_lab(rgb: Array) -> Array:
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], np.float32)
    xyz = linear @ to_xyz.T / np.array([0.95047, 1.0, 1.08883], np.float32)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


@program(GREY)
def dilate_and_erode(image: Array) -> tuple[Array, Array]:
    p = np.pad(image, 1, constant_values=-np.inf)
    q = np.pad(image, 1, constant_values=np.inf)
    h, w = image.shape
    dilated = np.stack([p[i : i + h, j : j + w] for i in range(3) for j in range(3)]).max(axis=0)
    eroded = np.stack([q[i : i + h, j : j + w] for i in range(3) for j in range(3)]).min(axis=0)
    return dilated, eroded


@program(BYTES)
def histogram_equalization(image: Array) -> Array:
    counts = np.bincount(image.ravel(), minlength=256)
    cumulative = np.cumsum(counts)
    table = np.clip(np.round(255 * (cumulative - cumulative[0]) / (image.size - cumulative[0])), 0, 255).astype(np.uint8)
    return table[image]


@program(GREY, np.float32(1.9), np.float32(0.3))
def bilinear_resize(image: Array, scale: Array, shift: Array) -> Array:
    h, w = image.shape
    y = np.clip(np.arange(40, dtype=np.float32) / scale + shift, 0, h - 1)
    x = np.clip(np.arange(50, dtype=np.float32) / scale + shift, 0, w - 1)
    y0, x0 = np.minimum(y.astype(np.int64), h - 2), np.minimum(x.astype(np.int64), w - 2)
    fy, fx = (y - y0.astype(np.float32))[:, None], (x - x0.astype(np.float32))[None, :]
    top = image[y0[:, None], x0] * (1 - fx) + image[y0[:, None], x0 + 1] * fx
    bottom = image[y0[:, None] + 1, x0] * (1 - fx) + image[y0[:, None] + 1, x0 + 1] * fx
    return top * (1 - fy) + bottom * fy


@program(BYTES, np.uint8(100))
def threshold_and_count(image: Array, level: Array) -> tuple[Array, Array]:
    mask = image > level
    return mask, np.count_nonzero(mask, axis=1)


@program(GREY)
def laplacian_sharpening(image: Array) -> Array:
    around = sum(np.roll(image, shift, axis) for shift in (-1, 1) for axis in (0, 1))
    return np.clip(image + 0.7 * (4 * image - around), 0, 1)


@program(RGB)
def sepia(rgb: Array) -> Array:
    tone = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]], np.float32)
    return np.minimum(np.einsum("hwc,dc->hwd", rgb, tone), 1)


@program(BYTES)
def quarter_turns_and_bits(image: Array) -> tuple[Array, Array]:
    return np.rot90(image), (image >> 4) | ((image & 15) << 4)


@program(GREY)
def bilateral_filter(image: Array) -> Array:
    h, w = image.shape
    p = np.pad(image, 2, mode="symmetric")
    total, weight = np.zeros_like(image), np.zeros_like(image)
    for i in range(5):
        for j in range(5):
            near = p[i : i + h, j : j + w]
            factor = np.exp(-((i - 2) ** 2 + (j - 2) ** 2) / 4.5 - (near - image) ** 2 / 0.08)
            total = total + factor * near
            weight = weight + factor
    return total / weight
