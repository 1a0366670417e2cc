"""What all communicators of one rank share."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from course_lib.comm.collective_order import Sites
from course_lib.comm.processes.memory.shared_arrays import Arena
from course_lib.comm.processes.rank.tallies import Tallies
from course_lib.trace.recorder import Recorder

__all__ = ["Home"]


@dataclass
class Home:
    """A rank's port and settings.

    Attributes
    ----------
    port : Port
        Where its messages go out and come in; in another world, what does that there.
    arena : Arena or None
        Where shared arrays lie; None where ranks may be on different computers.
    eager_bytes : int
        Up to this size a send returns after copying; 0 makes every send wait for its receive.
    seed : int
        For ``rng``.
    trace : bool
        Whether to record.
    origin_s : float
        When the run began, on the clock that all processes of this computer share.
    fail : callable
        Told of an exception that left a started function.
    sites : Sites
        The places at which it has called collectives.
    tallies : Tallies
        What its communicators have sent and received.
    """

    port: Any
    arena: Arena | None
    eager_bytes: int
    seed: int
    trace: bool
    origin_s: float
    fail: Callable[[BaseException], None]
    sites: Sites
    tallies: Tallies = field(default_factory=Tallies)

    def __post_init__(self) -> None:
        """Make what follows from these."""
        self.recorder = Recorder(self.port.rank)

    def clock(self) -> float:
        """Return seconds since the run began."""
        return time.perf_counter() - self.origin_s
