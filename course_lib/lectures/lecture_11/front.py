"""Seconds against bytes: which schemes no other beats in both, on a network that sliders move."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from course_lib.lectures.lecture_11.clocks import Priced, priced, takes_part
from course_lib.lectures.lecture_11.kept import NAMES, best
from course_lib.viz import Chart, Table, chart, table
from course_lib.words.units import three_digits

__all__ = ["FACTORS", "ahead_from", "front_chart", "on_the_front", "or_not", "prices", "together",
           "when_nobody_waits_wins"]  # fmt: skip

_X, _Y = (0.01, 200.0), (0.1, 100.0)
FACTORS = (1.0, 1.5, 2.0, 2.5, 3.0, 5.0, 7.0, 10.0)
"""Stragglers beside which Downpour of four workers was tuned."""
_SHOWN = ("data_parallel", "backup_workers", "bounded_staleness", "downpour", "local_sgd",
          "compressed")  # fmt: skip


def prices(
    workers: int, straggler: float, latency_s: float, gbit: float, every: int, sent: int
) -> dict[str, Priced]:
    """Say what each scheme takes to the target on a network.

    Parameters
    ----------
    workers : {4, 8}
        How many.
    straggler : {1.0, 3.0, 10.0}
        How many times longer the last one computes.
    latency_s, gbit : float
        Of the network.
    every : {1, 8, 64}
        H of local SGD.
    sent : {24, 241}
        How many numbers of a gradient top-k sends.

    Returns
    -------
    dict of str to Priced
        By the scheme's name.
    """
    return {
        scheme: priced(takes_part(scheme, workers, straggler, every, sent), latency_s, gbit)
        for scheme in _SHOWN
    }


def on_the_front(places: Mapping[str, tuple[float, float]]) -> list[str]:
    """Find what nothing else beats: nobody has less of one and not more of the other.

    Parameters
    ----------
    places : dict of str to (float, float)
        Two costs by name; less is better.

    Returns
    -------
    list of str
        Names, by the first cost. Who has an infinite cost is not there.

    Examples
    --------
    >>> on_the_front({"a": (1, 9), "b": (3, 3), "c": (4, 5), "d": (9, 1)})
    ['a', 'b', 'd']
    """
    there = {name: place for name, place in places.items() if math.isfinite(sum(place))}
    front = [
        name for name, (x, y) in there.items()
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in there.values())
    ]  # fmt: skip
    return sorted(front, key=there.__getitem__)


def together(places: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Give places that lie nearly on each other one name, so that it can be read.

    Parameters
    ----------
    places : dict of str to (float, float)
        Two costs by name; who has an infinite one is left out.

    Returns
    -------
    dict of str to (float, float)
        The names of all within a tenth of the first of them, and where that one lies.

    Examples
    --------
    >>> together({"a": (1.0, 5.0), "b": (2.0, 5.0), "c": (1.05, 4.9)})
    {'a, c': (1.0, 5.0), 'b': (2.0, 5.0)}
    """
    groups: list[tuple[list[str], tuple[float, float]]] = []
    for name, place in places.items():
        if not math.isfinite(sum(place)):
            continue
        for names, first in groups:
            if all(abs(math.log(a / b)) < 0.1 for a, b in zip(place, first, strict=True)):
                names.append(name)
                break
        else:
            groups.append(([name], place))
    return {", ".join(names): first for names, first in groups}


def front_chart(
    workers: int, straggler: float, latency: float, gbit: float, every: int, sent: int
) -> Chart:
    """Draw bytes over seconds to the target, and the front.

    Parameters
    ----------
    workers : {4, 8}
        How many.
    straggler : {1.0, 3.0, 10.0}
        How many times longer the last one computes.
    latency, gbit : float
        Of the network, in milliseconds and gigabits a second.
    every : {1, 8, 64}
        H of local SGD.
    sent : {24, 241}
        How many numbers of a gradient top-k sends.

    Returns
    -------
    Chart
        A cross for each scheme that gets to the target; a table below.
    """
    found = prices(workers, straggler, latency / 1e3, gbit, every, sent)
    if every == 1:
        found.pop("local_sgd")  # it is the all-reduce
    places = {NAMES[name]: (one.seconds, one.n_bytes / 1e6) for name, one in found.items()}
    front = on_the_front(places)
    alone_s = best("serial").median("seconds")
    rows = {
        NAMES[name]: {
            "updates": or_not(one.best.median("updates")),
            "ms an update": three_digits(1e3 * one.pace.seconds),
            "ms": or_not(1e3 * one.seconds), "MB": or_not(one.n_bytes / 1e6),
            "on the front": "yes" if NAMES[name] in front else "",
        }
        for name, one in found.items()
    }  # fmt: skip
    fastest = min(places, key=places.__getitem__)
    times = alone_s / places[fastest][0]
    compared = (f"{times:.3g} times as fast as one worker alone" if times > 1
                else "but one worker alone is faster")  # fmt: skip
    return chart(
        {"Pareto front": _steps([places[name] for name in front]),
         "one worker alone, no bytes": [(alone_s, _Y[0]), (alone_s, _Y[1])]},
        points=together(places),
        x_log=True, y_log=True, x_range=_X, y_range=_Y, reference="one worker alone, no bytes",
        x_label="seconds to the target", y_label="MB sent until then", below=table(rows),
        said=f"First: {fastest}, {compared}. On the front: {', '.join(front)}.",
    )  # fmt: skip


def when_nobody_waits_wins(latency_s: float, gbit: float, seed: int | None = None) -> float:
    """Find the straggler from which on Downpour is faster than the all-reduce, with four workers.

    Parameters
    ----------
    latency_s, gbit : float
        Of the network.
    seed : int, optional
        Of which training the updates are, from 1 to 10; by default the medians of all ten.

    Returns
    -------
    float
        How many times longer the last worker computes; 1 if Downpour is ahead with none that is
        slow, infinite if it is not ahead up to 10 times. The all-reduce's time is nearly a straight
        line; Downpour was tuned beside each straggler of ``FACTORS``, and is interpolated between
        them.
    """
    leads = []
    for factor in FACTORS:
        waits, nobody = (
            takes_part(scheme, 4, factor, 8, 24) for scheme in ("data_parallel", "downpour")
        )
        if seed is not None:
            waits, nobody = (replace(of, seeds=of.seeds[seed - 1 : seed]) for of in (waits, nobody))
        waits_s, nobody_s = (priced(of, latency_s, gbit).seconds for of in (waits, nobody))
        leads.append(waits_s - nobody_s)
    return _crossing(leads)


def _crossing(leads: Sequence[float]) -> float:
    """Return the factor from which on a lead stays above 0."""
    behind = max((k for k, lead in enumerate(leads) if lead <= 0), default=-1)
    if behind == len(leads) - 1:
        return math.inf
    if behind < 0:
        return FACTORS[0]
    return float(np.interp(0, leads[behind : behind + 2], FACTORS[behind : behind + 2]))


def ahead_from(networks: Iterable[tuple[float, float]]) -> Table:
    """Lay out from which straggler on Downpour is ahead, and how far seeds are apart in it.

    Parameters
    ----------
    networks : iterable of (float, float)
        The milliseconds of latency and the gigabits a second of each.

    Returns
    -------
    Table
        A row for each network; stragglers of more than 10 were not measured.
    """
    rows = {}
    for latency, gbit in networks:
        apart = sorted(
            when_nobody_waits_wins(latency / 1e3, gbit, seed=seed)
            for seed in range(1, 1 + len(best("serial").seeds))
        )
        rows[f"{latency:g} ms, {gbit:g} Gbit/s"] = {
            "Downpour is ahead from": _times(when_nobody_waits_wins(latency / 1e3, gbit)),
            "each seed by itself": f"{_times(apart[0])} … {_times(apart[-1])}",
        }
    return table(rows)


def _times(factor: float) -> str:
    return f"{factor:.1f} ×" if math.isfinite(factor) else "above 10 ×"


def _steps(front: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Walk along the front: between two schemes the bytes are those of the first."""
    walk = [(front[0][0], _Y[1])] if front else []
    for x, y in front:
        walk += [(x, walk[-1][1]), (x, y)]
    return [*walk, (_X[1], walk[-1][1])] if walk else [(_X[1], _Y[1])]


def or_not(value: float) -> str:
    """Write a number of a race, or that it was not reached.

    Parameters
    ----------
    value : float
        Infinite for who did not get there.

    Returns
    -------
    str
        Three digits of it, or of a large one all before the point.
    """
    return "not there" if math.isinf(value) else three_digits(value)
