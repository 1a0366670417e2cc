"""Times of messages, drawn with a line through them, and what messages cost on other networks."""

import statistics
from collections.abc import Mapping, Sequence

from course_lib.comm.simulated.network import Network
from course_lib.viz import Chart, Table, chart, table

__all__ = ["line_over_points", "message_prices"]

_Y_RANGE = (0.5, 20_000.0)  # microseconds: wide enough for every computer, so that it stands still


def line_over_points(
    points: Sequence[tuple[int, float]], alpha_s: float, bytes_per_s: float, title: str = ""
) -> Chart:
    """Draw measured times of messages and the line that two numbers give.

    Parameters
    ----------
    points : sequence of (int, float)
        Bytes and seconds, several of each size: from ``message_times``.
    alpha_s : float
        The line at no bytes, in seconds.
    bytes_per_s : float
        1 / beta, beta being its slope.
    title : str, default: ""
        What stands above it.

    Returns
    -------
    Chart
        Medians of each size over single measurements, and the line; both axes logarithmic, and the
        same for all lines. Below it, how far the line is off.
    """
    by_size: dict[int, list[float]] = {}
    for n_bytes, seconds in points:
        by_size.setdefault(n_bytes, []).append(seconds * 1e6)
    medians = {n: statistics.median(times) for n, times in by_size.items()}
    line = {n: (alpha_s + n / bytes_per_s) * 1e6 for n in by_size}
    most = max(max(medians[n] / line[n], line[n] / medians[n]) for n in by_size)
    repeats = range(min(map(len, by_size.values())))
    return chart(
        {"measured": _in_kb(medians), "α + β n": _in_kb(line)},
        spread={"measured": [_in_kb({n: by_size[n][k] for n in by_size}) for k in repeats]},
        x_label="n, kB of a message (log)", y_label="time of a message, µs (log)",
        x_log=True, y_log=True, y_range=_Y_RANGE, x_ticks=[0.01, 0.1, 1, 10, 100, 1_000],
        title=title, said=f"Where it is worst, the line is off by a factor of {most:.1f}.",
    )  # fmt: skip


def _in_kb(by_size: Mapping[int, float]) -> list[tuple[float, float]]:
    return [(n / 1000, value) for n, value in by_size.items()]


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
        row = {"1/β, GB/s": float(f"{bandwidth / 1e9:.3g}")}
        for name, n_bytes in messages.items():
            row[name] = alpha_s + n_bytes / bandwidth
            if alpha_s > row[name] / 2:
                told.append((r, name))
        rows[network.name] = row
    return table(rows, units=dict.fromkeys(messages, "s"), told=told)
