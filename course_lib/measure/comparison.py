"""Predicted, simulated and measured seconds side by side, as a table and as a picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course_lib.collectives import ALLREDUCES
from course_lib.costs.bounds import AtMost
from course_lib.costs.catalogue import predicted_s
from course_lib.measure.allreduce import ITEM_BYTES, measure_allreduce, predicted_in_seconds
from course_lib.measure.messages import fit_network
from course_lib.words.tables import as_html, as_text
from course_lib.words.units import in_bytes, in_seconds

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network

__all__ = ["Compared", "Comparison", "compare"]

_HEAD = ("algorithm", "size", "predicted", "simulated", "measured")


@dataclass(frozen=True)
class Compared:
    """One algorithm at one size.

    Attributes
    ----------
    algorithm : str
        Its name in ``ALLREDUCES``.
    n_bytes : int
        The bytes of each rank's array.
    predicted_s, simulated_s, measured_s : float
        Seconds by the formula, on the simulator's clock, and on real processes. Where the formula
        is only an upper bound, it is an ``AtMost``, and the table says "≤".
    """

    algorithm: str
    n_bytes: int
    predicted_s: float
    simulated_s: float
    measured_s: float


@dataclass(frozen=True)
class Comparison:
    """A table that draws itself.

    Attributes
    ----------
    network : Network
        Whose alpha and beta predict, and on which the simulator ran.
    workers : int
        How many ranks.
    rows : tuple of Compared
        By algorithm, then by size.
    """

    network: "Network"
    workers: int
    rows: tuple[Compared, ...]

    def __str__(self) -> str:
        """Return the table as aligned text."""
        return f"{self._title}\n{as_text(_HEAD, self._cells())}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(_HEAD, self._cells(), self._title)

    def plot(self) -> Any:
        """Draw seconds by size, one colour for each algorithm.

        Returns
        -------
        matplotlib.figure.Figure
            It shows itself in a notebook; ``to_png()`` are the bytes of a file.
        """
        from course_lib.viz.charts.times import draw_times

        lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for row in self.rows:
            predicted = "predicted at most" if isinstance(row.predicted_s, AtMost) else "predicted"
            seconds = {"measured": row.measured_s, "simulated": row.simulated_s}
            for kind, value in (seconds | {predicted: row.predicted_s}).items():
                kinds = lines.setdefault(row.algorithm, {})
                kinds.setdefault(kind, []).append((row.n_bytes, value))
        return draw_times({f"{self.workers} workers": lines}, title=self._title)

    @property
    def _title(self) -> str:
        alpha = in_seconds(self.network.latency_s)
        rate = in_bytes(self.network.bandwidth_bytes_per_s)
        return f"{self.workers} workers, {self.network.name}: {alpha} a message, {rate}/s"

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                row.algorithm, in_bytes(row.n_bytes), predicted_in_seconds(row.predicted_s),
                in_seconds(row.simulated_s), in_seconds(row.measured_s),
            )
            for row in self.rows
        ]  # fmt: skip


def compare(
    algorithms: Sequence[str] = tuple(ALLREDUCES),
    sizes: Sequence[int] = (1_000, 64_000, 1_000_000),
    *,
    workers: int = 4,
    network: "Network | None" = None,
    repeats: int = 5,
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Predict, simulate and measure all-reduces on this computer.

    The formula and the simulator use one network. What they share they agree on; where real
    processes differ from both, the two numbers alpha and beta leave something out: how ranks share
    cores and memory, and that a message may have to wait for a rank to wake up.

    Parameters
    ----------
    algorithms : sequence of str
        Names in ``ALLREDUCES``; all of them by default.
    sizes : sequence of int, default: (1_000, 64_000, 1_000_000)
        Bytes of each rank's array, multiples of 4.
    workers : int, default: 4
        How many ranks, 2 or more.
    network : Network or None, default: None
        Whose alpha and beta to use; None measures first what messages take here when all ranks
        send at once.
    repeats : int, default: 5
        How often real processes are measured.
    tell : callable
        Called with what is done next.

    Returns
    -------
    Comparison
        A row for each algorithm and size.

    Raises
    ------
    ValueError
        If an argument is unusable.
    RunError
        If a worker fails, a sum that is wrong included.

    Examples
    --------
    >>> from course_lib.measure import compare
    >>> print(compare(["ring"], [1_000_000], workers=4))  # doctest: +SKIP
    4 workers, this computer: 3.1 µs a message, 4.4 GB/s
    algorithm  size  predicted  simulated  measured
    ring       1 MB     360 µs     360 µs    402 µs
    """
    if network is None:
        tell(f"messages, {workers} workers")
        network = fit_network(workers=workers, together=True, repeats=repeats)
    rows = []
    for algorithm in algorithms:
        tell(f"{algorithm}, {workers} workers")
        simulated = measure_allreduce(
            algorithm, list(sizes), workers=workers, backend="simulated", network=network
        )
        measured = measure_allreduce(algorithm, list(sizes), workers=workers, repeats=repeats)
        for virtual, real in zip(simulated, measured, strict=True):
            expected_s = predicted_s(
                f"allreduce_{algorithm}", workers, real.n_bytes, network.latency_s,
                network.beta_s_per_byte, item_bytes=ITEM_BYTES,
            )  # fmt: skip
            row = Compared(algorithm, real.n_bytes, expected_s, virtual.median_s, real.median_s)
            rows.append(row)
    return Comparison(network, workers, tuple(rows))
