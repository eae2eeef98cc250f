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
# # From tensor to machine code
#
# **A program shuffles an image, shuffles it back, and then computes. What does the machine execute in the end, and which line of the
# program is each instruction for?**

# %%
import timeit

import numpy as np

import eqsat


def contrast(image):
    """(H, W, 3) with values 0..255 -> (3, H, W) with values -1..1; H and W even."""
    h, w, c = image.shape
    blocks = image.reshape(h // 2, 2, w // 2, 2, c).transpose(0, 2, 1, 3, 4).reshape(h // 2, w // 2, 4 * c)
    pixels = blocks.reshape(h // 2, w // 2, 2, 2, c).transpose(0, 2, 1, 3, 4).reshape(h, w, c)
    return np.tanh((pixels / 255 - 0.5) / 0.25).transpose(2, 0, 1)


program = eqsat.trace(contrast, eqsat.spec((480, 640, 3), "float32"))
print(program)

# %% [markdown]
# As traced, every line is an array of its own, made by a *generic* operation: loops, maps that say which elements of the operands are
# read, and a block that computes one element. For NumPy, most of them are passes over memory.
#
# ## The cheapest program

# %%
result = eqsat.optimize(program)
result

# %% [markdown]
# Open *Program*: one `build` is left. For every `i0, i1, i2` it is the value of one element; the shuffles are gone, since their maps
# simplified to the identity.
#
# ## Loops
#
# Lowering offered several loop nests; this is the one with the least estimated time. The innermost loop runs along the result's rows, and
# what it does not change is bound outside.

# %%
print(*result.loops, sep="\n")

# %% [markdown]
# ## LLVM IR and assembly, by the line that they are for
#
# `tanh` is written out as arithmetic, without a call, so that LLVM runs the loop in vectors. Point at a line to see what belongs to it in
# the other columns.

# %%
result.listing

# %%
vectors = [line.strip() for line in result.assembly.splitlines() if "fmadd" in line and "mm" in line]
print(f"{len(vectors)} vector multiply-adds, the first of them:", *vectors[:4], sep="\n")

# %% [markdown]
# ## The plan
#
# Kernels, which of them wait for others, and which may run side by side:

# %%
plan = result.compile()
plan

# %% [markdown]
# ## Time
#
# The result is NumPy's, up to rounding, and the machine code is called like a function.

# %%
eqsat.set_num_threads(1)
image = np.random.default_rng(0).uniform(0, 255, (480, 640, 3)).astype(np.float32)
print("largest deviation", np.abs(result(image) - contrast(image)).max())
for name, function in (("eqsat", result), ("NumPy", contrast)):
    print(f"{name} {min(timeit.repeat(lambda f=function: f(image), number=5, repeat=20)) / 5 * 1e3:.2f} ms")

# %% [markdown]
# ## Other loops
#
# The estimate chooses in a moment. Given some seconds, a search runs loop nests and keeps the fastest; what it found is kept on disk:

# %%
tuned = eqsat.optimize(program, options=eqsat.Options(tune=2))
print(f"{min(timeit.repeat(lambda: tuned(image), number=5, repeat=20)) / 5 * 1e3:.2f} ms")

# %% [markdown]
# To use this in a program, decorate the function with `@eqsat.jit`; it is traced and compiled at the first call for each combination of
# shapes and dtypes. [ARCHITECTURE.md](../ARCHITECTURE.md) tells how each of these steps is made. Next:
# [own rules](06_own_rules.ipynb).
