"""A module's operations on two workers: which edges are cut, and who waits for what."""

from dataclasses import replace
from typing import Any

from course_lib.comm.launch import run
from course_lib.comm.simulated import networks
from course_lib.comm.simulated.network import Network
from course_lib.lectures.lecture_13.module import BRANCHES, inception
from course_lib.planning.cut import cut
from course_lib.planning.executor import execute
from course_lib.planning.graph import Graph, Placement
from course_lib.trace.trace import Trace
from course_lib.words.units import in_bytes, in_seconds

__all__ = ["NETWORKS", "STARTS", "by_node", "in_words", "moved", "run_placed", "stage"]

_GPU_FLOPS_PER_S = 1e13


def _of_gpus(network: Network) -> Network:
    return replace(network, flops_per_s=_GPU_FLOPS_PER_S)


NETWORKS = {
    "10 Gbit/s": _of_gpus(networks.ethernet_10g),
    "100 Gbit/s": _of_gpus(networks.ethernet_100g),
    "NVLink": _of_gpus(networks.nvlink_4),
}
"""What connects workers of 10 Tflop/s each."""

_NODES = tuple(inception(1).nodes)

STARTS: dict[str, dict[str, int]] = {
    "all on worker 0": dict.fromkeys(_NODES, 0),
    "branch c on worker 1": {name: int(name.startswith("c")) for name in _NODES},
    "b and d on worker 1": {name: int(name[0] in "bdp") for name in _NODES},
}
"""Placements to begin with."""


def moved(start: str, node: str) -> dict[str, int]:
    """Move one node to the other worker.

    Parameters
    ----------
    start : str
        A name of ``STARTS``.
    node : str
        The node, or "none".

    Returns
    -------
    dict of str to int
        The rank of each node.
    """
    placement = STARTS[start]
    return placement | {node: 1 - placement[node]} if node in placement else dict(placement)


def run_placed(graph: Graph, placement: Placement, network: Network, workers: int = 2) -> Trace:
    """Run a placed graph in virtual time.

    Parameters
    ----------
    graph : Graph
        What to compute.
    placement : mapping of str to int
        The rank of each node.
    network : Network
        What connects the workers.
    workers : int, default: 2
        How many.

    Returns
    -------
    Trace
        What happened.
    """
    return run(
        execute, graph, placement, workers=workers, backend="simulated", network=network
    ).trace  # fmt: skip


def in_words(graph: Graph, placement: Placement, network: Network, workers: int = 2) -> str:
    """Say what a placement costs: makespan, messages, bytes, and how long workers are idle.

    Parameters
    ----------
    graph : Graph
        What is computed.
    placement : mapping of str to int
        The worker of each node.
    network : Network
        Between the workers.
    workers : int, default: 2
        How many there are.

    Returns
    -------
    str
        One line.
    """
    found = cut(graph, placement, workers, network)
    idle = ", ".join(f"{idle_s / found.forecast.makespan_s:.0%}" for idle_s in found.idle_s)
    n = len(found.crossing)
    return (
        f"{in_seconds(found.forecast.makespan_s)}; {n} message{'s' * (n != 1)}, "
        f"{in_bytes(found.n_bytes)}; idle: {idle}"
    )


def by_node(graph: Graph, trace: Trace) -> Trace:
    """See a run by nodes: each computes once, and what crosses goes from node to node.

    Parameters
    ----------
    graph : Graph
        What was computed.
    trace : Trace
        The run of a placement.

    Returns
    -------
    Trace
        A "rank" for each node, in the order of the graph. A message goes to the first node there
        that uses it.
    """
    number = {name: k for k, name in enumerate(graph.nodes)}
    placement = {span.label: span.rank for span in trace.computes}
    first_user = {(sent.node.name, sent.dst): sent.users[0] for sent in graph.transfers(placement)}
    return Trace(
        trace.backend, trace.clock, len(number),
        messages=[
            m._replace(tag=None, src=number[m.tag], dst=number[first_user[m.tag, m.dst]])
            for m in trace.messages if isinstance(m.tag, str)
        ],
        computes=[
            span._replace(rank=number[span.label], label=f"on worker {span.rank}")
            for span in trace.computes
        ],
    )  # fmt: skip


def stage(graph: Graph, placement: Placement) -> dict[str, Any]:
    """Say how ``player`` shows a run by nodes: a frame for each worker, a box for each node.

    Parameters
    ----------
    graph : Graph
        A module of ``inception``.
    placement : mapping of str to int
        The rank of each node, 0 or 1: worker 0 is above.

    Returns
    -------
    dict of str to Any
        Arguments of ``player``: a node stands behind what it uses, in the row of its branch.
    """
    column: dict[str, int] = {}
    for name, node in graph.nodes.items():
        column[name] = max((column[used] + 1 for used in node.inputs), default=0)
    row = {letter: float(k) for k, letter in enumerate(BRANCHES)}
    row |= {"x": 1.5, "p": row["d"], "j": 1.5}  # "p" is pool, "j" is join
    names = list(graph.nodes)
    return {
        "places": [(column[name], row[name[0]] + 4.6 * placement[name]) for name in names],
        "hosts": [
            [k for k, name in enumerate(names) if placement[name] == rank] for rank in (0, 1)
        ],
        "roles": dict(enumerate(names)),
        "moments": 3,
    }
