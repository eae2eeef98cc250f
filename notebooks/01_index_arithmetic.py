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
# # Index arithmetic
#
# **Code that moves tensors computes addresses with `//` and `%`. How much of that arithmetic is really needed, how does a compiler find
# out, and how does it know that it is right?**
#
# An index expression is built from variables with bounds, both inclusive. `//` and `%` are floor division and its remainder, as in
# Python.

# %%
import eqsat

x, y = eqsat.var("x", 0, 127), eqsat.var("y", 0, 3)
cell = x * 4 + y
row = cell // 8 * 2 + cell % 8 // 4
eqsat.simplify(row)

# %% [markdown]
# A matrix has rows of 4 cells, and a program that goes over memory in blocks of 8 asks in which row cell `y` of row `x` lies: two rows a
# block, and the upper half of what is left. That is `x`. Which rules took part, and in which order?

# %%
found = eqsat.optimize(row)
print(found.explain())

# %% [markdown]
# Every step names the rows of the rule tables that it rests on, with their equations; they stand in [docs/rules.md](../docs/rules.md). A
# step is an equality of its own, so it can be checked without trusting the e-graph that found it:

# %%
for step in found.steps:
    print(eqsat.prove_equal(step.before, step.after, extends=True))

# %% [markdown]
# ## The e-graph behind it
#
# A rule adds an equality and takes nothing away. What is equal shares a class, a box below; each line in it is one way to compute the
# class, and what was extracted is blue, from the class marked "root" on. Where a kernel runs, this is an explorer: the slider goes through
# the steps of saturation, `+n` and `↑n` open what a line is made of and what uses a class, and searching for `(4*x + y) // 8`, blanks or
# not, leads to the class that holds it and to the rules that made it. Elsewhere it is a picture.

# %%
found.egraph

# %% [markdown]
# ## Bounds decide
#
# What is true depends on ranges. A remainder that cannot wrap goes, one that may wrap stays:

# %%
i, j = eqsat.var("i", 0, 7), eqsat.var("j", 0, 15)
print(eqsat.simplify((i * 16 + j) // 16), "|", eqsat.simplify((i * 16 + j) % 16))
print(eqsat.simplify((i * 16 + j + 1) // 16))

# %% [markdown]
# Why did the last division stay? For each division that is kept the result knows which rule was closest, and by how much its condition
# fails.

# %%
for miss in eqsat.missing((i * 16 + j + 1) // 16):
    print(miss)

# %% [markdown]
# Here: were `j` at most 14, nothing would be carried. Declare it, for the block of a `with` statement, and the division goes:

# %%
with eqsat.assume(j < 15):
    print(eqsat.simplify((i * 16 + j + 1) // 16))

# %% [markdown]
# ## Sizes that nobody knows yet
#
# Divisors may be variables. For all sizes `n` at once:

# %%
n = eqsat.dim("n", 1, 65536)
r, c = eqsat.var("r", 0, 99), eqsat.var("c", 0, 65535)
flat = r * n + c
with eqsat.assume(c < n):
    print(eqsat.simplify(flat // n), "|", eqsat.simplify(flat % n))

# %% [markdown]
# ## Gates
#
# Padding reads memory only where a condition holds, and inside of it the index may use what the condition says:

# %%
p = eqsat.var("p", 0, 33)
index, gate = eqsat.simplify_gated((p - 1) % 32, (p >= 1) & (p < 33))
print(index, "  where", gate)

# %% [markdown]
# ## Proof and refutation
#
# `prove_equal` decides by bounds, by all points, by integer sets or by the rules, and says which it was. What is not equal comes back
# with a point at which it is not:

# %%
a = eqsat.var("a", -100, 100)
print(eqsat.prove_equal(-(a // 4), (-a) // 4))
print(eqsat.prove_equal(-((-a) // 4), (a + 3) // 4))

# %% [markdown]
# Next: [views](02_views.ipynb), where such expressions come from.
