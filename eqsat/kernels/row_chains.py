"""Which kernels that read each other become one kernel row by row, or block by block of a long row: running sums with what they are of and
what is made of them, where that is estimated to be cheaper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from eqsat.ir.dtypes import itemsize
from eqsat.ir.loops import Kernel
from eqsat.ir.tensor import Tensor
from eqsat.kernels.joined import Chain, Made, readers_of
from eqsat.lowering import in_place
from eqsat.lowering.joining.block_by_block import block_by_block, rows_of
from eqsat.lowering.joining.row_by_row import outermost, row_by_row
from eqsat.lowering.scan import ENOUGH_ROWS
from eqsat.pricing.cycles import Costs
from eqsat.pricing.nest_costs import nest_ns
from eqsat.pricing.target import Target

# what a row between kernels takes at most, in the second cache; and where the last one could as well write over all of what it reads, which
# moves no more: of longer rows reads and writes come in turns, and neither hides the other
ROW_BYTES, NEAR_BYTES = 128 << 10, 8 << 10
# what one kernel has to save of what several cost: estimates are not better than that; in blocks it may cost so many times as much where
# what is between does not stay in the second cache: what is further away is slower on many machines, and threads are not free
LEAST_SAVED, FAR = 0.03, 1.25
# LLVM's time grows with the square of what is in one function
MOST_KERNELS = 8
# one kernel for several, of which buffers by these names are only between them
Join = Callable[[Sequence[Kernel], Collection[str]], Kernel | None]


def row_chains(
    lowered: Mapping[Made, Kernel],
    order: Sequence[Made],
    stay: Collection[Tensor],
    steps: Mapping[Made, Kernel],
    names: Mapping[Tensor, str],
    target: Target,
    costs: Costs,
) -> Iterator[Chain]:
    """The chains worth it of kernels, given in the order in which they run, those that end last first: each with one of the `steps`, and
    none with a kernel of another.  Some tensors stay, for others than kernels read them."""
    readers = readers_of(lowered)
    counts = {n for kernel in steps.values() if (outer := outermost(kernel)) is not None and (n := outer.variable.extent) >= ENOUGH_ROWS}
    shapes = {shape for kernel in steps.values() if (shape := rows_of(kernel)) is not None}
    taken: set[Made] = set()

    def fits(made: Made, members: Sequence[Made], rows: int) -> bool:
        """Whether rows of it are short enough to go on to the members in cache."""
        last = members[-1]
        read = [one for one in made if last in readers.get(names[one], ())]
        over = len(members) == 1 and any(in_place(lowered[last], names[one], names[it]) is not None for one in read for it in last)
        return all(one.size * itemsize(one.dtype) <= rows * (NEAR_BYTES if over else ROW_BYTES) for one in made)

    def grown(results: Made, join: Join, rows: int | None = None) -> Chain | None:
        """The longest chain that is one kernel and ends with these results, of so many rows."""
        members, kernel = [results], lowered[results]
        for made in reversed(order[: order.index(results)]):
            if len(members) == MOST_KERNELS:
                break
            users = [readers.get(names[one], set()) for one in made]
            inside = all(users) and set().union(*users) <= set(members) and not any(one in stay for one in made)
            if made in taken or not inside or not (rows is None or fits(made, members, rows)):
                continue
            between = {names[one] for other in (made, *members[:-1]) for one in other}
            longer = join([lowered[made], *(lowered[one] for one in members)], between)
            if longer is not None:
                members, kernel = [made, *members], longer
        return Chain(tuple(members), kernel) if len(members) > 1 and any(made in steps for made in members) else None

    def saved_by(chain: Chain, part: float) -> float:
        """Nanoseconds saved against `part` times the cost of its kernels alone."""
        return sum(nest_ns(lowered[made], target, costs) for made in chain.made) * part - nest_ns(chain.kernel, target, costs)

    for results in reversed(order):
        if results in taken:
            continue
        in_rows = [grown(results, partial(row_by_row, rows=rows), rows) for rows in counts]
        in_blocks = [grown(results, partial(block_by_block, rows=rows, extent=extent)) for rows, extent in shapes]
        worth = [(saved_by(chain, 1 - LEAST_SAVED), chain) for chain in in_rows if chain is not None]
        worth += [
            (saved_by(chain, FAR if _moved(chain) > target.cache_bytes[1] else 1 - LEAST_SAVED), chain) for chain in in_blocks if chain
        ]
        saved, chain = max(worth, key=lambda one: one[0], default=(0.0, None))
        if chain is not None and saved > 0:
            taken |= set(chain.made)
            yield chain


def _moved(chain: Chain) -> int:
    """Bytes of the largest array between its kernels."""
    return max(one.size * itemsize(one.dtype) for made in chain.made[:-1] for one in made)
