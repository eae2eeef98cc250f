"""Pieces of pages: every function returns HTML, and takes text that it escapes, or HTML where its argument is called so.

Pages have no script and load nothing.  Colours are mixed from those around them, so that they suit light and dark notebooks, and what
carries meaning is said in text as well: where a notebook is not trusted the style is left out.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import floor, isfinite

# of middle brightness: to be read on white and on black
PALETTE = ("#8c8c8c", "#4c86c6", "#2f9e8f", "#d9822b", "#d1495b", "#9a6fb0", "#7a9a2f")

# one rule around all, which counts for more than those of notebooks
STYLE = """<style>
.eqsat:not(#_){
font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:13px;line-height:1.45;color:var(--jp-content-font-color1,inherit);
.head{display:flex;flex-wrap:wrap;gap:.2em 1.6em;align-items:baseline;margin:.2em 0 .5em}
.head>b{font-size:15px}
.apart{display:none}
.dim,th{color:color-mix(in srgb,currentColor 62%,transparent)}
details{border:1px solid color-mix(in srgb,currentColor 18%,transparent);border-radius:5px;margin:.35em 0}
summary{cursor:pointer;padding:.25em .6em;background:color-mix(in srgb,currentColor 6%,transparent);font-weight:600}
summary .dim{font-weight:400;margin-left:.8em}
details>.body{padding:.4em .7em;overflow-x:auto}
details details{margin:.3em 0}
table{border-collapse:collapse;margin:.2em 0;font-size:12px;width:auto;table-layout:auto;border:0}
th,td{padding:.12em .9em .12em 0;border:0;background:none;text-align:left;vertical-align:baseline;white-space:nowrap;max-width:none}
tr,tr:hover,tr:nth-child(even){background:none;border:0}
.num{text-align:right;font-variant-numeric:tabular-nums}
.wide{width:100%;min-width:9em}
.wrap{white-space:normal;min-width:9em}
.track{width:100%!important}
.bar{display:flex;border-radius:2px;overflow:hidden;min-width:1px}
.key{display:inline-block;width:.75em;height:.75em;line-height:.75em;border-radius:2px;margin-right:.1em;overflow:hidden}
pre,code{font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:12px;background:none;color:inherit;padding:0;border:0}
pre{margin:.2em 0;line-height:1.4;white-space:pre;overflow:auto;max-height:34em}
pre.text div{white-space:pre-wrap;overflow-wrap:anywhere;padding-left:3em;text-indent:-3em}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(30em,100%),1fr));gap:.4em 1.4em}
.code{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(max(19em,50% - .5em),100%),1fr));gap:.4em 1em}
.code>:first-child{grid-column:1/-1}
.pair>*,.code>*{min-width:0}
.ok{color:color-mix(in srgb,#2f9e44 78%,currentColor)}
.bad{color:color-mix(in srgb,#e03131 78%,currentColor)}
.warn{color:color-mix(in srgb,#c77d0a 78%,currentColor)}
i{font-style:normal}
.k{color:color-mix(in srgb,#8250df 78%,currentColor);font-weight:600}
.n{color:color-mix(in srgb,#2f8a3c 78%,currentColor)}
.c{color:color-mix(in srgb,currentColor 55%,transparent)}
.l{color:color-mix(in srgb,#b5651d 78%,currentColor)}
.g{display:block;position:relative;padding-left:2.7em;border-left:3px solid hsl(var(--h,0) 55% 52%)}
.g>b{position:absolute;left:.4em;font-weight:400;color:color-mix(in srgb,currentColor 55%,transparent)}
.g0{border-left-color:color-mix(in srgb,currentColor 20%,transparent)}
}
</style>"""


@dataclass(frozen=True)
class Bar:
    """A row of a chart: its label, its parts as (name, value), and what stands behind them."""

    label: str
    parts: Sequence[tuple[str, float]]
    note: str = ""

    @property
    def total(self) -> float:
        return sum(value for _, value in self.parts)


def escape(text: object) -> str:
    """Text as HTML."""
    return html.escape(str(text))


def page(body: str) -> str:
    """A page with its style; `body` is HTML."""
    return f'{STYLE}<div class="eqsat">{body}</div>'


def head(title: str, *facts: str) -> str:
    """A first line, with a title or without; `facts` are HTML, those that are empty left out."""
    name = f"<b>{escape(title)}</b> " if title else ""
    apart = ' <span class="apart">&#183;</span> '  # seen where there is no style
    return f'<div class="head">{name}{apart.join(f"<span>{fact}</span>" for fact in facts if fact)}</div>'


def dim(text: object) -> str:
    """Text of less weight; nothing for nothing."""
    return f'<span class="dim">{escape(text)}</span>' if text != "" else ""


def code(text: object) -> str:
    """A short piece of code."""
    return f"<code>{escape(text)}</code>"


def block(text: object) -> str:
    """Text as it stands; long lines are broken, and go on further to the right."""
    lines = (f"<div>{escape(line) or ' '}</div>" for line in str(text).split("\n"))
    return f'<pre class="text">{"".join(lines)}</pre>'


def details(title: str, body: str, note: str = "", opened: bool = False) -> str:
    """What opens on a click; `body` is HTML."""
    about = f" {dim(note)}" if note else ""
    return f'<details{" open" if opened else ""}><summary>{escape(title)}{about}</summary><div class="body">{body}</div></details>'


def pair(left: str, right: str) -> str:
    """Two pieces of HTML side by side, below each other where there is no room."""
    return f'<div class="pair"><div>{left}</div><div>{right}</div></div>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]], kinds: str) -> str:
    """A table of HTML cells; `kinds` has a letter for each column: n numbers, w takes the room that is left, b text with breaks, t text."""
    top = "".join(f"<th{_CLASS[kind]}>{escape(title)}</th>" for title, kind in zip(header, kinds, strict=True))
    return f"<table><thead><tr>{top}</tr></thead><tbody>{_lines(rows, kinds)}</tbody></table>"


def rows_of(rows: Iterable[Sequence[str]], kinds: str) -> str:
    """A table without a header."""
    return f"<table><tbody>{_lines(rows, kinds)}</tbody></table>"


_CLASS = {"n": ' class="num"', "w": ' class="wide"', "b": ' class="wrap"', "t": ""}


def _lines(rows: Iterable[Sequence[str]], kinds: str) -> str:
    cells = ("".join(f"<td{_CLASS[kind]}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True)) for row in rows)
    return "".join(f"<tr>{line}</tr>" for line in cells)


def bars(rows: Sequence[Bar], unit: str, colours: Mapping[str, str] | None = None) -> str:
    """A chart of bars made of parts, one below the other, as long as their values; `colours`: of the parts, by their names."""
    if colours is None:
        names = dict.fromkeys(name for row in rows for name, _ in row.parts)
        colours = dict(zip(names, cycle(PALETTE), strict=False))
    whole = max((row.total for row in rows), default=0.0) or 1.0
    return rows_of([_bar(row, unit, whole, colours) for row in rows], "twnt")


def _bar(row: Bar, unit: str, whole: float, colours: Mapping[str, str]) -> tuple[str, ...]:
    """The cells of a bar."""
    pieces = "".join(_piece(name, value, row.total, colours[name], unit) for name, value in row.parts if value > 0)
    bar = f'<div class="track" style="width:300px"><div class="bar" style="width:{100 * row.total / whole:.2f}%">{pieces}</div></div>'
    return code(row.label), bar, escape(f"{number(row.total)} {unit}"), dim(row.note)


def _piece(name: str, value: float, total: float, colour: str, unit: str) -> str:
    title = escape(f"{name}: {number(value)} {unit}")
    width = floor(10_000 * value / total) / 100  # not rounded up: what is longer than its line would be broken
    return f'<div title="{title}" style="float:left;height:10px;width:{width:.2f}%;background-color:{colour}"></div>'


def keys(colours: Mapping[str, str]) -> str:
    """What colours stand for."""
    square = '<span class="key" style="background-color:{}">&#8195;</span>'
    shown = (f"<span>{square.format(colour)} {escape(name)}</span>" for name, colour in colours.items())
    return f'<div class="head">{" ".join(shown)}</div>'


def array_type(dtype: str, shape: Sequence[int], sizes: Mapping[int, str]) -> str:
    """float32[n, 64]; `sizes`: the names of extents that stand for sizes known at run time."""
    return f"{dtype}[{', '.join(sizes.get(extent, str(extent)) for extent in shape)}]"


def counted(count: int, noun: str) -> str:
    """2 kernels, 1 kernel."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def number(value: float) -> str:
    """A number for people: three digits at least, thousands apart."""
    if not isfinite(value):
        return str(value)
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.3g}"
