"""Tensor rows: every form in the e-graph of small integer programs equals the reference interpreter, and every row takes part."""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import numpy as np
import pytest

from eqsat.capture.specs import spec
from eqsat.driver import optimize
from eqsat.egraph.encode_tensor import TensorEncoder
from eqsat.egraph.schema import GATHER_RANKS
from eqsat.ir.check import check_program
from eqsat.ir.evaluate import evaluate, evaluate_tensor
from eqsat.ir.index import Const, Index, apply, maximum, minimum, where
from eqsat.ir.tensor import (
    Arg,
    Build,
    Call,
    Constant,
    Gather,
    Generic,
    Input,
    Literal,
    Position,
    Program,
    Read,
    Reduce,
    Scalar,
    Shape,
    Tensor,
    axes,
    reduction,
)
from eqsat.options import Limits, Options
from eqsat.report import Report, StopReason
from eqsat.result import Result
from eqsat.rules import TABLES
from eqsat.rules.row import Table, TensorRule
from eqsat.rules.tensor_rules import TENSOR_TABLES
from eqsat.saturate import PHASES, session
from eqsat.sizes.facts import dim
from tests.eqsat.egraph_model import Array, Model

INT = "int64"
SHAPES: list[Shape] = [shape for rank in (1, 2) for shape in itertools.product(range(1, 5), repeat=rank)]
OPTIMIZED: list[Shape] = [(3,), (1, 3), (4, 2)]


def call(op: str, *args: Scalar, dtype: str = INT) -> Call:
    return Call(op, args, dtype)


def arg(position: int) -> Arg:
    return Arg(position, INT)


def one(value: int) -> Literal:
    return Literal(value, INT)


def elementwise(block: Scalar, *operands: Tensor) -> Generic:
    """A generic that reads every operand at its own loops."""
    shape = operands[0].shape
    return Generic(tuple(("parallel", n) for n in shape), tuple(axes(shape) for _ in operands), operands, block)


def moved(tensor: Tensor, shape: Shape, *indices: Index | int) -> Generic:
    """A generic that reads one operand through a map and gives it on."""
    return Generic(
        tuple(("parallel", n) for n in shape), (tuple(apply("add", 0, i) if isinstance(i, int) else i for i in indices),), (tensor,), arg(0)
    )


def transposed(tensor: Tensor) -> Generic:
    shape = tuple(reversed(tensor.shape))
    return moved(tensor, shape, *reversed(axes(shape)))


def flat(tensor: Tensor) -> Generic:
    """The reshape to one dimension."""
    (i,) = axes((tensor.size,))
    rest, indices = tensor.size, []
    for extent in tensor.shape:
        rest //= extent
        indices.append((i // rest) % extent)
    return moved(tensor, (tensor.size,), *indices)


def turned(tensor: Tensor) -> Generic:
    """Reversed along every dimension."""
    return moved(tensor, tensor.shape, *(n - 1 - i for i, n in zip(axes(tensor.shape), tensor.shape, strict=True)))


def clipped(tensor: Tensor) -> Generic:
    """Read through indices with one, two and three operands."""
    first, *others = axes(tensor.shape)
    return moved(tensor, tensor.shape, where(first < 1, abs(first), tensor.shape[0] - 1 - first), *others)


def rows_folded(tensor: Tensor, combine: str) -> Generic:
    """A generic that folds the last dimension."""
    *kept, last = tensor.shape
    iterators = (*(("parallel", n) for n in kept), ("reduction", last))
    return Generic(iterators, ((*axes(tuple(kept)), reduction(0, last)),), (tensor,), call("multiply", arg(0), one(3)), combine)  # type: ignore[arg-type]


def all_folded(tensor: Tensor, combine: str) -> Generic:
    """A generic that folds every dimension."""
    loops = tuple(reduction(level, n) for level, n in enumerate(tensor.shape))
    return Generic(tuple(("reduction", n) for n in tensor.shape), (loops,), (tensor,), arg(0), combine)


def product(left: Tensor, right: Tensor) -> Generic:
    """The matrix product of left and the transpose of right."""
    (n, k), m = left.shape, right.shape[0]
    (i, j), r = axes((n, m)), reduction(0, k)
    block = call("multiply", arg(0), arg(1))
    return Generic((("parallel", n), ("parallel", m), ("reduction", k)), ((i, r), (j, r)), (left, right), block, "sum")


def weighted(tensor: Tensor, weights: Tensor) -> tuple[Generic, Build]:
    """Every element times the sum of the weights, as a generic and as a build: read whole under a reduction."""
    (n,), r = weights.shape, reduction(0, weights.size)
    loops = axes(tensor.shape)
    iterators = (*(("parallel", k) for k in tensor.shape), ("reduction", n))
    block = call("multiply", arg(0), arg(1))
    body = call("multiply", Read(tensor, loops), Read(weights, (r,)))
    generic = Generic(iterators, (loops, (r,)), (tensor, weights), block, "sum")  # type: ignore[arg-type]
    return generic, Build(tensor.shape, Reduce("sum", r, body))


def behind_each_other(tensor: Tensor) -> Build:
    """A vector, and behind it itself turned."""
    (n,) = tensor.shape
    (i,) = axes((2 * n,))
    first, second = Read(tensor, (minimum(i, n - 1),)), Read(turned(tensor), (maximum(i - n, 0),))
    return Build((2 * n,), call("where", Position(i < n, "bool"), first, second))


def row_sums(tensor: Tensor) -> Build:
    """Build (i.. -> sum r. tensor[i.., r] * 2)."""
    *kept, last = tensor.shape
    r = reduction(0, last)
    return Build(tuple(kept), Reduce("sum", r, call("multiply", Read(tensor, (*axes(tuple(kept)), r)), one(2))))


def tables_of(tensor: Tensor) -> Build:
    """Build (i, j -> max r. tensor[i] + tensor[r] * j): an element read inside and outside a reduction."""
    (n,) = tensor.shape
    (i, j), r = axes((n, 2)), reduction(0, n)
    grown = call("multiply", Read(tensor, (r,)), one(3))
    return Build(
        (n, 2),
        Reduce("max", r, call("add", Read(tensor, (i,)), call("where", call("less", grown, one(1), dtype="bool"), grown, one(j.hi)))),
    )


def folded_through(tensor: Tensor) -> list[Build]:
    """Reductions that read a tensor of one dimension through every kind of index."""
    (n,) = tensor.shape
    r = reduction(0, n)
    indices = (r, n - 1 - r, abs(r), where(r < 1, r, n - 1 - r), apply("add", 0, 0), apply("mod", r + 1, n))
    folds = [Build((), Reduce("sum", r, Read(tensor, (index,)))) for index in indices]
    constant = Build((2,), Reduce("min", r, Read(tensor, (apply("mod", 0, 1),))))
    return [*folds, constant]


def folded_rows(tensor: Tensor) -> list[Build]:
    """Reductions over the rows of a tensor of two dimensions, at the loops around them."""
    n, m = tensor.shape
    (i,) = axes((m,))
    (j, k) = axes((n, 2))
    down, across = reduction(0, n), reduction(0, m)
    inner = Reduce("sum", reduction(1, m), Read(tensor, (down, reduction(1, m))))
    return [
        Build((m,), Reduce("max", down, Read(tensor, (down, i)))),
        Build((n, 2), Reduce("min", across, call("add", Read(tensor, (j, across)), Read(tensor, (n - 1 - j, apply("mul", 0, k)))))),
        Build((), Reduce("max", down, inner)),
    ]


def gathered(tensor: Tensor, rank: int) -> Generic:
    """Elements of a tensor of this rank at places that it gives itself, turned round."""
    flat = moved(tensor, (tensor.size,), *(tensor_index(axes((tensor.size,))[0], tensor.shape)))
    cube = moved(flat, (*(1,) * (rank - 1), flat.size), axes((*(1,) * (rank - 1), flat.size))[-1])
    (i,) = axes((flat.size,))
    places = tuple(call("add", Read(flat, (i,)), one(k)) for k in range(rank))
    return turned(Build((flat.size,), Gather(cube, places)))


def chosen_often(tensor: Tensor) -> Build:
    """A function of elements of a tensor, at more places than it has elements."""
    row = flat(tensor)
    (i,) = axes((2 * row.shape[0],))
    chosen = Gather(row, (Read(row, (i % row.shape[0],)),))
    return Build((2 * row.shape[0],), call("multiply", chosen, call("subtract", chosen, one(3))))


def tensor_index(i: Index, shape: Shape) -> tuple[Index, ...]:
    """The indices of the i-th element in C order."""
    indices: list[Index] = []
    rest = int(np.prod(shape))
    for n in shape:
        rest //= n
        indices.append(i // rest % n)
    return tuple(indices)


def positioned(tensor: Tensor) -> list[Tensor]:
    """Positions read through a map, and a sum of which one element counts."""
    (n,) = tensor.shape
    (i,), r = axes((n,)), reduction(0, n)
    weighted = Build((n,), call("multiply", Read(tensor, (i,)), Position(2 * i + 1, INT)))
    chosen = call("where", Position(apply("eq", r, n - 1 - i), "bool"), Read(tensor, (r,)), one(0))
    return [
        turned(weighted),
        Build((n,), Reduce("sum", r, chosen)),
        elementwise(call("add", arg(0), arg(1)), tensor, Constant(np.arange(n))),
    ]


def grouped(keys: Tensor, rows: Tensor) -> Build:
    """Sums of rows by the first element of another tensor's."""
    group, column = axes((3, rows.shape[1]))
    row = reduction(0, rows.shape[0])
    same = call("equal", Read(keys, (row, Const(0))), Position(group, INT), dtype="bool")
    return Build((3, rows.shape[1]), Reduce("sum", row, call("multiply", call("astype", same), Read(rows, (row, column)))))


def programs(shape: Shape) -> dict[str, Tensor]:
    """Programs on two integer inputs of one shape, by name."""
    x, y = Input("x", shape, INT), Input("y", shape, INT)
    total = elementwise(call("add", arg(0), arg(1)), x, y)
    chosen = elementwise(call("where", call("less", arg(0), arg(1), dtype="bool"), arg(1), call("negative", arg(2))), x, total, y)
    constant = elementwise(one(7), x)
    vector = flat(chosen)
    made: dict[str, Tensor] = {
        "sum of both": total,
        "choice of three": chosen,
        "negated sum": elementwise(call("negative", arg(0)), total),
        "like terms": elementwise(call("subtract", call("multiply", arg(0), arg(1)), call("multiply", arg(1), arg(0))), x, total),
        "magnitudes": elementwise(call("maximum", arg(0), call("negative", arg(0))), total),
        "function of a table": chosen_often(total),
        "constant": elementwise(call("add", arg(0), arg(1)), constant, total),
        "constant by another map": turned(constant),
        "flat": vector,
        "turned": turned(turned(total)),
        "clipped": clipped(clipped(chosen)),
        "transposed": elementwise(call("subtract", arg(0), arg(1)), transposed(transposed(total)), y),
        "rows": rows_folded(total, "sum"),
        "rows of a transpose": rows_folded(transposed(chosen), "max"),
        "everything": all_folded(total, "min"),
        "sums of a build": row_sums(total),
        "table": tables_of(vector),
        "joined": behind_each_other(vector),
    }
    made.update((f"gathered {rank}", gathered(total, rank)) for rank in GATHER_RANKS)
    made.update((f"positions {k}", tensor) for k, tensor in enumerate(positioned(vector)))
    made.update((f"turned weights {k}", turned(tensor)) for k, tensor in enumerate(weighted(total, vector)))
    made.update((f"fold {k}", tensor) for k, tensor in enumerate(folded_through(flat(tables_of(vector)))))
    if len(shape) == 2:
        sums, both = row_sums(total), product(total, chosen)
        made.update(
            {
                "sums of groups": grouped(total, y),
                "product": both,
                "turned product": turned(both),
                "sums of products": rows_folded(both, "sum"),
                "rows then all": all_folded(sums, "max"),
                "products with a common factor": elementwise(call("subtract", arg(0), arg(1)), both, product(total, y)),
            }
        )
        made.update((f"fold of sums {k}", tensor) for k, tensor in enumerate(folded_through(sums)))
        made.update((f"fold of rows {k}", tensor) for k, tensor in enumerate(folded_rows(both)))
    return made


def inputs(shape: Shape) -> dict[Input, Array]:
    rng = np.random.default_rng(sum(shape))
    return {Input(name, shape, INT): rng.integers(-9, 10, shape) for name in "xy"}


@functools.cache
def program_of(shape: Shape) -> Program:
    """All programs of a shape as one."""
    program = Program(tuple(inputs(shape)), tuple(programs(shape).values()))
    check_program(program)
    return program


@functools.cache
def saturated(shape: Shape) -> tuple[Model, tuple[int, ...], Report]:
    """The model of the e-graph that holds all programs of a shape, the handles of their tensors, and the report."""
    return fused(program_of(shape), inputs(shape), TENSOR_TABLES)


def fused(program: Program, values: dict[Input, Array], tables: tuple[Table, ...]) -> tuple[Model, tuple[int, ...], Report]:
    report = Report()
    with session(tuple(table.name for table in tables), Limits(), report, tables) as work:
        encoder = TensorEncoder(work.encoder)
        roots = encoder.program(program)
        snapshot = work.run(PHASES["fusion"])
        leaves = [values[leaf] if isinstance(leaf, Input) else evaluate_tensor(leaf, {}) for leaf in encoder.leaves]
        return Model(snapshot, leaves), roots, report


@functools.cache
def optimized(shape: Shape) -> Result:
    """All programs of a shape as the cheapest program."""
    return optimize(program_of(shape), options=Options())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_form_of_small_programs_equals_the_reference_interpreter(shape: Shape) -> None:
    model, roots, _ = saturated(shape)
    assert not model.violations()
    assert model.checked > 300  # applications that were carried out are gone
    for (name, tensor), root in zip(programs(shape).items(), roots, strict=True):
        value, expected = model.tensor(root), evaluate_tensor(tensor, inputs(shape))
        assert value.dtype == expected.dtype, name
        assert np.array_equal(value, expected), name


@pytest.mark.parametrize("shape", OPTIMIZED, ids=str)
def test_the_cheapest_forms_of_small_programs_equal_the_reference_interpreter(shape: Shape) -> None:
    program, cheapest, values = program_of(shape), optimized(shape).program, inputs(shape)
    arrays = [values[tensor] for tensor in program.inputs]
    check_program(cheapest)
    for name, found, expected in zip(programs(shape), evaluate(cheapest, arrays), evaluate(program, arrays), strict=True):
        assert found.dtype == expected.dtype, name
        assert np.array_equal(found, expected), name


@functools.cache
def counts() -> Counter[str]:
    """How often each name was counted in all of these programs."""
    sized = optimize(lambda x: (x - x.mean(axis=0)[::-1]).sum(axis=1), spec((dim("n", 1, 64), 4), "float32"))
    moduli = optimize(lambda z: abs(z) ** 2, spec((9,), "complex64"))
    twice = optimize(lambda a, x: (a @ x).sum() + (x @ a.T).max(), spec((18, 12), "float32"), spec((12,), "float32"))
    others = (sized.report, moduli.report, twice.report)
    reports = [*(saturated(shape)[2] for shape in SHAPES), *(optimized(shape).report for shape in OPTIMIZED), *others]
    return sum((report.matches for report in reports), Counter())


@pytest.mark.parametrize("name", [row.name for table in TENSOR_TABLES for row in table.rows])
def test_a_tensor_row_fires_and_is_counted_under_its_name(name: str) -> None:
    assert counts()[name] > 0


def test_nothing_is_counted_under_a_name_that_is_no_row() -> None:
    assert not counts().keys() - {row.name for table in TABLES for row in table.rows}


@pytest.mark.parametrize("name", programs((2, 3)))
def test_fusing_a_small_program_saturates(name: str) -> None:
    program = Program(tuple(inputs((2, 3))), (programs((2, 3))[name],))
    assert fused(program, inputs((2, 3)), TENSOR_TABLES)[2].stop_reason is StopReason.SATURATED


UNSOUND = [
    TensorRule("planted-commuted-operands", "f(a, b) = f(b, a)", "(= e (Call2 op t a b))", "(union e (Call2 op t b a))"),
    TensorRule("planted-read-anywhere", "X[js] = X[i]", "(= e (Read x js)) (= f (Element x))", "(union e f)"),
    TensorRule("planted-equal-indices", "X[j, k] = X[j, j]", "(= e (Read x js)) (= js (Cons j rest)) (= rest (Cons k end))", "(union j k)"),
    TensorRule("planted-lost-fold", "fold r. f = f", "(= e (Reduce op n f))", "(union e f)"),
]


@pytest.mark.parametrize("row", UNSOUND, ids=lambda row: row.name)
def test_a_planted_unsound_tensor_rule_is_found_by_the_model(row: TensorRule) -> None:
    values = inputs((2, 3))
    x, y = values
    difference = elementwise(call("subtract", arg(0), arg(1)), x, turned(x))
    program = Program((x, y), (turned(difference), rows_folded(turned(elementwise(call("negative", arg(0)), y)), "sum")))
    assert not fused(program, values, TENSOR_TABLES)[0].violations()
    model, _, report = fused(program, values, (*TENSOR_TABLES, Table("planted", "fusion", "", (row,))))
    assert report.matches[row.name] > 0
    assert model.violations()
