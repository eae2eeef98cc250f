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
# # Generic and build
#
# **Two operations in a row, each with its own way of reading its operand. When are they one, and can a compiler derive that instead of
# being told?**
#
# A *generic* operation is loops, maps that say which elements of the operands are read, and a block that computes one element (MLIR's
# `linalg.generic`). A *build* is a shape and a function from indices to an element. Four rules connect them (the source is "Ideas for
# optimizing generic operations"):
#
# - `generic(maps, ins(X) {y = f(x)})  =  build N (i -> f(X[map(i)]))`, row `generic-is-build`
# - `(build N f)[h(i)]  =  f(h(i))`, row `read-of-build`
# - a function applied to an index is its body with the index in it, rows `substitute-...`
# - and the way back, row `build-is-generic`
#
# ## Equation (4): the same element
#
# `y = exp(x)`, then `z = (y + 1) * 3`, element by element.

# %%
import numpy as np

import eqsat
import eqsat.numpy as enp


def in_sequence(x):
    y = enp.exp(x)
    return (y + 1) * 3


program = eqsat.trace(in_sequence, eqsat.spec((12,), "float64"))
print(program)

# %% [markdown]
# As traced there are three generics and two arrays between them. The steps from there to one:

# %%
result = eqsat.optimize(program)
print(result.explain())

# %% [markdown]
# and the program that is left, as a build and as a generic with the composed block:

# %%
print(result.program)
print(*result.generics, sep="\n")

# %% [markdown]
# ## Equation (5): any maps
#
# Now the operand is read in another order, and the result as well: `h` rotates, `l` rotates back. The map of the fused operation is `h`
# after `l`, an index expression, and the index algebra finds that it is the identity.


# %%
def rotated(x):
    y = enp.exp(enp.roll(x, -5))
    return (enp.roll(y, 5) + 1) * 3


result = eqsat.optimize(rotated, eqsat.spec((12,), "float64"))
print(result.program)
print(result.explain())

# %% [markdown]
# Other maps compose to something, which stays in the kernel as an index:


# %%
def halves(x):
    return enp.repeat(enp.repeat(x, 2) + 1, 3)


print(eqsat.optimize(halves, eqsat.spec((4,), "float64")).program)

# %% [markdown]
# ## Fusing is a question of cost
#
# A rule adds an equality, so every partial fusion is in the e-graph at once. What is stored is decided by cost: a tensor that several
# read, and that is dear to compute, is better stored; a cheap one is computed again.


# %%
def read_often(x, w):
    y = w(x)
    return y[:, None] * y[None, :]


for name, function in (("negative", enp.negative), ("exp", enp.exp)):
    fused = eqsat.optimize(lambda x, w=function: read_often(x, w), eqsat.spec((1000,), "float32"))
    print(f"{name:9} {len(fused.loops)} kernels")

# %% [markdown]
# ## Is it right?
#
# Values are compared with NumPy's, and with `certify=True` every index map is proved equal to what it was:

# %%
x = np.linspace(-1, 1, 12)
certified = eqsat.optimize(rotated, x, options=eqsat.Options(certify=True))
print(certified.certificate)
np.testing.assert_allclose(certified(x), rotated(x), rtol=1e-15)

# %% [markdown]
# Next: [saturation and cost](04_saturation_and_cost.ipynb).
