"""What one kernel does, for objectives of the caller: a kernel costs what a function says of this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eqsat.ir.errors import UsageError, one_line


@dataclass(frozen=True)
class KernelWork:
    """The work of one kernel, or of a call of a library function, in one call of the program.

    launches                   1; 0 for what is computed strip by strip within another kernel
    compute_ns                 estimated nanoseconds of its operations, indices and loads
    move_ns                    of bringing near what it reads
    store_ns                   of storing what it makes, and moving it away
    launch_ns                  of starting it
    bytes_read, bytes_written  of the arrays that it reads and writes, each once
    """

    launches: int
    compute_ns: float
    move_ns: float
    store_ns: float
    launch_ns: float
    bytes_read: int
    bytes_written: int

    @property
    def ns(self) -> float:
        """Its estimated time, which is what kernels cost where no other objective is given."""
        return self.launch_ns + self.store_ns + self.move_ns + self.compute_ns


Objective = Callable[[KernelWork], float]


def priced(objective: Objective, work: KernelWork) -> float:
    """What an objective says of a kernel; UsageError where it raises or gives no cost."""
    try:
        found = float(objective(work))
    except Exception as error:
        raise UsageError(f"Costs.objective: raised {one_line(error)}, expected a number for {work}") from error
    if not 0 <= found < float("inf"):
        raise UsageError(f"Costs.objective: found {found!r} for {work}, expected a finite number that is not negative")
    return found
