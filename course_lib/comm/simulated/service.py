"""How long computations take where flops do not say it: service times, by chance or by schedule."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from course_lib.comm.simulated.topologies import duration
from course_lib.words.whole import whole

__all__ = ["ExponentialService", "ServiceTimes"]


@dataclass(frozen=True)
class ExponentialService:
    """Computations take random times, exponentially distributed about what their flops say.

    However long one has taken, what is left of it takes as long as a fresh one on average. Each
    rank draws from a generator of its own: what others do changes none of its times.

    Attributes
    ----------
    seed : int, default: 0
        The same seed gives the same times.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        """Check the number once."""
        whole("seed", self.seed, least=0)

    def times(self, rank: int) -> Callable[[float], float]:
        """Return what says how long each computation of a rank takes, one after the other.

        Parameters
        ----------
        rank : int
            Whose.

        Returns
        -------
        callable
            Called with the seconds that the flops say, it returns the seconds that it takes.
        """
        # Of its generator Python promises no more than that random() of a seed stays the same.
        uniform = random.Random(f"{self.seed} {rank}").random
        return lambda seconds: seconds * -math.log1p(-uniform())


@dataclass(frozen=True)
class ServiceTimes:
    """Computations take the times that a schedule gives them, whatever their flops say.

    Attributes
    ----------
    seconds : dict of int to sequence of (float or None)
        By rank, how long its computations take, in the order in which it begins them; None, or a
        list that has ended, leaves it to the flops.
    """

    seconds: Mapping[int, Sequence[float | None]] = field(hash=False)

    def __post_init__(self) -> None:
        """Check every number once."""
        if not isinstance(self.seconds, Mapping):
            raise TypeError(
                "seconds must be a dict of rank to a list of times, got "
                f"{self.seconds!r} ({type(self.seconds).__name__})"
            )
        for rank, times in self.seconds.items():
            whole("a rank of seconds", rank, least=0)
            if isinstance(times, str) or not isinstance(times, Sequence):
                raise TypeError(f"seconds[{rank}] must be a list of times, got {times!r}")
            for k, time_s in enumerate(times):
                if time_s is not None:
                    duration(f"seconds[{rank}][{k}]", time_s)
        own = {rank: tuple(times) for rank, times in self.seconds.items()}
        object.__setattr__(self, "seconds", own)

    def times(self, rank: int) -> Callable[[float], float]:
        """Return what says how long each computation of a rank takes, one after the other.

        Parameters
        ----------
        rank : int
            Whose.

        Returns
        -------
        callable
            As that of ``ExponentialService``.
        """
        left = iter(self.seconds.get(rank, ()))

        def take(seconds: float) -> float:
            given = next(left, None)
            return seconds if given is None else given

        return take
