"""What a stretch of code keeps busy, and how long that takes where all of it works at the same time."""

from __future__ import annotations

from dataclasses import dataclass

# what does not fit into the time of the busiest of the units that work at the same time, and of moving memory and working
BESIDE, MOVED_BESIDE = 0.1, 0.3


@dataclass(frozen=True)
class Work:
    """What a stretch of code without loops in it keeps busy in all its repetitions, and what of its loops nothing overlaps.

    loads, stores, operations  cycles of the units that load, store and compute
    waits                      cycles of additions that wait for each other
    moved                      nanoseconds of bringing memory near
    rest                       nanoseconds that come on top: whole loops, and starting them
    """

    loads: float = 0.0
    stores: float = 0.0
    operations: float = 0.0
    waits: float = 0.0
    moved: float = 0.0
    rest: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.loads + other.loads,
            self.stores + other.stores,
            self.operations + other.operations,
            self.waits + other.waits,
            self.moved + other.moved,
            self.rest + other.rest,
        )

    def ns(self, ghz: float) -> float:
        """The busiest of what works at the same time, and a part of the others: caches bring near beside the work, but not all of it."""
        units = self.loads / ghz, self.stores / ghz, self.operations / ghz, self.waits / ghz
        busy = max(units) + BESIDE * (sum(units) - max(units))
        return self.rest + max(busy, self.moved) + MOVED_BESIDE * min(busy, self.moved)


NOTHING = Work()
