from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pytest

from eqsat import demo
from eqsat.cli import main
from eqsat.demo import Array
from eqsat.proving.deviation import deviation
from eqsat.testing import TOLERANCE


@cache
def photographs() -> dict[str, Array]:
    return demo.photographs()


@cache
def classified() -> tuple[tuple[Array, ...], Array]:
    pixels, labels = demo.digits()
    return (pixels, *demo.fitted_weights(pixels, labels)), labels


def test_the_photographs_are_real_images_of_even_size() -> None:
    assert list(photographs()) == ["china.jpg", "flower.jpg"]
    for image in photographs().values():
        assert image.shape == (426, 640, 3)
        assert image.dtype == np.float32
        assert image.min() >= 0
        assert 200 < image.max() <= 255


@pytest.mark.parametrize("name", ["china.jpg", "flower.jpg"])
def test_the_image_pipeline_by_hand_equals_the_one_as_written(name: str) -> None:
    image = photographs()[name]
    written = demo.image_pipeline(np, image)
    assert written.shape == (424, 638, 3)
    assert written.dtype == np.float32
    assert deviation(demo.image_pipeline_by_hand(image), written) <= TOLERANCE["float32"]


def test_the_image_pipeline_equals_a_pixel_by_pixel_computation() -> None:
    image = np.random.default_rng(0).uniform(0, 255, (6, 8, 3)).astype(np.float32)
    expected = np.zeros((4, 6, 3))
    for y, x, c in np.ndindex(expected.shape):
        window = (image[y : y + 3, x : x + 3, c].astype(np.float64) / 255 - demo.MEAN[c]) / demo.STD[c]
        expected[y, x, c] = (window * demo.BLUR).sum()
    assert deviation(demo.image_pipeline(np, image), expected.astype(np.float32)) <= TOLERANCE["float32"]


def test_the_pixel_shuffle_undoes_space_to_depth() -> None:
    image = np.arange(4 * 6 * 3, dtype=np.float32).reshape(4, 6, 3)
    packed = demo.space_to_depth(np, image)
    assert packed.shape == (2, 3, 12)
    assert packed[1, 2].tolist() == [*image[2, 4], *image[2, 5], *image[3, 4], *image[3, 5]]
    assert np.array_equal(demo.depth_to_space(np, packed), image)


def test_the_pipelines_leave_their_image_as_it_was() -> None:
    image = photographs()["china.jpg"].copy()
    demo.image_pipeline(np, image)
    demo.image_pipeline_by_hand(image)
    assert np.array_equal(image, photographs()["china.jpg"])


def test_the_classifier_by_hand_equals_the_one_as_written() -> None:
    arrays, _ = classified()
    written = demo.classifier(np, *arrays)
    assert written.shape == (1797, 10)
    assert written.dtype == np.float32
    assert np.allclose(written.sum(axis=1), 1, atol=1e-5)
    assert deviation(demo.classifier_by_hand(*arrays), written) <= TOLERANCE["float32"]


def test_the_classifier_recognizes_the_digits() -> None:
    arrays, labels = classified()
    assert demo.accuracy(demo.classifier(np, *arrays), labels) > 0.9


def test_fitting_twice_gives_the_same_weights() -> None:
    (pixels, *weights), labels = classified()
    again = demo.fitted_weights(pixels, labels)
    assert all(np.array_equal(a, b) for a, b in zip(weights, again, strict=True))


def test_without_scikit_learn_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert main([]) == 2
    message = capsys.readouterr().err
    assert "pip install 'eqsat[demo]'" in message
    assert message.count("\n") == 1


@pytest.mark.slow
def test_the_demonstration_agrees_with_numpy_and_is_cheaper(capsys: pytest.CaptureFixture[str]) -> None:
    found = list(demo.comparisons(budget=0.0))
    assert len(found) == 3
    for comparison in found:
        assert comparison.agrees, str(comparison)
        assert comparison.cost[1] < comparison.cost[0]
        assert comparison.kernels[1] < comparison.kernels[0]
        assert any(comparison.matches.values())
    assert capsys.readouterr().out == ""


def test_a_result_that_is_not_numpys_gives_exit_status_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    image = photographs()["china.jpg"][:8, :8]
    monkeypatch.setattr(demo, "photographs", lambda: {"corner": image})
    monkeypatch.setattr("eqsat.command_line.beside_numpy.max_deviation", lambda value, reference, tolerance: (1.0, 1e-5))
    assert demo.run(budget=0.0) == 1
    assert "MISMATCH" in capsys.readouterr().out
