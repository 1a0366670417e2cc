"""What a training step takes on N workers, and how many of them are worth having.

A step is computing and an all-reduce. More workers have fewer examples each, and a longer
all-reduce: ``T(N) = ceil(B / N) c + T_allreduce(N)`` for B examples of c seconds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from course_lib.costs.bounds import AtLeast, AtMost
from course_lib.costs.catalogue import check_collective, predicted_s
from course_lib.costs.checking import checked, count, duration, fraction, positive, ranks

__all__ = ["Step"]


@dataclass(frozen=True)
class Step:
    """One step of data-parallel training, as it is priced.

    Attributes
    ----------
    batch : int
        How many examples all workers together take, B.
    example_s : float
        Seconds that one worker computes for one example, c.
    n_bytes : int
        Bytes of the gradient.
    alpha_s : float
        Seconds from sending a message's first byte until it arrives.
    beta_s_per_byte : float
        Seconds that a NIC is busy with one byte.
    collective : str, default: "allreduce_ring"
        What adds up the gradients, one of ``course_lib.collectives``.
    hideable : float, default: 0.0
        Under what part of the computing the all-reduce can go on: 0 if it begins afterwards; 2/3
        at best, because a backward pass is two thirds of the work.

    Examples
    --------
    >>> step = Step(batch=1024, example_s=1e-3, n_bytes=10**8, alpha_s=2e-5, beta_s_per_byte=8e-10)
    >>> print(f"{step.time_s(1):.3f} s, {step.time_s(16):.3f} s, {step.time_s(1024):.3f} s")
    1.024 s, 0.215 s, 0.202 s
    >>> step.best([1, 16, 64, 256, 1024])
    256
    """

    batch: int
    example_s: float
    n_bytes: int
    alpha_s: float
    beta_s_per_byte: float
    collective: str = "allreduce_ring"
    hideable: float = 0.0

    def __post_init__(self) -> None:
        """Check every number once."""
        ranks("batch", self.batch)
        positive("example_s", self.example_s)
        count("n_bytes", self.n_bytes)
        duration("alpha_s", self.alpha_s)
        duration("beta_s_per_byte", self.beta_s_per_byte)
        fraction("hideable", self.hideable)
        check_collective(self.collective)

    @checked(workers=ranks)
    def compute_s(self, workers: int) -> float:
        """Return the computing of the worker with the most examples.

        Parameters
        ----------
        workers : int
            How many, N.

        Returns
        -------
        float
            Seconds.
        """
        return -(-self.batch // workers) * self.example_s

    @checked(workers=ranks)
    def exchange_s(self, workers: int) -> float:
        """Return what the all-reduce takes.

        Parameters
        ----------
        workers : int
            How many, N.

        Returns
        -------
        float
            Seconds; an ``AtMost`` where the price of the collective is only a bound.
        """
        return predicted_s(
            self.collective, workers, self.n_bytes, self.alpha_s, self.beta_s_per_byte
        )

    @checked(workers=ranks)
    def time_s(self, workers: int) -> float:
        """Return the time of the step.

        Parameters
        ----------
        workers : int
            How many, N.

        Returns
        -------
        float
            Seconds: the computing, and what is left of the all-reduce when as much as possible of
            it is hidden. An ``AtMost`` where the all-reduce's is one.
        """
        compute_s, exchange_s = self.compute_s(workers), self.exchange_s(workers)
        seconds = compute_s + max(0.0, exchange_s - self.hideable * compute_s)
        return AtMost(seconds) if isinstance(exchange_s, AtMost) else seconds

    @checked(workers=ranks)
    def efficiency(self, workers: int) -> float:
        """Return which part of N times one worker's speed is reached, with this batch.

        Parameters
        ----------
        workers : int
            How many, N.

        Returns
        -------
        float
            ``T(1) / (N T(N))``: strong scaling. For weak scaling, take ``grown(N)``'s.
            An ``AtLeast`` where the time is an upper bound.
        """
        time_s = self.time_s(workers)
        part = self.batch * self.example_s / (workers * time_s)
        return AtLeast(part) if isinstance(time_s, AtMost) else part

    @checked(workers=ranks)
    def grown(self, workers: int) -> "Step":
        """Return the step in which every worker has as many examples as one has in this.

        Parameters
        ----------
        workers : int
            How many, N.

        Returns
        -------
        Step
            With N times the batch: weak scaling.
        """
        return replace(self, batch=workers * self.batch)

    def best(self, sizes: Sequence[int]) -> int:
        """Return the number of workers with the shortest step.

        Parameters
        ----------
        sizes : sequence of int
            The numbers to choose from.

        Returns
        -------
        int
            The smallest of the fastest, by their upper bounds where a time is only bounded.
        """
        if len(sizes) == 0:
            raise ValueError("sizes must name one number of workers or more, got none")
        return min(sizes, key=lambda workers: (self.time_s(workers), workers))

    def smooth_best(self) -> float | None:
        """Return where the time is least if examples could be cut to pieces, for a ring.

        ``T(N) = B c / N + 2 (N - 1) alpha + 2 (N - 1) / N n beta`` is least at ``N* = sqrt((B c - 2
        n beta) / (2 alpha))``: the bytes' share grows as ``-1 / N`` does, so it counts against the
        computing. N workers are faster than one if ``B c > 2 n beta + 2 N alpha``.

        Returns
        -------
        float or None
            ``N*``, infinite without latency; None if ``B c <= 2 n beta``, where no number of
            workers is faster than one.

        Raises
        ------
        ValueError
            If the all-reduce is no ring, or some of it is hidden.

        Examples
        --------
        >>> step = Step(batch=1024, example_s=1e-3, n_bytes=10**8, alpha_s=2e-5,
        ...             beta_s_per_byte=8e-10)
        >>> round(step.smooth_best(), 1)  # sqrt(1.024 / 4e-5) would be 160
        147.0
        """
        if self.collective != "allreduce_ring" or self.hideable:
            raise ValueError(
                "collective and hideable must be 'allreduce_ring' and 0 for this formula, got "
                f"{self.collective!r} and {self.hideable}"
            )
        saved_s = self.batch * self.example_s - 2 * self.n_bytes * self.beta_s_per_byte
        if saved_s <= 0:
            return None
        return math.sqrt(saved_s / (2 * self.alpha_s)) if self.alpha_s else math.inf

    def breaks_even_at(self) -> int | None:
        """Return from how many workers on the step is shorter than on one.

        Returns
        -------
        int or None
            The smallest number of workers, up to one an example; None if one worker is faster
            than all of them. Where times are bounds, fewer may do.
        """
        alone_s = self.time_s(1)
        for workers in range(2, self.batch + 1):
            if self.time_s(workers) < alone_s:
                return workers
        return None
