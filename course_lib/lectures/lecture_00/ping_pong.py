"""Times of messages, drawn with a line through them, and what messages cost on other networks."""

import statistics
from collections.abc import Mapping, Sequence

from course_lib.comm.simulated.network import Network
from course_lib.viz import Chart, Table, chart, table

__all__ = ["line_over_points", "message_prices"]

_MARGIN = 4.0  # how far, as a factor, the axis goes beyond what was measured


def line_over_points(
    points: Sequence[tuple[int, float]], alpha_s: float, bytes_per_s: float
) -> Chart:
    """Draw measured times of messages and the line that two numbers give.

    Parameters
    ----------
    points : sequence of (int, float)
        Bytes and seconds, several of each size: from ``message_times``.
    alpha_s : float
        The line at no bytes, in seconds.
    bytes_per_s : float
        1 / beta: its slope.

    Returns
    -------
    Chart
        Medians of each size, every measurement behind them, and the line; both axes logarithmic,
        and the same for all lines. Below it, how far the line is off.
    """
    by_size: dict[int, list[float]] = {}
    for n_bytes, seconds in points:
        by_size.setdefault(n_bytes, []).append(seconds * 1e6)
    medians = [(n, statistics.median(times)) for n, times in by_size.items()]
    line = [(n, (alpha_s + n / bytes_per_s) * 1e6) for n in by_size]
    most = max(max(a / b, b / a) for (_, a), (_, b) in zip(medians, line, strict=True))
    every = [one for times in by_size.values() for one in times]
    repeats = min(map(len, by_size.values()))
    return chart(
        {"measured": medians, "α + β n": line},
        spread={"measured": [[(n, by_size[n][k]) for n in by_size] for k in range(repeats)]},
        x_label="n, bytes of a message (log)", y_label="µs (log)", x_log=True, y_log=True,
        y_range=(min(every) / _MARGIN, max(every) * _MARGIN),
        x_ticks=[8, 100, 1_000, 10_000, 100_000, 1_000_000],
        said=f"The line is off by a factor of {most:.1f} where it is worst.",
    )  # fmt: skip


def message_prices(networks: Sequence[Network], messages: Mapping[str, int]) -> Table:
    """Lay out what messages cost: alpha + beta n, by network.

    Parameters
    ----------
    networks : sequence of Network
        The rows.
    messages : dict of str to int
        The columns: a name, and its bytes.

    Returns
    -------
    Table
        Seconds; marked where the latency is more than half of them.
    """
    rows, told = {}, []
    for r, network in enumerate(networks):
        alpha_s, bandwidth = network.latency_s, network.bandwidth_bytes_per_s
        row = {"α": alpha_s, "1/β, GB/s": float(f"{bandwidth / 1e9:.3g}")}
        for name, n_bytes in messages.items():
            row[name] = alpha_s + n_bytes / bandwidth
            if alpha_s > row[name] / 2:
                told.append((r, name))
        rows[network.name] = row
    return table(rows, units=dict.fromkeys(["α", *messages], "s"), told=told)
