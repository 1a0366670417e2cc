"""What a simulated network is made of: a latency, a bandwidth, and how fast the workers compute.

The presets are round numbers that describe a class of network, assumed rather than measured. Make
your own ``Network`` with what you have measured, or vary one number of a preset with
``dataclasses.replace(networks.ethernet_10g, latency_s=1e-3)``.
"""

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["DEFAULT", "Network", "ethernet_1g", "ethernet_10g", "ethernet_100g"]


@dataclass(frozen=True)
class Network:
    """A network in which any two ranks are connected alike.

    A message of n bytes takes ``latency_s + n * beta_s_per_byte`` when nothing is in its way; the
    package's docstring says what happens when something is.

    Attributes
    ----------
    name : str
        What to call it in tables and pictures.
    latency_s : float
        The time from sending a message's first byte until it arrives, alpha, in seconds; 0 or more.
    bandwidth_bytes_per_s : float
        How many bytes a card sends, and at the same time receives, in a second; above 0, and
        ``math.inf`` for a network in which size does not matter.
    flops_per_s : float or tuple of float
        How many floating-point operations a rank does in a second: one number for all, or one for
        each rank (a straggler has a smaller one).

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

    def __post_init__(self) -> None:
        """Check every number once, so that the simulator can trust them."""
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a str, got {self.name!r} ({type(self.name).__name__})")
        latency_s = _number("latency_s", self.latency_s)
        if not (latency_s >= 0 and math.isfinite(latency_s)):
            raise ValueError(f"latency_s must be 0 or more and finite, got {self.latency_s!r}")
        if not _number("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s) > 0:
            raise ValueError(
                f"bandwidth_bytes_per_s must be above 0, got {self.bandwidth_bytes_per_s!r}"
            )
        speeds: Any = self.flops_per_s
        if isinstance(speeds, list):
            speeds = tuple(speeds)
            object.__setattr__(self, "flops_per_s", speeds)
        for speed in speeds if isinstance(speeds, tuple) else (speeds,):
            if not (_number("flops_per_s", speed) > 0 and math.isfinite(speed)):
                raise ValueError(f"flops_per_s must be above 0 and finite, got {speeds!r}")

    @property
    def beta_s_per_byte(self) -> float:
        """Seconds that a card is busy with one byte, the inverse of the bandwidth."""
        return 1.0 / self.bandwidth_bytes_per_s

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
            If ``flops_per_s`` is a tuple of another length.
        """
        if not isinstance(self.flops_per_s, tuple):
            return (self.flops_per_s,) * workers
        if len(self.flops_per_s) != workers:
            raise ValueError(
                f"network {self.name!r} has {len(self.flops_per_s)} speeds in flops_per_s, but "
                f"workers={workers}: give one number for all ranks, or one for each"
            )
        return self.flops_per_s


def _number(argument: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{argument} must be a number, got {value!r} ({type(value).__name__})")
    return value


_LAPTOP_CORE_FLOPS_PER_S = 1e10
"""An assumption: one core doing dense arithmetic, of the order of ten operations a nanosecond.
The same in all presets, so that they differ in the network alone."""

ethernet_1g = Network("ethernet_1g", 50e-6, 125e6, _LAPTOP_CORE_FLOPS_PER_S)
"""Gigabit Ethernet as in an office: 1e9 bits a second; 50 microseconds is an assumption."""

ethernet_10g = Network("ethernet_10g", 20e-6, 1.25e9, _LAPTOP_CORE_FLOPS_PER_S)
"""Ten-gigabit Ethernet as in a cluster: 1e10 bits a second; 20 microseconds is an assumption."""

ethernet_100g = Network("ethernet_100g", 5e-6, 12.5e9, _LAPTOP_CORE_FLOPS_PER_S)
"""The fast Ethernet of a data centre: 1e11 bits a second; 5 microseconds is an assumption."""

DEFAULT = ethernet_10g
"""What ``run(..., backend="simulated")`` takes when no network is named."""
