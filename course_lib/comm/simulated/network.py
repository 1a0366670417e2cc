"""What a simulated network is made of: latency, bandwidth, connections, and computing speed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course_lib.comm.rates import Rates
from course_lib.comm.simulated.service import ExponentialService, ServiceTimes
from course_lib.comm.simulated.topologies import (
    Ring,
    SlowLink,
    SlowNic,
    Straggler,
    Torus,
    TwoLevel,
    duration,
    number,
    positive,
)

__all__ = ["Network", "check_network"]


@dataclass(frozen=True)
class Network:
    """A network: how ranks are connected, and how fast they compute.

    Without a topology any two ranks are connected alike, each with one NIC. A message of n bytes
    takes ``latency_s + n * beta_s_per_byte`` when nothing is in its way; the package's docstring
    says what happens when something is.

    Attributes
    ----------
    name : str
        What to call it in tables and pictures.
    latency_s : float
        The time from sending a message's first byte until it arrives, alpha, in seconds; 0 or more.
    bandwidth_bytes_per_s : float
        How many bytes a NIC sends, and at the same time receives, in a second; above 0, and
        ``math.inf`` for a network in which size does not matter.
    flops_per_s : float or tuple of float
        How many floating-point operations a rank does in a second: one number for all, or one for
        each rank (a straggler has a smaller one).
    topology : Ring, Torus, TwoLevel or None, default: None
        How ranks are connected if not any two alike; see ``ring``, ``torus`` and ``two_level``.
    slow : tuple of Straggler, SlowNic or SlowLink, default: ()
        What is slower than the rest; see the methods.
    service : ExponentialService, ServiceTimes or None, default: None
        How long computations take by chance or by a schedule; None: always what their flops say.

    Raises
    ------
    TypeError, ValueError
        If a number is missing its meaning, naming the argument.

    Examples
    --------
    >>> Network("lan", latency_s=1e-4, bandwidth_bytes_per_s=1.25e8, flops_per_s=1e10)
    ... # doctest: +ELLIPSIS
    Network(name='lan', ...)
    """

    name: str
    latency_s: float
    bandwidth_bytes_per_s: float
    flops_per_s: float | tuple[float, ...]
    topology: Ring | Torus | TwoLevel | None = None
    slow: tuple[Straggler | SlowNic | SlowLink, ...] = ()
    service: ExponentialService | ServiceTimes | None = None

    def __post_init__(self) -> None:
        """Check every number once, so that the simulator can trust them."""
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a str, got {self.name!r} ({type(self.name).__name__})")
        duration("latency_s", self.latency_s)
        positive("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s)
        if not isinstance(self.topology, Ring | Torus | TwoLevel | None):
            raise TypeError(
                f"topology must be a Ring, a Torus, a TwoLevel or None, got {self.topology!r}"
            )
        if not isinstance(self.slow, tuple) or not all(
            isinstance(part, Straggler | SlowNic | SlowLink) for part in self.slow
        ):
            raise TypeError(
                f"slow must be a tuple of Straggler, SlowNic or SlowLink, got {self.slow!r}"
            )
        if not isinstance(self.service, ExponentialService | ServiceTimes | None):
            raise TypeError(
                f"service must be an ExponentialService, ServiceTimes or None, got {self.service!r}"
            )
        speeds: Any = self.flops_per_s
        if isinstance(speeds, list):
            speeds = tuple(speeds)
            object.__setattr__(self, "flops_per_s", speeds)
        for speed in speeds if isinstance(speeds, tuple) else (speeds,):
            if not (number("flops_per_s", speed) > 0 and math.isfinite(speed)):
                raise ValueError(f"flops_per_s must be above 0 and finite, got {speeds!r}")

    @property
    def beta_s_per_byte(self) -> float:
        """Seconds that a NIC is busy with one byte, the inverse of the bandwidth."""
        return 1.0 / self.bandwidth_bytes_per_s

    @property
    def rates(self) -> Rates:
        """What a message costs; adding costs no virtual time."""
        return Rates(self.latency_s, self.beta_s_per_byte, 0.0, f"network {self.name}")

    @property
    def is_star(self) -> bool:
        """Whether any two ranks are connected alike, and no NIC or link is slower than others."""
        return self.topology is None and all(isinstance(part, Straggler) for part in self.slow)

    def with_straggler(self, rank: int, factor: float) -> "Network":
        """Let one rank compute more slowly; its NIC stays as it is.

        Parameters
        ----------
        rank : int
            Which.
        factor : float
            How many times as long its computing takes.

        Returns
        -------
        Network
            A new one.

        Examples
        --------
        >>> lan = Network("lan", latency_s=1e-4, bandwidth_bytes_per_s=1.25e8, flops_per_s=1e10)
        >>> lan.with_straggler(rank=2, factor=4).speeds(3)
        (10000000000.0, 10000000000.0, 2500000000.0)
        """
        return replace(self, slow=(*self.slow, Straggler(rank, factor)))

    def with_exponential_service(self, seed: int = 0) -> "Network":
        """Let every computation take a random time, of the mean that its flops say.

        Predictions go by the mean.

        Parameters
        ----------
        seed : int, default: 0
            Of the drawing.

        Returns
        -------
        Network
            A new one.
        """
        return replace(self, service=ExponentialService(seed))

    def with_service_times(self, seconds: Mapping[int, Sequence[float | None]]) -> "Network":
        """Let computations take given times: so the order of asynchronous events is chosen by hand.

        Predictions go by the flops.

        Parameters
        ----------
        seconds : dict of int to sequence of (float or None)
            By rank, how long its first computation takes, its second, and so on; None leaves one to
            its flops, and so do lists that end. ``service_times`` of ``course_lib.trace.replay``
            reads it off a trace.

        Returns
        -------
        Network
            A new one.

        Raises
        ------
        TypeError, ValueError
            If it is no such dict, or a time is below 0. A rank that there is not is refused when
            the run begins.

        Examples
        --------
        >>> from course_lib import networks
        >>> network = networks.ethernet_10g.with_service_times({1: [None, 5e-3]})
        >>> network.service  # rank 1's second computation takes 5 ms
        ServiceTimes(seconds={1: (None, 0.005)})
        """
        return replace(self, service=ServiceTimes(seconds))

    def with_slow_nic(self, rank: int, factor: float) -> "Network":
        """Give one rank a slower NIC, for all that it sends and receives.

        Parameters
        ----------
        rank : int
            Which.
        factor : float
            How many times as long it takes for a byte, and for the latency.

        Returns
        -------
        Network
            A new one.
        """
        return replace(self, slow=(*self.slow, SlowNic(rank, factor)))

    def with_slow_link(self, src: int, dst: int, factor: float) -> "Network":
        """Make one direction between two ranks slower.

        Parameters
        ----------
        src, dst : int
            From which rank to which.
        factor : float
            How many times as long a message takes that is alone.

        Returns
        -------
        Network
            A new one.
        """
        return replace(self, slow=(*self.slow, SlowLink(src, dst, factor)))

    def speeds(self, workers: int) -> tuple[float, ...]:
        """Return every rank's floating-point operations per second.

        Parameters
        ----------
        workers : int
            How many ranks there are.

        Returns
        -------
        tuple of float
            One speed for each rank, in operations per second.

        Raises
        ------
        ValueError
            If ``flops_per_s`` is a tuple of another length, a torus is for another number of ranks,
            or what is slow, or timed, names other ranks.
        """
        torus = self.topology
        if isinstance(torus, Torus) and torus.size != workers:
            raise ValueError(
                f"network {self.name!r} is for {torus.rows} x {torus.columns} = {torus.size} ranks,"
                f" but workers={workers}"
            )
        for part in self.slow:
            ranks = (part.src, part.dst) if isinstance(part, SlowLink) else (part.rank,)
            if max(ranks) >= workers:
                raise ValueError(
                    f"network {self.name!r} has {part}, but workers={workers}: there is no rank "
                    f"{max(ranks)}"
                )
        timed = self.service.seconds if isinstance(self.service, ServiceTimes) else {}
        if max(timed, default=0) >= workers:
            raise ValueError(
                f"network {self.name!r} has times of rank {max(timed)}, but workers={workers}"
            )
        speeds = list(self._own_speeds(workers))
        for part in self.slow:
            if isinstance(part, Straggler):
                speeds[part.rank] /= part.factor
        return tuple(speeds)

    def _own_speeds(self, workers: int) -> tuple[float, ...]:
        if not isinstance(self.flops_per_s, tuple):
            return (self.flops_per_s,) * workers
        if len(self.flops_per_s) != workers:
            raise ValueError(
                f"network {self.name!r} has {len(self.flops_per_s)} speeds in flops_per_s, but "
                f"workers={workers}: give one number for all ranks, or one for each"
            )
        return self.flops_per_s


def check_network(network: Any, *, star: bool = False) -> None:
    """Refuse what is no network; with ``star``, also one with a topology.

    Parameters
    ----------
    network : Any
        What was given.
    star : bool, default: False
        Whether any two ranks must be connected alike.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, what was expected and what was given.
    """
    if not isinstance(network, Network):
        raise TypeError(
            "network must be a Network such as networks.ethernet_10g, "
            f"got {network!r} ({type(network).__name__})"
        )
    if star and not network.is_star:
        raise ValueError(
            f"network must be one in which any two ranks are connected alike, got {network.name!r}"
        )
