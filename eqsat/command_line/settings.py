"""The options that commands take, as `eqsat.Options`."""

from __future__ import annotations

import argparse
from pathlib import Path

from eqsat import rules
from eqsat.ir.errors import UsageError
from eqsat.options import Options
from eqsat.pricing.local_target import local_target, stored_target
from eqsat.pricing.target import DEFAULT_TARGET, Target


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that `options_of` reads."""
    text = (
        "a named machine that is the same everywhere, or the one that `calibrate` measured; that one where it is there, if nothing is said"
    )
    parser.add_argument("--target", choices=("default", "local"), help=text)
    text = "which changes of floats are allowed: see docs/numerics.md"
    parser.add_argument("--numerics", choices=("exact", "default", "fast"), default="default", help=text)
    parser.add_argument("--no-rules", metavar="TABLE", action="append", default=[], help="leave out a table of rules; repeat for more")
    text = "choose loop nests by running them, for so many seconds at the most"
    parser.add_argument("--tune", metavar="SECONDS", type=float, default=0.0, help=text)


def options_of(arguments: argparse.Namespace, dump: Path | None = None) -> Options:
    """The options that a command line states; UsageError where they make no sense."""
    tables = rules.without(*arguments.no_rules)
    target = target_named(arguments.target)
    return Options(rules=tables, numerics=arguments.numerics, target=target, tune=arguments.tune, dump=dump)


def target_named(name: str | None) -> Target:
    """The target that `--target` names; UsageError where it was never measured."""
    if name == "default":
        return DEFAULT_TARGET
    stored = stored_target() if name == "local" else None
    if name == "local" and stored is None:
        raise UsageError("--target local: found no target of this machine, expected one: python -m eqsat calibrate")
    return stored or local_target()


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for scripts (docs/command_line.md)")
