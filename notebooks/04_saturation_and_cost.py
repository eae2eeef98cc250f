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
# # Saturation and cost
#
# **An e-graph holds all that rules can find. Why does it not explode, what stops it, and how is the cheapest program found in it?**

# %%
import eqsat

i, j, k = (eqsat.var(name, 0, 63) for name in "ijk")

# %% [markdown]
# ## Why associativity is no rule
#
# With associativity and commutativity as rules, a sum of ten terms has more than 17 thousand million ways to be written. Here sums,
# products, min, max, `and` and `or` are nodes with any number of operands in one order, so these ways are one node. What a sum of n terms
# costs to saturate, in nodes:

# %%
for n in (2, 4, 8, 16):
    digits = [eqsat.var(f"v{m}", 0, 7) * 8**m for m in range(n)]
    report = eqsat.optimize(sum(digits[1:], digits[0]) // 8 % 8).report
    print(f"{n:3} terms: {report.nodes:4} nodes in {report.classes:4} classes, {report.end}")

# %% [markdown]
# ## Stopping is an answer
#
# The budget counts nodes and iterations, not time, so that the same input gives the same result everywhere. What a limit cuts off is
# told, and the best form so far is returned: never worse than what was written.

# %%
mixed = ((i * 64 + j) // 8 * 8 + (i * 64 + j) % 8) // 64 * 3 + k // 4 * 4 + k % 4
for nodes in (5, 20, 60, 20_000):
    found = eqsat.optimize(mixed, options=eqsat.Options(limits=eqsat.Limits(nodes=nodes), cache=False))
    print(f"{nodes:6} nodes: {found.report.stop_reason.value:10}  {float(found.cost):4.1f} ns  {found.expr}")

# %% [markdown]
# ## Phases
#
# Programs are saturated in phases: first fusion, for tensors and their elements; then the index algebra, for the maps of the program that
# would be cheapest if indices cost nothing. Before that, chains of movements, like the shuffles here, are composed to one movement each,
# whose map is simplified in an e-graph of its own. The report lists all of it in order. Here the composed movements turn out to be the
# identity, so after fusion there is no map left to simplify.

# %%
import eqsat.numpy as enp


def shuffle(image):
    h, w = image.shape
    blocks = image.reshape(h // 2, 2, w // 2, 2).transpose(0, 2, 1, 3).reshape(h // 2, w // 2, 4)
    return enp.tanh(blocks.reshape(h // 2, w // 2, 2, 2).transpose(0, 2, 1, 3).reshape(h, w))


result = eqsat.optimize(shuffle, eqsat.spec((64, 64), "float32"))
for phase, iterations, nodes in result.report.phases:
    print(f"{phase:8} {iterations:3} iterations {nodes:6} nodes")

# %%
result

# %% [markdown]
# ## Cost
#
# Cost is estimated nanoseconds on a target: operations weighed by the loop at which they vary, bytes through the cache that holds them,
# the launch of each kernel. A named default target makes it the same on every machine.

# %%
for name, ns in result.original_cost.breakdown():
    print(f"before  {name:6} {ns:9.0f} ns")
for name, ns in result.cost.breakdown():
    print(f"after   {name:6} {ns:9.0f} ns")

# %% [markdown]
# What else was there, and what would it have cost? A softmax has more to choose from: what is stored, and what is computed again where it
# is read.


# %%
def softmax(x):
    e = enp.exp(x - enp.max(x, axis=1, keepdims=True))
    return e / enp.sum(e, axis=1, keepdims=True)


chosen = eqsat.optimize(softmax, eqsat.spec((256, 1024), "float32"))
print("chosen", chosen.cost)
for other in chosen.alternatives(4):
    print(other)

# %% [markdown]
# ## What each table bought
#
# Leave one table of rules out at a time:

# %%
print(eqsat.leave_one_out(mixed))

# %%
print(eqsat.leave_one_out(shuffle, eqsat.spec((64, 64), "float32")))

# %% [markdown]
# ## Another chain of products
#
# Algebra of whole tensors is chosen by cost, too. `(A @ B) @ v` costs a product of matrices as written, and two products with a vector in
# the other order:

# %%
matrix, vector = eqsat.spec((512, 512), "float32"), eqsat.spec((512,), "float32")
chain = eqsat.optimize(lambda a, b, v: (a @ b) @ v, matrix, matrix, vector)
print(f"{chain.original_cost} -> {chain.cost}")
print(chain.program)

# %% [markdown]
# Why not as it was written?

# %%
print(chain.why_not(lambda a, b, v: (a @ b) @ v))

# %% [markdown]
# Next: [from tensor to machine code](05_from_tensor_to_machine_code.ipynb).
