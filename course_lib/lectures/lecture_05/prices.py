"""What all-reduces cost over the number of ranks and the size of the vector, as pictures."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from course_lib.collectives import ALLREDUCES
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.networks import DEFAULT, Network
from course_lib.costs import AtMost, crossover, predicted_s, price
from course_lib.lectures.lecture_05.variants import double_tree_16k, hierarchical
from course_lib.viz import Chart, Table, chart, table
from course_lib.words.units import in_bytes, in_seconds

__all__ = ["SHOWN", "busiest_nic", "price_sheet", "simulated_s", "times_over_bytes"]

SHOWN: Mapping[str, Any] = {
    "central": ALLREDUCES["central"],
    "all-to-all": ALLREDUCES["direct"],
    "tree": ALLREDUCES["tree"],
    "double tree": ALLREDUCES["double_tree"],
    "double tree, 16 KB": double_tree_16k,
    "butterfly": ALLREDUCES["butterfly"],
    "halving-doubling": ALLREDUCES["halving_doubling"],
    "ring": ALLREDUCES["ring"],
    "hierarchical": hierarchical,
}
"""The all-reduces by the names that the lecture gives them."""

_PRICED = {
    "central": "allreduce_central",
    "all-to-all": "allreduce_direct",
    "tree": "allreduce_tree",
    "butterfly": "allreduce_butterfly",
    "halving-doubling": "allreduce_halving_doubling",
    "ring": "allreduce_ring",
}
_BOUND = "lower bound"


def busiest_nic(workers: int) -> Chart:
    """Compare what the busiest rank sends, in vectors, with the least that is possible.

    Parameters
    ----------
    workers : int
        How many ranks, P.

    Returns
    -------
    Chart
        A bar for each algorithm, and one for 2(P-1)/P.
    """
    n = workers * 2 ** (workers.bit_length() - 1) * 8
    sent = {
        name: max(price(collective, workers, n, 8).bytes_sent) / n
        for name, collective in _PRICED.items()
    }
    bars = {_BOUND: 2 * (workers - 1) / workers, **sent}
    reach = [name for name in sent if np.isclose(sent[name], bars[_BOUND])]
    return chart(
        bars, told=_BOUND, x_label="vectors that the busiest rank sends", unit="n",
        x_range=(0, 15), said=f"The bound is reached by {', '.join(reach)}.",
    )  # fmt: skip


def times_over_bytes(workers: int, network: Network) -> Chart:
    """Draw predicted times, divided by the best one's, over the size of the vector.

    Parameters
    ----------
    workers : int
        How many ranks: a power of two, 4 or more.
    network : Network
        Its latency and bandwidth; any two ranks are connected alike.

    Returns
    -------
    Chart
        A curve for each of five algorithms, up to 100 times the best, and where ring and butterfly
        take equally long; both axes are logarithmic.
    """
    alpha_s, beta = network.latency_s, network.beta_s_per_byte

    def ms(name: str, n_bytes: int) -> float:
        return 1e3 * predicted_s(_PRICED[name], workers, n_bytes, alpha_s, beta, item_bytes=8)

    names = {"central": "central", "tree, at most": "tree", "butterfly": "butterfly"}
    names |= {"halving-doubling": "halving-doubling", "ring": "ring"}
    sizes = [8 * 2**k for k in range(7, 28)]
    took = {label: [ms(name, n) for n in sizes] for label, name in names.items()}
    best = np.min(list(took.values()), axis=0)
    curves = {
        label: [
            (float(n), float(one / least))
            for n, one, least in zip(sizes, of_label, best, strict=True)
            if one <= 100 * least
        ]
        for label, of_label in took.items()
    }
    times = crossover("allreduce_butterfly", "allreduce_ring", workers)
    assert times is not None  # from four ranks on the ring sends less
    n_star = float(times) * alpha_s / beta
    rounded = 8 * workers * max(1, round(n_star / (8 * workers)))
    met = ms("ring", rounded) / min(ms(name, rounded) for name in names.values())
    points = {"n*": (n_star, met)} if n_star <= 1e9 else None
    said = f"Ring and butterfly take equally long at n* = {float(times):.1f} α/β"
    return chart(
        curves, x_log=True, y_log=True, x_range=(1e3, 1e9), y_range=(0.8, 600),
        x_label="vector, bytes", y_label="time / the best one's", points=points,
        x_ticks=[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9], said=f"{said} = {in_bytes(round(n_star))}.",
    )  # fmt: skip


def simulated_s(name: str, workers: int, n_bytes: int, network: Network = DEFAULT) -> float:
    """Return the virtual seconds of an all-reduce, by its name in ``SHOWN``.

    Closed forms are taken where they equal the simulator's clock, because vectors of 100 MB on
    eight ranks take this computer seconds to copy.

    Parameters
    ----------
    name : str
        A key of ``SHOWN``.
    workers : int
        How many ranks.
    n_bytes : int
        How long each vector is, a multiple of 8.
    network : Network, default: networks.ethernet_10g
        What connects them.

    Returns
    -------
    float
        Seconds.
    """
    return _simulated_s(name, workers, n_bytes, network)


@cache  # which would take a default that is written out for another call
def _simulated_s(name: str, workers: int, n_bytes: int, network: Network) -> float:
    if network.is_star and name in _PRICED:
        found = predicted_s(
            _PRICED[name], workers, n_bytes, network.latency_s, network.beta_s_per_byte,
            item_bytes=8,
        )  # fmt: skip
        if not isinstance(found, AtMost):
            return found
    made = run(
        _in_place, SHOWN[name], n_bytes // 8,
        workers=workers, backend="simulated", network=network, trace=False,
    )  # fmt: skip
    return made.elapsed_s


def price_sheet(sizes: Sequence[int], workers: int = 8, network: Network = DEFAULT) -> Table:
    """Lay out what each all-reduce takes for vectors of several sizes, the best marked.

    Parameters
    ----------
    sizes : sequence of int
        Bytes of the vectors, multiples of 8.
    workers : int, default: 8
        How many ranks.
    network : Network, default: networks.ethernet_10g
        What connects them.

    Returns
    -------
    Table
        A row for each of ``SHOWN`` but the hierarchical one, which needs hosts.
    """
    names = [name for name in SHOWN if name != "hierarchical"]
    took = {n: {name: simulated_s(name, workers, n, network) for name in names} for n in sizes}
    last, unit_s = sizes[-1], sizes[-1] * network.beta_s_per_byte
    rows = {
        name: {
            **{in_bytes(n): in_seconds(took[n][name]) for n in sizes},
            f"{in_bytes(last)}, in nβ": f"{took[last][name] / unit_s:.2f}",
        }
        for name in names
    }
    best = [min(range(len(names)), key=lambda i: took[n][names[i]]) for n in sizes]
    told = [(row, in_bytes(n)) for row, n in zip(best, sizes, strict=True)]
    return table(rows, told=told)


def _in_place(comm: Communicator, allreduce: Any, length: int) -> None:
    x = np.zeros(length)
    allreduce(comm, x, out=x)
