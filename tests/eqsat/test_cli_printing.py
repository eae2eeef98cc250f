"""Answers as text: plain and aligned for files and pipes, in colour for those who look, the same words in both."""

from __future__ import annotations

import io
import re
import sys

import pytest

from eqsat.command_line.answer import Answer, Facts, Table, Text, finite
from eqsat.command_line.beside_numpy import duration
from eqsat.command_line.printing import write

ANSWER = Answer(
    (
        Facts("a title", (("result", "x [bold] :smile:"), ("a longer name", "y"))),
        Table("kernels", ("kernel", "estimate"), (("kernel_0", "1.5 us"), ("a", "12 us")), frozenset({"estimate"})),
        Table("nothing", ("rule",), ()),
        Text("program", "  kept   as it is, " + "which is a long line " * 10),
    ),
    {"key": [1, None]},
)
PLAIN = (
    "a title\n  result         x [bold] :smile:\n  a longer name  y\n\n"
    "kernels\n  kernel    estimate\n  kernel_0    1.5 us\n  a            12 us\n\n"
    "program\n  kept   as it is, " + "which is a long line " * 10 + "\n"
)
STYLES = re.compile(r"\x1b\[[\d;]*m")


class Terminal(io.StringIO):
    """A standard output on which somebody looks."""

    def isatty(self) -> bool:
        return True


def printed(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, as_json: bool = False) -> str:
    monkeypatch.setattr(sys, "stdout", stream)
    write(ANSWER, as_json)
    return stream.getvalue()


def test_files_get_plain_aligned_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, io.StringIO()) == PLAIN


def test_scripts_get_the_values_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, Terminal(), as_json=True) == '{\n  "key": [\n    1,\n    null\n  ]\n}\n'


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_terminal_gets_the_same_words_in_colour(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = printed(monkeypatch, Terminal())
    assert "\x1b[1m" in text
    assert STYLES.sub("", text).split() == PLAIN.split()
    assert ANSWER.parts[-1].body in STYLES.sub("", text)  # type: ignore[union-attr]


def test_a_narrow_terminal_folds_what_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "16")
    text = STYLES.sub("", printed(monkeypatch, Terminal()))
    assert "…" not in text
    assert sorted("".join(text.split())) == sorted("".join(PLAIN.split()))


def test_without_rich_a_terminal_gets_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert printed(monkeypatch, Terminal()) == PLAIN


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0 ns"), (5e-9, "5 ns"), (1.5e-6, "1.5 us"), (0.0123, "12.3 ms"), (2.0, "2 s"), (123.4, "123 s")]
)
def test_durations_have_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_that_json_lacks_are_none() -> None:
    assert (finite(1.5), finite(float("inf")), finite(float("nan"))) == (1.5, None, None)
