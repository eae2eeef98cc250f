# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Real cases: an image pipeline and a transformer block
#
# **Does it pay outside of examples? An image pipeline on a photograph, and a block of a transformer, beside NumPy, and beside jax where
# it is installed.**

# %%
import importlib.util
import timeit

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_image

import eqsat
import eqsat.numpy as enp

image = load_sample_image("china.jpg").astype(np.float32)[:426]
image.shape

# %% [markdown]
# ## The pipeline
#
# Written as libraries chain such steps, each with a layout of its own: pixels to planes, normalize, blur, edges.

# %%
MEAN = np.array([123.7, 116.3, 103.5], np.float32)
STD = np.array([58.4, 57.1, 57.4], np.float32)


def edges(xp, image):
    """(H, W, 3) with values 0..255 -> (H - 4, W - 4): the strength of edges."""
    planes = xp.transpose(image, (2, 0, 1))
    planes = (planes - MEAN[:, None, None]) / STD[:, None, None]
    blurred = planes[:, :-2, :] / 4 + planes[:, 1:-1, :] / 2 + planes[:, 2:, :] / 4
    blurred = blurred[:, :, :-2] / 4 + blurred[:, :, 1:-1] / 2 + blurred[:, :, 2:] / 4
    right = blurred[:, 1:-1, 2:] - blurred[:, 1:-1, :-2]
    down = blurred[:, 2:, 1:-1] - blurred[:, :-2, 1:-1]
    return xp.sqrt(xp.sum(right * right + down * down, axis=0))


result = eqsat.optimize(lambda image: edges(enp, image), image)
result

# %%
found, expected = result(image), edges(np, image)
print("largest deviation", float(np.abs(found - expected).max()), "of", float(expected.max()))
Image.fromarray((255 * np.clip(1 - found / 2, 0, 1)).astype(np.uint8))

# %% [markdown]
# ## Time
#
# One thread each. jax is asked only if it is installed; nothing is hidden if it is faster.

# %%
eqsat.set_num_threads(1)


def milliseconds(call, *arguments):
    call(*arguments)
    return min(timeit.repeat(lambda: call(*arguments), number=3, repeat=15)) / 3 * 1e3


def beside(name, function, *arguments):
    """Times of eqsat, NumPy and jax for a function of (xp, *arrays)."""
    times = {"eqsat": milliseconds(eqsat.jit(lambda *a: function(enp, *a)), *arguments)}
    times["NumPy"] = milliseconds(lambda *a: function(np, *a), *arguments)
    if importlib.util.find_spec("jax"):
        import jax

        compiled = jax.jit(lambda *a: function(jax.numpy, *a))
        arrays = map(jax.numpy.asarray, arguments)
        times["jax"] = milliseconds(lambda *a: compiled(*a).block_until_ready(), *arrays)
    print(f"{name:12}", "  ".join(f"{peer} {ms:7.2f} ms" for peer, ms in times.items()))


beside("edges", edges, image)

# %% [markdown]
# ## A transformer block
#
# Attention with 4 heads over 128 tokens of 256 numbers, and two layers after it, each part with its normalization.


# %%
def layer_norm(xp, x):
    mean = xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / xp.sqrt(variance + 1e-5)


def softmax(xp, x):
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def block(xp, x, qkv, out, up, down):
    tokens, width = x.shape
    parts = xp.split(layer_norm(xp, x) @ qkv, 3, axis=-1)
    q, k, v = (xp.transpose(xp.reshape(part, (tokens, 4, width // 4)), (1, 0, 2)) for part in parts)
    scores = q @ xp.transpose(k, (0, 2, 1)) / (width // 4) ** 0.5
    mixed = xp.reshape(xp.transpose(softmax(xp, scores) @ v, (1, 0, 2)), (tokens, width))
    x = x + mixed @ out
    return x + xp.maximum(layer_norm(xp, x) @ up, 0) @ down


rng = np.random.default_rng(0)
shapes = ((128, 256), (256, 768), (256, 256), (256, 1024), (1024, 256))
arrays = [rng.normal(0, 0.05, shape).astype(np.float32) for shape in shapes]
result = eqsat.optimize(lambda *a: block(enp, *a), *arrays)
print(len(result.original_cost.breakdown()), "operations ->", len(result.loops), "kernels")
np.testing.assert_allclose(result(*arrays), block(np, *arrays), rtol=2e-4, atol=2e-5)
beside("transformer", block, *arrays)

# %% [markdown]
# What is a kernel, and what may run side by side:

# %%
result.compile()
