"""Pages of code: the lines of a loop nest beside the LLVM IR and the assembly that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from eqsat.codegen.llvm.listing import Line
from eqsat.ir.loops import Kernel
from eqsat.kernels.listing import KernelListing, Listing
from eqsat.showing.highlight import Language, highlight
from eqsat.showing.html import details, dim, head, number

# bytes of HTML: of a listing alone, so that a saved notebook stays small
MOST_BYTES = 300_000
# lines of a column
MOST_LINES = 500
HUE_STEP = 47


def listing_body(listing: Listing, most_bytes: int = MOST_BYTES, order: Sequence[int] | None = None) -> str:
    """A drawer for each kernel, those of which the code is shown in `order` until `most_bytes` are used; the others say where it is."""
    shown: dict[int, str] = {}
    left = most_bytes
    for k in order or range(len(listing.kernels)):
        body = columns(listing.kernels[k])
        if len(body) <= left:
            shown[k] = body
            left -= len(body)
    hidden = "too long to be shown here: <code>result.listing.kernels[{}]</code>"
    drawers = (
        details(one.name, shown.get(k) or hidden.format(k), _sizes(one), opened=k in shown and len(listing.kernels) == 1)
        for k, one in enumerate(listing.kernels)
    )
    return _rules(max((len(one.loops) for one in listing.kernels), default=0)) + _note(listing) + "".join(drawers)


def kernel_listing_body(one: KernelListing) -> str:
    """One kernel."""
    return head(one.name, dim(_sizes(one)), dim("a number is the line of the loop nest")) + _rules(len(one.loops)) + columns(one)


def kernel_body(kernel: Kernel) -> str:
    """A loop nest alone."""
    return "<pre>{}</pre>".format("\n".join(highlight(str(kernel), "python")))


def columns(one: KernelListing) -> str:
    """The loop nest, below it LLVM IR beside assembly; the lines of all that belong to one line of the loop nest have its number and its
    colour."""
    loops = [Line(text, number) for number, text in enumerate(one.loops, start=1)]
    titled = (("loop nest", loops, "python"), ("LLVM IR, as emitted", one.llvm_ir, "llvm"), ("assembly", one.assembly, "gas"))
    shown: list[str] = [f"<div>{dim(title)}<pre>{_lines(lines, language)}</pre></div>" for title, lines, language in titled]  # type: ignore[arg-type]
    return f'<div class="code">{"".join(shown)}</div>'


def _sizes(one: KernelListing) -> str:
    return f"{number(len(one.llvm_ir))} lines of LLVM IR, {number(sum(line.text[0] != '.' for line in one.assembly))} instructions"


def _note(listing: Listing) -> str:
    same = "instruction for instruction what runs" if listing.same_code else "telling the lines changed some instructions of what runs"
    return f"<div>{dim(f'A number is the line of the loop nest, 0 what is of several lines or of none. The assembly is {same}.')}</div>"


def _lines(lines: Sequence[Line], language: Language) -> str:
    """Runs of lines that belong to one line of the loop nest, each under its number; of many the first."""
    left_out, lines = len(lines) - MOST_LINES, lines[:MOST_LINES]
    coloured = zip(highlight("\n".join(line.text.replace("\t", "  ") for line in lines), language), lines, strict=True)
    found = []
    for source, group in groupby(coloured, key=lambda item: item[1].source):
        text = "\n".join(shown for shown, _ in group)
        found.append(f'<span class="g g{source}"><b>{source} </b>{text}\n</span>')
    return "".join(found) + (f"... {number(left_out)} lines more: print(...) shows all" if left_out > 0 else "")


def _rules(count: int) -> str:
    """A colour for each line of a loop nest; what belongs to the line under the mouse stands out."""
    hues = [(k, k * HUE_STEP % 360) for k in range(1, count + 1)]
    colours = "".join(f".g{k}{{--h:{hue}}}" for k, hue in hues)
    hover = "".join(f".code:has(.g{k}:hover) .g{k}{{background:hsl({hue} 60% 50%/.18)}}" for k, hue in hues)
    return f"<style>.eqsat:not(#_){{{colours}{hover}}}</style>"
