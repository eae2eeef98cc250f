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
# # From an expression to machine code
#
# **A program shuffles an image, shuffles it back, and then computes. How does a compiler find out that the shuffles do nothing, and
# what is left to run?**
#
# First with one index expression, then with the whole program. Costs are estimated nanoseconds of a fixed target, the same on every
# machine; times are measured on the one that ran this page.

# %%
import timeit

import numpy as np

import eqsat

# %% [markdown]
# ## One index expression
#
# Moving every 2 x 2 block of pixels into one pixel with 12 channels, and back, a program reads the image at this offset for channel `c` of
# the pixel in row `y` and column `x`. Is that where it lies?

# %%
y, x, c = eqsat.var("y", 0, 479), eqsat.var("x", 0, 639), eqsat.var("c", 0, 2)
channel = y % 2 * 6 + x % 2 * 3 + c  # one of the 12
row = y // 2 * 2 + channel // 6
column = x // 2 * 2 + channel // 3 % 2
offset = (row * 640 + column) * 3 + channel % 3

found = eqsat.optimize(offset)
print(found.explain())

# %% [markdown]
# It is. Rules add equal forms to an e-graph and remove none; when nothing new appears, the cheapest form is read off. Each line above
# counts one named rule, and [docs/rules.md](../docs/rules.md) gives the equation of each. Leave out the table that joins digits, or the
# one that uses bounds, and less is found:

# %%
for table in ("identities", "ranges"):
    kept = tuple(name for name in eqsat.Options().tables if name != table)
    print(f"without {table}:", eqsat.simplify(offset, options=eqsat.Options(rules=kept)))


# %% [markdown]
# ## A program
#
# The same shuffle there and back, then a contrast curve, and the result as planes. It is plain NumPy.


# %%
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
# read, and a block that computes one element. For NumPy, most of them are passes over memory. After optimization:

# %%
result = eqsat.optimize(program)
print(result.program)
print(f"cost {result.original_cost} -> {result.cost}")
print(f"kernels {len(result.original_cost.breakdown())} -> {len(result.loops)}")

# %% [markdown]
# One `build` is left: for every `i0, i1, i2` the value of one element. The shuffles are gone, since their maps simplified to the identity.
# The rules that matched most often, and the size of the e-graph:

# %%
print(f"{result.report.stop_reason.value}: {result.report.nodes} nodes, {result.report.iterations} iterations")
for name, count in result.report.matches.most_common(10):
    print(f"{count:4} {name}")

# %% [markdown]
# ## Loops
#
# Lowering offered several loop nests; this is the one with the least estimated time. The innermost loop runs along the result's rows, and
# what it does not change is bound outside.

# %%
print(*result.loops, sep="\n")

# %% [markdown]
# ## LLVM IR and assembly
#
# `tanh` is written out as arithmetic, without a call, so that LLVM can run the loop in vectors.

# %%
print("\n".join(result.llvm_ir.splitlines()[:24]))

# %%
vectors = [line.strip() for line in result.assembly.splitlines() if "fmadd" in line and "mm" in line]
print(f"{len(vectors)} vector multiply-adds, the first of them:", *vectors[:6], sep="\n")

# %% [markdown]
# ## Time
#
# The result is NumPy's, up to rounding, and the machine code is called like a function.

# %%
image = np.random.default_rng(0).uniform(0, 255, (480, 640, 3)).astype(np.float32)
print("largest deviation", np.abs(result(image) - contrast(image)).max())
for name, function in (("eqsat", result), ("NumPy", contrast)):
    print(f"{name} {min(timeit.repeat(lambda f=function: f(image), number=5, repeat=20)) / 5 * 1e3:.2f} ms")

# %% [markdown]
# To use this in a program, decorate the function with `@eqsat.jit`; it is traced and compiled at the first call for each combination of
# shapes and dtypes. [ARCHITECTURE.md](../ARCHITECTURE.md) tells how each of these steps is made.
