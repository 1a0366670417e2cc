"""Requests through replicas, through stages, and through layers that are split."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from course_lib.comm.communicator import Array, Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated import networks
from course_lib.comm.simulated.network import Network
from course_lib.models.deep_mlp import deep_mlp
from course_lib.planning.inference import (
    Answers,
    Service,
    serve_replicas,
    serve_stages,
    service,
)
from course_lib.split import split_in_pairs
from course_lib.trace.contributions import Contributions, Counts, Fill
from course_lib.trace.trace import Trace
from course_lib.viz import Player, Table, player, table

__all__ = ["CHAIN", "EXAMPLES", "LAYER_MS", "NETWORKS", "Served", "latency_table", "network_of",
           "price_sheet", "serve_split", "served"]  # fmt: skip

CHAIN = deep_mlp(*[256] * 9)
EXAMPLES, LAYER_MS = 4, 0.5

NETWORKS: dict[str, Network] = {
    "NVLink": networks.nvlink_4,
    "10 Gbit/s": networks.ethernet_10g,
    "1 Gbit/s": networks.ethernet_1g,
    "between sites": networks.wan,
}
"""By what the text calls them."""


def network_of(name: str) -> Network:
    """Return a network on which each of the eight layers takes half a millisecond.

    Parameters
    ----------
    name : str
        In ``NETWORKS``.

    Returns
    -------
    Network
        For requests of four examples.
    """
    flops = CHAIN.parts[0].flops(EXAMPLES).forward
    return replace(NETWORKS[name], flops_per_s=flops / (LAYER_MS / 1e3))


def serve_split(comm: Communicator, requests: list[Array]) -> Answers:
    """Answer requests with every layer split over all ranks: column, then row, as in lecture 08.

    Parameters
    ----------
    comm : Communicator
        The workers.
    requests : list of array, each of shape (m, 256)
        Examples, on every rank.

    Returns
    -------
    Answers
        The same on every rank.
    """
    mine = split_in_pairs(comm, CHAIN)
    w = mine.initial()
    answers = Answers({}, {}, {})
    comm.barrier()
    for k, request in enumerate(requests):
        answers.begun_s[k] = comm.clock()
        answers.outputs[k] = mine.outputs(w, request)
        answers.done_s[k] = comm.clock()
    return answers


_WAYS: dict[str, Callable[[Communicator, list[Array]], Answers]] = {
    "replicas": lambda comm, requests: serve_replicas(comm, CHAIN, CHAIN.initial_of, requests),
    "stages": lambda comm, requests: serve_stages(
        comm, CHAIN, CHAIN.initial_of, requests, [8 // comm.size] * comm.size
    ),
    "split layers": serve_split,
}


@dataclass(frozen=True)
class Served:
    """Requests that are all there at the beginning, and their answers.

    Attributes
    ----------
    way : str
        How the workers divide the work.
    trace : Trace
        What happened.
    answers : list of Answers
        By rank.
    """

    way: str
    trace: Trace
    answers: list[Answers]

    @property
    def service(self) -> Service:
        """Latency and throughput."""
        return service(self.answers)

    @property
    def outputs(self) -> dict[int, Array]:
        """What the model makes of each request."""
        return {k: y for answer in self.answers for k, y in answer.outputs.items()}

    def player(self) -> Player:
        """Play it: a cell for each request, full where it has been computed."""
        per_second, latency_ms = self.service.per_second, 1e3 * self.service.latency_s
        return player(
            self.trace, "line", contributions=self.contributions, moments=4,
            title=f"{self.way}: the first answer after {latency_ms:.3g} ms, "
            f"then {per_second:,.0f} a second",
        )  # fmt: skip

    @property
    def contributions(self) -> Contributions:
        """Which requests each rank has computed and not handed on."""
        full, nothing = (1,), (0,)
        n_requests = len(self.outputs)
        fills = []
        for span in self.trace.computes:
            request = int(span.label.split()[-1])
            fills.append(Fill(span.rank, request, full, span.end_s))
        for message in self.trace.messages:
            if isinstance(message.tag, int):
                fills.append(Fill(message.src, message.tag, nothing, message.sent_s))
        fills.sort(key=lambda fill: (fill.time_s, fill.counts == nothing))
        held: list[list[Counts]] = [[nothing] * n_requests for _ in range(self.trace.size)]
        carried: list[dict[int, Counts]] = [
            {message.tag: full} if isinstance(message.tag, int) else {}
            for message in self.trace.messages
        ]
        return Contributions([1] * n_requests, held, carried, fills, "request")


@lru_cache
def served(way: str, workers: int = 4, network: str = "1 Gbit/s", requests: int = 8) -> Served:
    """Answer requests in virtual time.

    Parameters
    ----------
    way : {"replicas", "stages", "split layers"}
        How the workers divide the work.
    workers : {1, 2, 4, 8}, default: 4
        How many.
    network : str, default: "1 Gbit/s"
        In ``NETWORKS``.
    requests : int, default: 8
        How many, of four examples each.

    Returns
    -------
    Served
        The run.
    """
    rng = np.random.default_rng(0)
    asked = [rng.normal(size=(EXAMPLES, 256)) for _ in range(requests)]
    made: Any = run(
        _WAYS[way], asked, workers=workers, backend="simulated", network=network_of(network)
    )
    return Served(way, made.trace, made.values)


def price_sheet(workers: int = 4) -> Table:
    """Lay out what an answer costs: one worker, replicas, stages, split layers.

    Parameters
    ----------
    workers : {2, 4, 8}, default: 4
        How many.

    Returns
    -------
    Table
        For each way the parameters that a rank holds, messages and bytes of a request, and the
        latency of one and how many are answered in a second, on two networks.
    """
    ways = {"one worker": ("replicas", 1), "replicas": ("replicas", workers),
            "stages": ("stages", workers), "split layers": ("split layers", workers)}  # fmt: skip
    rows = {}
    for name, (way, n) in ways.items():
        slow = served(way, n)
        requests = len(slow.outputs)
        row: dict[str, Any] = {
            "parameters a rank": _parameters_a_rank(way, n),
            "messages a request": slow.trace.n_messages // requests,
            "bytes a request": f"{slow.trace.n_bytes // requests:,}",
        }
        for network in ("1 Gbit/s", "NVLink"):
            found = served(way, n, network).service
            row[f"ms, {network}"] = f"{1e3 * found.latency_s:.3g}"
            row[f"a second, {network}"] = round(found.per_second)
        rows[f"{n} {name}" if n > 1 else name] = row
    return table(rows)


def _parameters_a_rank(way: str, workers: int) -> int:
    """Count what a rank holds: split by rows, a layer has its whole bias on every rank."""
    if way != "split layers":
        return CHAIN.n_parameters // (workers if way == "stages" else 1)
    held: list[int] = run(
        lambda comm: split_in_pairs(comm, CHAIN).n_parameters, workers=workers, backend="simulated"
    ).values
    return max(held)


def latency_table(workers: int = 4) -> Table:
    """Lay out how long a single request takes, for each way and on each network.

    Parameters
    ----------
    workers : {2, 4, 8}, default: 4
        How many.

    Returns
    -------
    Table
        Milliseconds.
    """
    return table({
        f"{way}, {workers} workers": {
            f"{name}, ms": f"{1e3 * served(way, workers, name).service.latency_s:,.3g}"
            for name in NETWORKS
        }
        for way in _WAYS
    })  # fmt: skip
