"""What people write with NumPy, of values that there are: gathers by computed positions, sums into tables, changes in place, windows,
scans, sorts, products, masks, bytes, bits, complex numbers, loops.  functions.py puts programs together of it.

Idioms are texts of one value, or lines that make the value `@`.  Those of KEEPS give multiples of powers of two of such, those of ROUNDS do
not, and those of DECIDES make decisions (comparisons, positions, whole numbers), which rounding in another order could turn; they are
asked only of values that nothing has rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.fuzz.draws import Draw, Nothing

Idiom = Callable[[Draw], str]


def _one(text: str, kinds: str = "f", rank: int | None = None, least: int = 1, exact: bool = False) -> Idiom:
    """An idiom of one value x, one of its axes k with n elements, and a number c."""

    def idiom(d: Draw) -> str:
        x = (d.exact if exact else d.value)(kinds, rank, None, least)
        k = d.axis(x)
        return text.format(x=x, k=k, n=d.extent(x, k), c=d.number(), s=d.small(3), w=d.small(min(5, d.extent(x, k))))

    return idiom


def _two(text: str, kinds: str = "f", rank: int | None = None, exact: bool = False) -> Idiom:
    """Of x and of y, which broadcasts with it, beside what `_one` has."""

    def idiom(d: Draw) -> str:
        d.exactly = exact
        try:
            x = d.value(kinds, rank)
            y = d.like(x, kinds) if d.rng.random() < 0.6 else d.beside(x, kinds)
        finally:
            d.exactly = False
        if exact and y in d.rounded:
            raise Nothing
        k = d.axis(x)
        return text.format(x=x, y=y, k=k, n=d.extent(x, k), c=d.number(), s=d.small(3))

    return idiom


def _position(d: Draw, table: str, kinds: str = "iu") -> tuple[str, str]:
    """Positions within the first axis of a table: computed, or given."""
    i = d.exact(kinds, d.rng.choice((1, 1, 2)))
    n = d.extent(table, 0)
    form = d.rng.choice(("np.abs({i}.astype(np.int64)) % {n}", "np.clip({i}, 0, {m})", "({i}.astype(np.int64) * 7 + 3) % {n}"))
    return i, form.format(i=i, n=n, m=min(n - 1, 100))


def _gather(d: Draw) -> str:
    x = d.value("fic")
    _, at = _position(d, x)
    return d.rng.choice((f"{x}[{at}]", f"np.take({x}, {at}, axis=0)", f"{x}[{at}] * 2", f"{x}[{at}, ...]"))


def _gather_between(d: Draw) -> str:
    """Between neighbours, at places that are computed."""
    x = d.value("f", None, None, 3)
    i, n = d.exact("iu", 1), d.extent(x, 0)
    return f"(lambda p: {x}[p] * 0.75 + {x}[p + 1] * 0.25)(np.abs({i}.astype(np.int64)) % {n - 1})"


def _sum_into(d: Draw) -> str:
    x = d.exact("f", d.rng.choice((1, 2)))
    i = d.exact("iu", 1, (d.extent(x, 0),))
    n = d.small(40, 2)
    shape = f"({n},)" if d.values[x].ndim == 1 else f"({n}, {d.extent(x, 1)})"
    how = d.rng.choice(("add", "add", "add", "maximum", "minimum"))
    return f"(lambda t: (np.{how}.at(t, np.abs({i}.astype(np.int64)) % {n}, {x}), t)[1])(np.zeros_like({x}, shape={shape}))"


def _count(d: Draw) -> str:
    i = d.exact("iu", 1)
    return f"np.bincount(np.abs({i}.astype(np.int64)) % {d.small(30, 2)}, minlength=30)"


def _put(d: Draw) -> str:
    """A copy of which a part is changed."""
    x = d.value("fiu", None, None, 2)
    v = d.values[x]
    where = ", ".join(
        d.rng.choice((":", f"{d.small(n - 1, 0)}:", f":{-d.small(n - 1)}", "::2", f"{d.small(n - 1, 0)}", "::-1", "1:-1" if n > 2 else ":"))
        for n in v.shape[: d.rng.randint(1, v.ndim)]
    )
    how = d.rng.choice(("t[{w}] = t[{w}] * 2", "t[{w}] += 1", "t[{w}] = 0", "t[{w}] = ({x} + 1)[{w}]", "t[{w}] -= {x}[{w}]"))
    return f"    @ = {x}.copy()\n    " + how.format(w=where, x=x).replace("t[", "@[")


def _put_rows(d: Draw) -> str:
    """Rows at computed places, all of them different."""
    x = d.value("f", None, None, 2)
    n = d.extent(x, 0)
    step = next(s for s in (7, 5, 3, 1, 11) if math.gcd(s, n) == 1)
    how = d.rng.choice(("@[p] = {x}[::-1]", "@[p] += {x}", "@[p] = @[p] * 2 - {x}", "@[p] = 1"))
    return f"    p = (np.arange({n}) * {step} + {d.small(5)}) % {n}\n    @ = {x} * 1\n    " + how.format(x=x)


def _masked(d: Draw) -> str:
    x = d.value("fiu")
    y = d.exact("fiu", shape=d.values[x].shape)
    how = d.rng.choice(
        ("@[{y} > 0] = 0", "@[{y} > 0] += 1", "@[{y} < 1] = 5", "np.putmask(@, {y} > 0, 2)", "@[({y} > -2) & ({y} < 2)] *= 2")
    )
    return f"    @ = {x}.copy()\n    " + how.format(y=y)


def _steps(d: Draw) -> str:
    """A stencil, several steps, each into what the step before made."""
    x = d.value("f", d.rng.choice((1, 2)), None, 4)
    inner = "1:-1" if d.values[x].ndim == 1 else "1:-1, 1:-1"
    sides = ("[:-2]", "[2:]") if d.values[x].ndim == 1 else ("[:-2, 1:-1]", "[2:, 1:-1]", "[1:-1, :-2]", "[1:-1, 2:]")
    mean = " + ".join(f"@{side}" for side in sides)
    return f"    @ = {x} * 1\n    for _ in range({d.small(4)}):\n        @[{inner}] = ({mean}) / {len(sides)}"


def _loop(d: Draw) -> str:
    """Steps of eqsat's own loop."""
    x = d.value("f")
    k = d.small(6)
    body = d.rng.choice(
        ("v * 0.5 + {x}", "np.roll(v, 1, axis=-1) * 0.5 + 1", "np.maximum(v, {x}) - 0.5 * t", "v - v.mean(axis=-1, keepdims=True)")
    )
    return f"eqsat.fori({k}, lambda t, v: {body.format(x=x)}, {x} * 1)"


def _recurrence(d: Draw) -> str:
    """Column by column, each of those before it."""
    x = d.value("f", 2, None, 3)
    n = min(d.extent(x), d.small(12, 2))
    how = d.rng.choice(("@[:, j] += 0.5 * @[:, j - 1]", "@[:, j] = np.maximum(@[:, j - 1], {x}[:, j])", "@[:, j] -= @[:, :j].mean(axis=1)"))
    return f"    @ = {x} * 1\n    for j in range(1, {n}):\n        " + how.format(x=x)


def _windows(d: Draw) -> str:
    x = d.value("f", None, None, 3)
    k = d.axis(x)
    w = d.small(min(5, d.extent(x, k)), 2)
    fold = d.rng.choice(("max", "min", "sum", "mean"))
    return f"np.lib.stride_tricks.sliding_window_view({x}, {w}, axis={k}).{fold}(axis=-1)"


def _pool(d: Draw) -> str:
    x = d.value("fiu", 2, None, 4)
    (m, n), a, b = d.values[x].shape, d.small(3, 2), d.small(4, 2)
    fold = d.rng.choice(("max", "min", "sum")) if d.values[x].dtype.kind == "f" else d.rng.choice(("max", "min"))
    return f"{x}[:{m // a * a}, :{n // b * b}].reshape({m // a}, {a}, {n // b}, {b}).{fold}(axis=(1, 3))"


def _product(d: Draw) -> str:
    x = d.value("f", 2)
    y = d.value("f", 2)
    m, k = d.values[x].shape
    forms = {
        d.values[y].shape[0] == k: f"({x} @ {y}) / {k}",
        d.values[y].shape[1] == k: f"({x} @ {y}.T) / {k}",
        d.values[y].shape[0] == m: f"({x}.T @ {y}) / {m}",
    }
    if True not in forms:
        return f"({x} @ {x}.T) / {k}"
    return forms[True]


def _vector_product(d: Draw) -> str:
    x = d.value("f", 2)
    v = d.value("f", 1)
    m, k = d.values[x].shape
    if d.extent(v) == k:
        return f"({x} @ {v}) / {k}"
    if d.extent(v) == m:
        return f"({v} @ {x}) / {m}"
    return f"np.outer({v}, {x}[0]) if {x}.size < 3000 else {v} * 2"


def _einsum(d: Draw) -> str:
    x = d.value("f", 2)
    y = d.like(x)
    m, n = d.values[x].shape
    form, size = d.rng.choice(
        (("ij,ij->i", n), ("ij,ij->j", m), ("ij,ij->", m * n), ("ij,kj->ik", n), ("ij,ik->jk", m), ("ij,kj->", m * n * m))
    )
    return f"np.einsum({form!r}, {x}, {y}) / {size}"


def _rows_between(d: Draw) -> str:
    """Of all pairs of rows."""
    x = d.value("f", 2)
    m, n = d.values[x].shape
    if m * m * n > 400_000:
        raise Nothing
    fold = d.rng.choice(("sum(axis=-1)", "max(axis=-1)", "sum(axis=(0, 2))", "min(axis=1)"))
    how = d.rng.choice(("np.abs({x}[:, None] - {x})", "({x}[:, None] - {x}) ** 2", "np.maximum({x}[:, None], {x})", "{x}[:, None] * {x}"))
    return f"({how.format(x=x)}).{fold} / {n}"


def _joined(d: Draw) -> str:
    x = d.value("fiuc")
    y = d.like(x, "fiuc")
    form = d.rng.choice(
        ("np.concatenate([{x}, {y}], axis={k})", "np.stack([{x}, {y}], axis={k})", "np.where(np.arange({n}) % 2 == 0, {x}, {y})")
    )
    return form.format(x=x, y=y, k=d.axis(x), n=d.extent(x))


def _pieces(d: Draw) -> str:
    """Halves, worked on one by one, together again."""
    x = d.value("f", None, None, 4)
    k, n = d.axis(x), d.extent(x, -1)
    return d.rng.choice(
        (
            f"(lambda h: np.concatenate([h[0] + 1, h[1] * 2], axis={k}))(np.array_split({x}, 2, axis={k}))",
            f"np.concatenate([-{x}[..., {n // 2}:], {x}[..., :{n // 2}]], axis=-1)",
            f"np.stack([{x}[..., ::2][..., :{n // 2}] - {x}[..., 1::2], {x}[..., 1::2] * 2], axis=-1)",
        )
    )


def _shaped(d: Draw) -> str:
    x = d.value("fiuc")
    size, shape = d.values[x].size, d.values[x].shape
    parts = [p for p in (2, 3, 4, 5, 8, 16) if size % p == 0]
    if not parts:
        return f"{x}.ravel()"
    p = d.rng.choice(parts)
    return d.rng.choice(
        (f"{x}.reshape({p}, -1)", f"{x}.reshape(-1, {p})", f"{x}.reshape(-1, {p}).T", f"{x}.ravel()", f"{x}.reshape({shape[::-1]})")
    )


def _by_rows(d: Draw) -> str:
    """Along rows, at a place of each."""
    x = d.value("f", 2)
    y = d.exact("f", shape=d.values[x].shape)
    how = d.rng.choice(("argmax", "argmin"))
    return d.rng.choice(
        (
            f"np.take_along_axis({x}, np.{how}({y}, axis=1)[:, None], axis=1)[:, 0]",
            f"np.take_along_axis({x}, np.argsort({y}, axis=1, kind='stable'), axis=1)",
            f"{x}[np.arange({d.extent(x, 0)}), np.{how}({y}, axis=1)]",
            f"{x}[np.argsort({y}[:, 0], kind='stable')]",
        )
    )


def _searched(d: Draw) -> str:
    x, v = d.exact("f", 1), d.exact("f", 1)
    return f"np.searchsorted(np.sort({x}), {v}, side={d.rng.choice(('left', 'right'))!r})"


def _complex(d: Draw) -> str:
    x = d.value("f")
    return f"{x} + 1j * {d.like(x)}"


ROUNDS: tuple[Idiom, ...] = (
    _one("np.tanh({x})"),
    _one("np.exp(-np.abs({x}))"),
    _one("np.sqrt(np.abs({x}) + 1)"),
    _one("1 / (1 + np.exp(-{x}))"),
    _one("np.sin({x}) * {c}"),
    _one("{x} / (1 + np.abs({x}))"),
    _one("np.log1p(np.abs({x}))"),
    _one("{x}.mean(axis={k})"),
    _one("{x}.mean(axis={k}, keepdims=True) - {x}"),
    _one("{x}.std(axis={k})"),
    _one("{x}.var(axis={k}, keepdims=True) * {c}"),
    _one("({x} - {x}.mean(axis={k}, keepdims=True)) / np.sqrt({x}.var(axis={k}, keepdims=True) + 1)"),
    _one("(lambda e: e / e.sum(axis={k}, keepdims=True))(np.exp({x} - {x}.max(axis={k}, keepdims=True)))"),
    _one("np.log(np.exp({x} - {x}.max(axis={k}, keepdims=True)).sum(axis={k}))"),
    _one("np.cumsum({x}, axis={k}) / {n}"),
    _one("np.cumsum({x}[..., ::-1], axis=-1)[..., ::-1] / 100"),
    _one("{x} / ({x} * {x} + 1).sum(axis={k}, keepdims=True)"),
    _one("np.sqrt(({x} ** 2).sum(axis={k}) + 1)"),
    _one("np.median({x}, axis={k})"),
    _one("np.gradient({x}, axis={k})", least=3),
    _one("np.pad({x}, 2, mode='reflect')[..., 1:-1]", least=4),
    _one("np.abs({x})", "c"),
    _one("({x} * {x}.conj()).real / 4", "c"),
    _one("np.fft.rfft({x}, axis={k}).real / {n}"),
    _one("np.var({x}) + {x}"),
    _one("np.cumprod(np.clip({x}, -1, 1), axis={k})"),
    _one("np.nanmean(np.where({x} > 100, np.nan, {x}), axis={k})"),
    _one("np.quantile({x}, 0.25, axis={k})"),
    _one("np.trapezoid({x}, axis={k}) / {n}", least=2),
    _one("np.linalg.norm({x}, axis={k})"),
    _one("np.linalg.det({x}[:3, :3] + np.eye(3) * 20) / 1000", rank=2, least=3),
    _one("np.linalg.solve({x}[:4, :4] / 10 + np.eye(4) * 20, {x}[:4])", rank=2, least=4),
    _one("np.fft.ifft(np.fft.fft({x}, axis={k}), axis={k}).real"),
    _one("np.interp({x}, np.linspace(-5, 5, 11), np.linspace(-5, 5, 11) ** 2)"),
    _one("np.polyval([0.125, -1, 0.5], {x}) / 8"),
    _one("np.convolve({x}, [0.25, 0.5, 0.25], mode='same')", rank=1, least=3),
    _one("np.average({x}, axis={k}, weights=np.arange(1, {n} + 1))"),
    _one("np.logaddexp({x}, 0)"),
    _one("np.exp({x} - {x}.max()).sum()"),
    _one("np.corrcoef({x} + np.eye(*{x}.shape))", rank=2, least=3),
    _one("np.linalg.norm({x} - {x}[0], axis=-1)", rank=2),
    _one("np.expm1({x} / 20) + np.cbrt({x})"),
    _one("np.tensordot({x}, {x}, axes=({k}, {k})) / {n} if {x}.size < 2000 else {x} / 3"),
    _one("np.kron({x}[:3], {x}[:2]) / 3"),
    _one("({x} / 16) ** 3"),
    _one("np.power(np.abs({x}) + 0.5, 0.3)"),
    _one("np.where({x} > 100, 0, np.sqrt(np.abs({x}))).sum(axis={k})"),
    _two("np.cov({x}, {y})", rank=1),
    _two("np.logaddexp({x}, {y})"),
    _two("np.sqrt((({x} - {y}) ** 2).mean())"),
    _two("np.vecdot({x}, {y}) / {n}", rank=2),
    _two("np.where(np.isnan({x} / {y}), 0, np.clip({x} / np.where({y} == 0, 1, {y}), -9, 9))"),
    _one("{x}.astype(np.float32) / 3", "iu"),
    _one("{x}.mean(axis={k})", "iu"),
    _two("np.hypot({x}, {y})"),
    _two("np.arctan2({x}, {y} + 20)"),
    _two("{x} / (np.abs({y}) + 1)"),
    _two("np.exp(-({x} - {y}) ** 2)"),
    _two("np.where({y} > 100, {x}, {x} * 0.3)"),
    _two("({x} * {y}).sum(axis={k}) / {n}"),
    _two("{x} * {y} / ({x} * {x} + {y} * {y} + 1)", "fc"),
    _two("{x} @ {y}.T / {n}", rank=2),
    _two("np.correlate({x}, {y}[:5], mode='same') / 8", rank=1),
    _product,
    _vector_product,
    _einsum,
    _rows_between,
    _steps,
    _loop,
    _recurrence,
    _windows,
)
KEEPS: tuple[Idiom, ...] = (
    _one("{x} * {c}", "fic"),
    _one("{x} + {c}", "fic"),
    _one("np.maximum({x}, 0)", "fi"),
    _one("np.abs({x})", "fi"),
    _one("np.clip({x}, -2, 3)", "fi"),
    _one("{x}.max(axis={k})", "fiu"),
    _one("{x}.min(axis={k}, keepdims=True) + {x}", "fi"),
    _one("np.flip({x}, {k})", "fiuc"),
    _one("np.roll({x}, {s}, axis={k})", "fiuc"),
    _one("np.swapaxes({x}, 0, -1)", "fiuc"),
    _one("{x}[..., 1:] - {x}[..., :-1]", "fi", least=2),
    _one("np.diff({x}, axis={k})", "fi", least=2),
    _one("{x}[::2]", "fiuc"),
    _one("{x}[..., ::-2]", "fiuc"),
    _one("np.repeat({x}, 2, axis={k})", "fiu"),
    _one("np.tile({x}, 2)", "fiu"),
    _one("np.pad({x}, 1)", "fiu"),
    _one("np.pad({x}, 1, mode='edge')", "fiu"),
    _one("np.pad({x}, 1, mode='wrap')", "fiu"),
    _one("np.expand_dims({x}, {k})", "fiu"),
    _one("np.sort({x}, axis={k})", "fiu"),
    _one("np.maximum.accumulate({x}, axis={k})", "fiu"),
    _one("np.tril({x})", "fi", rank=2),
    _one("np.triu({x}, 1) + np.diagonal({x})[0]", "fi", rank=2),
    _one("np.diag({x}) if {n} < 200 else {x}", "fi", rank=1),
    _one("np.partition({x}, 1, axis={k}).max(axis={k})", "fi", least=2),
    _one("-np.sort(-{x}, axis={k})", "fi"),
    _one("np.rot90({x})", "fiuc", rank=2),
    _one("np.ptp({x}, axis={k})", "fi"),
    _one("np.moveaxis({x}, {k}, 0)", "fiuc"),
    _one("np.insert({x}, 1, 0, axis={k})", "fi"),
    _one("np.delete({x}, 0, axis={k})", "fi", least=2),
    _one("np.append({x}, {x}[:1], axis=0)", "fiu"),
    _one("np.broadcast_to({x}, (2, *{x}.shape))", "fiu"),
    _one("np.squeeze({x}[None])", "fiu"),
    _one("np.select([{x} > 2, {x} < -2], [{x} - 2, {x} + 2], 0)", "fi", exact=True),
    _one("np.nan_to_num({x}, nan=1.0)"),
    _one("np.minimum.reduce({x}, axis={k}) - {c}", "fi"),
    _one("np.fmax({x}, {c})"),
    _one("np.reshape({x}, -1)[::-1]", "fiu"),
    _one("np.unstack({x})[0]", "fiu", least=1),
    _one("np.ediff1d({x})", "fi", least=2),
    _one("np.copysign({c}, {x})", exact=True),
    _one("np.trunc({x}) + np.ceil({x})", exact=True),
    _one("np.meshgrid({x}, {x}[:3])[0]", "fi", rank=1),
    _one("{x}.copy()", "fiuc"),
    _one("{x}.real + {x}.imag", "c"),
    _one("{x}.conj() * 1j", "c"),
    _two("{x} + {y}", "fic"),
    _two("{x} - {y}", "fic"),
    _two("np.maximum({x}, {y})", "fiu"),
    _two("np.minimum({x}, -{y})", "fi"),
    _two("np.where({x} > {y}, {x} - {y}, {y})", "fi", exact=True),
    _gather,
    _gather_between,
    _put,
    _put_rows,
    _masked,
    _pool,
    _joined,
    _pieces,
    _shaped,
    _by_rows,
    _sum_into,
    _complex,
)
DECIDES: tuple[Idiom, ...] = (
    _one("np.floor({x} * {c})", exact=True),
    _one("np.round({x})", exact=True),
    _one("{x} > {c}", exact=True),
    _one("np.sign({x}) * {c}", exact=True),
    _one("np.argmax({x}, axis={k})", exact=True),
    _one("np.argsort({x}, axis={k}, kind='stable')", exact=True),
    _one("np.floor({x}).astype(np.int64)", exact=True),
    _one("({x} * 2).astype(np.int32)", exact=True),
    _one("np.count_nonzero({x} > 0, axis={k})", exact=True),
    _one("({x} > 0).any(axis={k})", exact=True),
    _one("np.where({x} > 0, {x}, -{x} * 0.5)", exact=True),
    _one("np.cumsum({x} > 0, axis={k})", exact=True),
    _one("np.mod({x}, 3)", exact=True),
    _one("np.fmod({x}, 3)", exact=True),
    _one("np.floor_divide({x}, 2)", exact=True),
    _one("np.digitize({x}, [-3.0, -1.0, 0.5, 2.0])", exact=True),
    _one("np.histogram({x}, bins=8, range=(-5, 5))[0]", exact=True),
    _one("np.argpartition({x}, 0, axis={k})[..., :1] * 0 + np.argmin({x}, axis=-1, keepdims=True)", exact=True),
    _one("np.all({x} < 4, axis={k})", exact=True),
    _one("np.isin({x}, [0.5, 1, 2])", exact=True),
    _one("np.lexsort(({x}, np.floor({x})))", rank=1, exact=True),
    _one("np.flatnonzero(np.array([1, 0, 1])) * 1 + {x}[..., :1].astype(np.int64)", exact=True),
    _one("np.signbit({x})", exact=True),
    _one("np.logical_xor({x} > 0, {x} < 1)", exact=True),
    _one("np.packbits({x} > 0, axis={k})", exact=True),
    _one("np.unpackbits({x}, axis={k})", "u"),
    _one("np.bitwise_count({x})", "iu"),
    _one("np.left_shift({x}, 2) | 1", "iu"),
    _one("np.gcd({x}, 12)", "i"),
    _one("np.divmod({x}, 7)[1]", "iu"),
    _one("np.clip({x}, 3, 30).astype(np.int32) ** 2", "iu"),
    _one("np.bitwise_and.reduce({x}, axis={k})", "iu"),
    _one("np.logical_or.accumulate({x}, axis={k})", "b"),
    _one("np.cumsum({x}, axis={k})", "iub"),
    _one("np.prod(np.clip({x}, -1, 2), axis={k}) % 1000", "i"),
    _one("{x}.astype(np.float32) * 0.5", "iub"),
    _one("{x} // 3", "iu"),
    _one("{x} % 5", "iu"),
    _one("{x} & 7", "iu"),
    _one("{x} >> 1", "iu"),
    _one("{x} ^ ({x} << 1)", "iu"),
    _one("~{x}", "iub"),
    _one("{x}.astype(np.uint8)", "iu"),
    _one("{x}.astype(np.int16)", "iu"),
    _one("{x}.astype(np.int64)", "iub"),
    _one("{x}.sum(axis={k})", "iub"),
    _one("{x} * 0.5", "i"),
    _one("(255 - {x}) // 2", "u"),
    _one("{x} + {x}", "u"),
    _one("np.clip({x}.astype(np.int32) * 3 - 100, 0, 255).astype(np.uint8)", "u"),
    _one("np.where({x}, 2.0, -0.5)", "b"),
    _two("{x} & {y}", "b"),
    _two("{x} == {y}", "fiu", exact=True),
    _two("{x} * {y}", "iu"),
    _two("({x} < {y}).sum(axis={k})", "fiu", exact=True),
    _count,
    _searched,
)
