"""Everything that a caller may set, in one frozen value."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from eqsat.ir.errors import UsageError
from eqsat.pricing.cycles import DEFAULT_COSTS, Costs
from eqsat.pricing.local_target import local_target
from eqsat.pricing.target import Target
from eqsat.proving.rule_check import check_rule
from eqsat.rules import Rule, all_tables, flattened, without

Numerics = Literal["exact", "default", "fast"]
# of a program, for which the budget of e-nodes is meant
OPERATIONS = 600


@dataclass(frozen=True)
class Limits:
    """When saturation stops: e-nodes (for every 600 operations of a program), iterations, and (off by default, for it makes results depend
    on the clock) seconds.  What comes after saturation has no limit."""

    nodes: int = 20_000
    iterations: int = 40
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("nodes", self.nodes), ("iterations", self.iterations)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise UsageError(f"Limits.{name}: found {value!r}, expected an integer of at least 1")
            object.__setattr__(self, name, int(value))
        _check_seconds("Limits.seconds", 0.0 if self.seconds is None else self.seconds)

    def of_program(self, operations: int) -> Limits:
        """Those of a program of so many operations."""
        return replace(self, nodes=self.nodes * max(operations, OPERATIONS) // OPERATIONS)


def _said(name: str, default: str) -> bool:
    """The environment's word on an option: anything but 0 or nothing turns it on."""
    return os.environ.get(name, default) not in ("", "0")


def _checks_by_default() -> bool:
    return _said("EQSAT_CHECK", "0")


def fallback_by_default() -> bool:
    return _said("EQSAT_FALLBACK", "0")


def _caches_by_default() -> bool:
    return _said("EQSAT_CACHE", "1")


@dataclass(frozen=True)
class Options:
    """How to optimize.

    rules     names of the rule tables to use (`eqsat.rules.without("identities")`), rules of one's own (`eqsat.Rule`) and lists of such;
              None, or no name among them: all tables.  A rule that `eqsat.check_rule` does not prove is not accepted
    cost      the cost model: what operations cost, and what is to be small; the default is that of eqsat's tables (docs/extending.md)
    limits    budget of saturation; a budget that is reached is an answer, with the best program so far
    numerics  "exact" keeps every rounding; "default" may reassociate float sums and contract multiply-add; "fast" may also
              assume that there are no NaN, infinities and signed zeros
    target    the machine that costs are estimated for: the one that `python -m eqsat calibrate` measured and stored, else the named
              default, which is the same everywhere and always used where the environment sets EQSAT_TARGET to `default`
    tune      seconds that measuring loop nests may take; 0: they are chosen by their estimates.  What was found is kept on disk
              (docs/caches.md), so later processes do not measure again
    certify   prove every simplified index term equal to what it was, and compare the values of a program before and after with the
              reference interpreter; the result carries the certificate, and a difference raises UnsoundRuleError
    dump      a folder for texts of the stages, numbered; None: nothing is written.  Optimizing writes the program as written, what was
              extracted and its loops; compiling (`.compile()`, `jit`) the typed loops, LLVM IR and assembly
    time_rules  measure every rule (Report.rule_seconds): rules run one after the other then, which is slower, and may change how often
              they match
    check     check that the program which was extracted is legal; a defect of eqsat shows there first.  On where the environment
              sets EQSAT_CHECK to anything but 0, as the tests do.  What is handed in, and kernels, are checked in any case.
    fallback  let programs call functions of NumPy that eqsat lacks (docs/fallback.md).  On where the environment sets EQSAT_FALLBACK to
              anything but 0, which is also what lazy tensors go by
    cache     keep results of `simplify` and `simplify_many` by the structure of the terms, and plans and machine code on disk, and take
              them from there (docs/caches.md); off where the environment sets EQSAT_CACHE to 0.  Never under `certify` or declared facts
    """

    rules: Iterable[Any] | None = None
    cost: Costs = DEFAULT_COSTS
    limits: Limits = field(default_factory=Limits)
    numerics: Numerics = "default"
    target: Target = field(default_factory=local_target)
    tune: float = 0.0
    certify: bool = False
    dump: Path | None = None
    fallback: bool = field(default_factory=fallback_by_default)
    time_rules: bool = False
    check: bool = field(default_factory=_checks_by_default)
    cache: bool = field(default_factory=_caches_by_default)

    def __post_init__(self) -> None:
        if not isinstance(self.numerics, str) or self.numerics not in ("exact", "default", "fast"):
            raise UsageError(f"Options.numerics: found {self.numerics!r}, expected 'exact', 'default' or 'fast'")
        _check_seconds("Options.tune", self.tune)
        for name, kind in (("cost", Costs), ("limits", Limits), ("target", Target)):
            if not isinstance(getattr(self, name), kind):
                raise UsageError(f"Options.{name}: found a {type(getattr(self, name)).__name__}, expected eqsat.{kind.__name__}")
        for name in ("certify", "fallback", "time_rules", "check", "cache"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise UsageError(f"Options.{name}: found {getattr(self, name)!r}, expected True or False")
            object.__setattr__(self, name, bool(getattr(self, name)))
        if self.dump is not None and not isinstance(self.dump, str | os.PathLike):
            raise UsageError(f"Options.dump: found a {type(self.dump).__name__}, expected the path of a folder")
        object.__setattr__(self, "dump", None if self.dump is None else Path(self.dump))
        if self.rules is not None:
            if isinstance(self.rules, str) or not isinstance(self.rules, Iterable):
                raise UsageError(f"Options.rules: found {self.rules!r}, expected a list of names of tables and of rules")
            object.__setattr__(self, "rules", tuple(flattened(self.rules)))
            without(*(entry for entry in self.rules if isinstance(entry, str)))
            _check_own(self.own_rules)

    def without(self, table: str) -> Options:
        """The same without one of the tables."""
        return replace(self, rules=(*(name for name in self.tables if name != table), *self.own_rules))

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables in use."""
        named = {entry for entry in self.rules or () if isinstance(entry, str)}
        if self.rules is None or (self.own_rules and not named):
            return all_tables()
        return tuple(name for name in all_tables() if name in named)

    @property
    def own_rules(self) -> tuple[Rule, ...]:
        """The user's own rules."""
        return tuple(entry for entry in self.rules or () if isinstance(entry, Rule))


def options_of(options: Options | None, where: str) -> Options:
    """The options that a caller gave to `where`, or the usual ones; UsageError for anything else."""
    if options is not None and not isinstance(options, Options):
        raise UsageError(f"{where}: found options of type {type(options).__name__}, expected eqsat.Options")
    return options or Options()


def _check_seconds(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating) or not 0 <= value < float("inf"):
        raise UsageError(f"{name}: found {value!r}, expected seconds")


def _check_own(own: tuple[Rule, ...]) -> None:
    for rule in own:
        if any(other.name == rule.name and other != rule for other in own):
            raise UsageError(f"Options.rules: found two rules with the name {rule.name}, expected one")
        verdict = check_rule(rule)
        if not verdict:
            raise UsageError(f"Options.rules: found a rule that is not proved: {verdict}")
