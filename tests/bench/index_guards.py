"""Two families of index expressions: clamps (min, max, where) and sizes that are known at run time only."""

from __future__ import annotations

import random
from collections.abc import Callable

from eqsat.ir.index import Const, Index, apply, maximum, minimum, var, where
from tests.bench.movement import SIZES, plus, tiled_loop, times


def clamps(rng: random.Random) -> Index:
    """Borders, tails of tiles, concatenations and resized images."""
    return rng.choice((_border, _border, _tail, _concatenated, _resized, _nested_clamps))(rng)


def _clamped(i: Index, n: int) -> Index:
    """i brought into 0..n-1."""
    return minimum(maximum(i, 0), n - 1)


def _border(rng: random.Random) -> Index:
    """A window whose places outside are those of the border, or reflected; then the position, often in a blocked layout."""
    n, m, pad = rng.choice(SIZES), rng.choice((4, 6, 8, 12)), rng.randint(1, 3)
    i, k = tiled_loop("i", n, rng), var("k", 0, 2 * pad)
    y = i + k - pad
    if rng.random() < 0.6:
        y = _clamped(y, n)
    else:
        y = where(y < 0, -y, y)
        y = where(y >= n, 2 * (n - 1) - y, y)
    j = var("j", 0, m - 1)
    flat = y * m + j if rng.random() < 0.5 else minimum(y * m + j, n * m - 1)
    block = rng.choice((1, m, 2 * m, 4))
    return flat if block == 1 else flat // block if rng.random() < 0.5 else flat % block


def _tail(rng: random.Random) -> Index:
    """Tiles that do not divide the extent: how long a tile is, which element it reads, whether it is inside."""
    n, tile = rng.randint(20, 100), rng.choice((4, 8, 12, 16, 32))
    outer, inner = var("io", 0, -(-n // tile) - 1), var("ii", 0, tile - 1)
    i = outer * tile + inner
    length = minimum(tile, n - outer * tile)
    width = rng.choice((3, 4, 7))
    j = var("j", 0, width - 1)
    choices: list[Callable[[], Index]] = [
        lambda: minimum(i, n - 1) * width + j,
        lambda: where(i < n, i * width + j, n * width - 1) // width,
        lambda: outer * tile + minimum(inner, length - 1),
        lambda: where(inner < length, i, n - 1),
        lambda: apply("and", i < n, apply("and", i * width + j < n * width, outer <= (n - 1) // tile)),
        lambda: minimum(i * width + j, n * width - 1) // width * width + j,
        lambda: maximum(minimum(outer * tile + tile, n) - outer * tile, 0),
        lambda: minimum(i, n - 1) // tile * tile + minimum(i, n - 1) % tile,
        lambda: where(inner < length, where(outer * tile + inner < n, i // 2, 0), n // 2),
    ]
    return rng.choice(choices)()


def _concatenated(rng: random.Random) -> Index:
    """Two or three arrays side by side, read through a fused or tiled loop."""
    sizes = [rng.choice((4, 6, 8, 12, 15)) for _ in range(rng.randint(2, 3))]
    width = rng.choice((3, 4, 5))
    fused = tiled_loop("f", sum(sizes) * width, rng)
    row, column = (fused // width, fused % width) if rng.random() < 0.6 else (tiled_loop("r", sum(sizes), rng), var("c", 0, width - 1))
    offset, result = sum(sizes[:-1]), None
    for k in range(len(sizes) - 1, -1, -1):
        mine = plus(row, -offset) * width + column
        mine = minimum(maximum(mine, 0), sizes[k] * width - 1) if rng.random() < 0.3 else mine
        result = mine if result is None else where(row < offset + sizes[k], mine, result)
        offset -= sizes[k - 1] if k else 0
    assert result is not None
    return result


def _resized(rng: random.Random) -> Index:
    """Nearest neighbours of a resized image, cropped to its border, in row-major order."""
    n, m, up, down = rng.choice((6, 8, 10, 12)), rng.choice((5, 8, 9)), rng.choice((1, 2, 3)), rng.choice((2, 3, 4))
    i, j = tiled_loop("i", n * down // up, rng), tiled_loop("j", m * down, rng)
    y = _clamped(plus(times(i, up) // down, rng.randint(-1, 1)), n)
    x = minimum(plus(j // down, rng.randint(0, 1)), m - 1)
    return y * m + x if rng.random() < 0.6 else (y * m + x) // m if rng.random() < 0.5 else (y * m + x) % m


def _nested_clamps(rng: random.Random) -> Index:
    """Clamps of clamps after shifts and scalings, as chained crops and pads give them."""
    n = rng.choice(SIZES)
    i = tiled_loop("i", n, rng)
    for _ in range(rng.randint(2, 4)):
        step = rng.randrange(5)
        if step == 0:
            i = i + rng.randint(-4, 4)
        elif step == 1:
            i = i * rng.choice((2, 3, 4))
        elif step == 2:
            i = i // rng.choice((2, 3, 4))
        else:
            i = maximum(i, rng.randint(-2, n // 3)) if step == 3 else minimum(i, rng.randint(n // 2, n + 4))
        i = _clamped(i, rng.randint(n // 2 + 1, n + 3)) if rng.random() < 0.5 else i
    return i * rng.choice((1, 4)) + var("j", 0, 3) if rng.random() < 0.5 else i


def symbolic(rng: random.Random) -> Index:
    """Sizes known at run time only: fused and split loops, ceilings, tails and blocked layouts over them."""
    n, m = var("n", rng.choice((1, 2, 4, 8)), rng.choice((32, 64, 100))), var("m", rng.choice((1, 2, 3)), rng.choice((16, 24)))
    row, first, second = var("i", 0, rng.choice((7, 15, 31))), var("j", 0, rng.choice((31, 63))), var("k", 0, 31)
    j = rng.choice((first % n, minimum(first, n - 1)))
    k = rng.choice((second % m, minimum(second, m - 1)))
    factor, other = rng.choice((2, 3, 4, 6, 8)), rng.choice((2, 3, 4, 5, 12))
    lane = var("l", 0, factor - 1)
    two, three = row * n + j, (row * n + j) * m + k
    small = var("s", 0, n.lo - 1) if n.lo > 1 else Const(0)
    choices: list[Callable[[], Index]] = [
        lambda: two // n,
        lambda: two % n * rng.choice((1, factor)) + two // n,
        lambda: three // (n * m),
        lambda: three % (n * m) // m,
        lambda: three // m % n * m + three % m,
        lambda: three // m // n * (n * m) + three // m % n * m + three % m,
        lambda: (two * factor + lane) // factor,
        lambda: (two * factor + lane) // (n * factor) * n + (two * factor + lane) // factor % n,
        lambda: (row * n * factor) // (n * other),
        lambda: (three * factor + lane) // (m * factor) % n,
        lambda: (row * (n * factor) + first % n * factor + lane) % (n * factor),
        lambda: (n * factor + other) // factor * factor + (n * factor + other) % factor,
        lambda: (n * m + n * rng.randint(1, 3)) // n * m + row % n,
        lambda: (row * (n * factor) + n * rng.randint(1, factor - 1)) // n % factor,
        lambda: (row * n + small + n * rng.randint(1, 4)) // n,
        lambda: (row * n + small) % n * m + k,
        lambda: (n + factor - 1) // factor * factor - n + minimum(first, n - 1) % factor,
        lambda: where(two < n * (row + 1), two, 0) // n,
        lambda: minimum(two, row * n + n - 1) - row * n,
        lambda: where(first < n, (row * n + first) // factor * factor + (row * n + first) % factor, n - 1),
        lambda: (first // n * n + first % n) * m + second // m * m + second % m,
        lambda: (first * m + k) // m // n * n + (first * m + k) // m % n,
        lambda: (row * n * m + j * m + k) - row * (n * m),
        lambda: (n * m * factor + m * other) // (m * rng.choice((1, factor))),
        lambda: ((row + n) % n + n * rng.randint(1, 3)) % n * m + k,
        lambda: (n - 1 - (n - 1 - j)) * m + (m - 1 - k),
        lambda: ((j + rng.randint(1, 3) * n) % n * m + k + m) % m,
        lambda: ((row * m + k) * n + j) // n % m * (n * factor) + ((row * m + k) * n + j) % n * factor + lane,
    ]
    term = rng.choice(choices)()
    draw = rng.random()
    return term * rng.choice((3, 4)) + var("p", 0, 2) if draw < 0.25 else (term + rng.choice(choices)()) if draw < 0.45 else term
