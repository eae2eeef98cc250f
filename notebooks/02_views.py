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
# # Views
#
# **Transposing, slicing and padding move no data in a good compiler. What is left of them, when do two of them become one, and what does
# the machine compute in the end?**
#
# A `ViewStack` is a stack of strided views of one block of memory. Each movement is a method.

# %%
import eqsat

grid = eqsat.ViewStack.from_shape((4, 6))
grid

# %% [markdown]
# The numbers are cells of memory. Transposing changes strides and nothing else:

# %%
turned = grid.permute((1, 0))
print(turned.views, turned.index_expr())
turned

# %% [markdown]
# Reshaping what was transposed cannot be said with strides: rows of the result end in the middle of columns of the grid. So a second view
# is laid on top, and the index has a division and a remainder:

# %%
stacked = turned.reshape((4, 6))
print(len(stacked.views), "views:", stacked.index_expr())
stacked

# %% [markdown]
# Undo it, and the index algebra finds that nothing is left:

# %%
back = stacked.reshape((6, 4)).permute((1, 0))
print(len(back.simplify().views), "view:", back.index_expr())

# %% [markdown]
# ## Padding
#
# Padding adds elements that no memory stands behind, hatched below. `valid_expr` says which have one.

# %%
padded = grid.pad(((1, 1), (2, 0)))
print("index", padded.index_expr())
print("valid", padded.valid_expr())
padded

# %% [markdown]
# Cutting off what was padded, and flipping twice, is the grid again:

# %%
again = padded.shrink(((1, 5), (2, 8))).flip((0,)).flip((0,)).simplify()
print(again.views, again.contiguous)

# %% [markdown]
# ## A real one: shuffling pixels
#
# Every 2 x 2 block of pixels becomes one pixel with four channels, as in super-resolution networks. Four movements are two views, and no
# single one is equal: the channel is two digits, a row and a column within the block, and strides cannot take it apart.

# %%
shuffled = eqsat.ViewStack.from_shape((8, 8)).reshape((4, 2, 4, 2)).permute((0, 2, 1, 3)).reshape((4, 4, 4))
print(len(shuffled.simplify().views), "views:", shuffled.index_expr())
shuffled

# %% [markdown]
# There and back again is nothing. `simplify` looks for one view that is equal to several, and asks the index algebra where strides do not
# tell:

# %%
there_and_back = shuffled.reshape((4, 4, 2, 2)).permute((0, 2, 1, 3)).reshape((8, 8))
merged = there_and_back.simplify()
print(len(there_and_back.views), "->", len(merged.views), "views:", merged.index_expr(), "contiguous:", merged.contiguous)

# %% [markdown]
# ## In programs
#
# Movements in a program are the same maps. Here a window slides over a padded signal, and the kernel that is left reads the signal
# itself:

# %%
import eqsat.numpy as enp


def smooth(signal):
    padded = enp.pad(signal, 1)
    return (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4


result = eqsat.optimize(smooth, eqsat.spec((1000,), "float32"))
print(result.program)

# %% [markdown]
# Next: [generic and build](03_generic_and_build.ipynb), what programs are made of.
