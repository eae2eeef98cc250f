"""The demonstration, `python -m eqsat`: two programs on real input, optimized, compiled, checked against NumPy and timed.

An image pipeline full of layout changes on the photographs that scikit-learn carries, and a classifier of its handwritten
digits.  The programs are written over an array namespace `xp`, so that NumPy, eqsat and jax run the same text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import eqsat.numpy as enp
from eqsat.command_line.beside_numpy import Comparison, beside_numpy
from eqsat.ir.errors import UsageError

Array = np.ndarray[Any, Any]

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
BLUR = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32) / 16
HIDDEN = 64


def image_pipeline(xp: Any, image: Any) -> Any:
    """Normalizes and blurs an image the way libraries chain such steps, each with the layout that it likes.

    image: (H, W, 3) float32, values 0..255, H and W even.  Result: (H - 2, W - 2, 3) float32.
    """
    image = depth_to_space(xp, space_to_depth(xp, image))
    planes = to_planes(xp, image)
    planes = (planes / 255 - MEAN[:, None, None]) / STD[:, None, None]
    return to_pixels(xp, blur(planes))


def space_to_depth(xp: Any, image: Any) -> Any:
    """(H, W, C) -> (H/2, W/2, 4C): every 2x2 block of pixels becomes one pixel."""
    h, w, c = image.shape
    blocks = xp.reshape(image, (h // 2, 2, w // 2, 2, c))
    return xp.reshape(xp.transpose(blocks, (0, 2, 1, 3, 4)), (h // 2, w // 2, 4 * c))


def depth_to_space(xp: Any, image: Any) -> Any:
    """(H, W, 4C) -> (2H, 2W, C), the inverse of `space_to_depth`: a pixel shuffle."""
    h, w, c = image.shape
    blocks = xp.reshape(image, (h, w, 2, 2, c // 4))
    return xp.reshape(xp.transpose(blocks, (0, 2, 1, 3, 4)), (2 * h, 2 * w, c // 4))


def to_planes(xp: Any, image: Any) -> Any:
    """(H, W, C) -> (C, H, W)."""
    h, w, c = image.shape
    return xp.reshape(xp.transpose(xp.reshape(image, (h * w, c)), (1, 0)), (c, h, w))


def to_pixels(xp: Any, planes: Any) -> Any:
    """(C, H, W) -> (H, W, C)."""
    c, h, w = planes.shape
    return xp.reshape(xp.transpose(xp.reshape(planes, (c, h * w)), (1, 0)), (h, w, c))


def blur(planes: Any) -> Any:
    """(C, H, W) -> (C, H - 2, W - 2): the 3x3 kernel BLUR as a sum of nine shifted slices."""
    _, h, w = planes.shape
    total = BLUR[0, 0] * planes[:, : h - 2, : w - 2]
    for dy, dx in [(dy, dx) for dy in range(3) for dx in range(3)][1:]:
        total = total + BLUR[dy, dx] * planes[:, dy : h - 2 + dy, dx : w - 2 + dx]
    return total


def image_pipeline_by_hand(image: Array) -> Array:
    """`image_pipeline` by a careful user of NumPy: no layout changes, few passes over memory, no needless temporaries.

    (x/255 - mean)/std is one multiplication and one addition with rows of constants (rows: broadcasting over three
    channels would run three elements at a time), and equal weights of the blur are multiplied once.
    """
    h, w, c = image.shape
    rows = image.reshape(h, w * c) * np.tile(1 / (255 * STD), w)
    rows += np.tile(-MEAN / STD, w)

    def shifted(dy: int, dx: int) -> Array:
        return rows[dy : h - 2 + dy, dx * c : (w - 2 + dx) * c]

    total = shifted(0, 0) + shifted(0, 2)
    total += shifted(2, 0)
    total += shifted(2, 2)
    total *= BLUR[0, 0]
    edges = shifted(0, 1) + shifted(1, 0)
    edges += shifted(1, 2)
    edges += shifted(2, 1)
    edges *= BLUR[0, 1]
    total += edges
    total += np.multiply(shifted(1, 1), BLUR[1, 1], out=edges)
    return total.reshape(h - 2, w - 2, c)


def classifier(xp: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Class probabilities of a perceptron with one hidden layer.

    x: (N, F), w1: (F, M), b1: (M,), w2: (M, K), b2: (K,), all float32.  Result: (N, K) float32, rows sum to one.
    """
    hidden = xp.tanh(xp.matmul(x, w1) + b1)
    scores = xp.matmul(hidden, w2) + b2
    powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def classifier_by_hand(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    """`classifier` by a careful user of NumPy: everything but the two products in place."""
    hidden = x @ w1
    hidden += b1
    np.tanh(hidden, out=hidden)
    scores: Array = hidden @ w2
    scores += b2
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def photographs() -> dict[str, Array]:
    """scikit-learn's two photographs by name, (426, 640, 3) float32, values 0..255."""
    images = _scikit_learn().datasets.load_sample_images()
    names = [str(name).rsplit("/", 1)[-1] for name in images.filenames]
    return {name: _even(image).astype(np.float32) for name, image in zip(names, images.images, strict=True)}


def _even(image: Array) -> Array:
    return image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2]


def digits() -> tuple[Array, Array]:
    """The 1797 handwritten digits: pixels (1797, 64) float32, values 0..1, and labels (1797,)."""
    pixels, labels = _scikit_learn().datasets.load_digits(return_X_y=True)
    return (pixels / 16).astype(np.float32), labels


def fitted_weights(pixels: Array, labels: Array) -> tuple[Array, ...]:
    """w1, b1, w2, b2 of `classifier`, float32, fitted to the digits in about a second; the same on every run."""
    learner = _scikit_learn().neural_network.MLPClassifier(HIDDEN, activation="tanh", max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thirty passes are enough here, and not for scikit-learn's convergence test
        learner.fit(pixels, labels)
    (w1, w2), (b1, b2) = learner.coefs_, learner.intercepts_
    return tuple(np.ascontiguousarray(a, np.float32) for a in (w1, b1, w2, b2))


def accuracy(probabilities: Array, labels: Array) -> float:
    """The fraction of rows whose likeliest class is the label."""
    return float(np.mean(np.argmax(probabilities, axis=1) == labels))


def comparisons(budget: float = 1.0) -> Iterator[Comparison]:
    """The demonstration, one comparison at a time; `budget`: seconds of timing for each."""
    for name, image in photographs().items():
        title = f"image pipeline, {name}, {' x '.join(map(str, image.shape))} {image.dtype}"
        yield _compared(title, budget, image_pipeline, image_pipeline_by_hand, image)
    pixels, labels = digits()
    weights = fitted_weights(pixels, labels)
    correct = accuracy(classifier_by_hand(pixels, *weights), labels)
    title = f"classifier, {len(labels)} handwritten digits, {correct:.1%} of them recognized (weights fitted to the same digits)"
    yield _compared(title, budget, classifier, classifier_by_hand, pixels, *weights)


def run(budget: float = 1.0) -> int:
    """Prints the demonstration as `comparisons` makes it; the exit status: 0, or 1 where a result is not NumPy's."""
    agree = True
    for found in comparisons(budget):
        print(found, flush=True)
        agree = agree and found.agrees
    return 0 if agree else 1


def _compared(title: str, budget: float, function: Callable[..., Any], by_hand: Callable[..., Any], *arrays: Array) -> Comparison:
    numpy: dict[str, Callable[..., Any]] = {"NumPy as written": partial(function, np), "NumPy by hand": by_hand}
    return beside_numpy(title, partial(function, enp), arrays, numpy | _jax_peer(function, arrays), budget=budget)


def _scikit_learn() -> Any:
    try:
        import PIL  # noqa: F401  scikit-learn needs it to read the photographs
        import sklearn.datasets
        import sklearn.neural_network
    except ImportError as error:
        raise UsageError(f"demo: found no {error.name}, expected scikit-learn and pillow: pip install 'eqsat[demo]'") from error
    return sklearn


def _jax_peer(function: Callable[..., Any], arrays: tuple[Array, ...]) -> dict[str, Callable[..., Any]]:
    """The same function under jax.jit on arrays that jax already holds, where jax is installed."""
    try:
        import jax
    except ImportError:
        return {}
    compiled = jax.jit(partial(function, jax.numpy))
    held = [jax.numpy.asarray(array) for array in arrays]
    return {"jax": lambda *_: jax.block_until_ready(compiled(*held))}
