"""What a stretch of code keeps busy, and how long that takes where all of it works at the same time."""

from __future__ import annotations

from dataclasses import dataclass

# what does not fit into the time of the busiest of the units that work at the same time
BESIDE = 0.1


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
        """The busiest of what works at the same time, and a part of the others."""
        busy = self.loads / ghz, self.stores / ghz, self.operations / ghz, self.waits / ghz, self.moved
        return self.rest + max(busy) + BESIDE * (sum(busy) - max(busy))


NOTHING = Work()
