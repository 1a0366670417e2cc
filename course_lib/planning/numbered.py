"""Graphs of numbered nodes, as the exercises have them, run by the library in virtual time."""

from collections.abc import Sequence

import numpy as np

from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network
from course_lib.planning.executor import execute
from course_lib.planning.graph import Graph, Node
from course_lib.planning.planner import plan_by_list
from course_lib.trace.trace import Trace

__all__ = [
    "broken_cutters",
    "cut_edges",
    "equal_messages",
    "graph_of",
    "list_ranks",
    "random_nodes",
    "run_ranks",
]

Inputs = tuple[tuple[int, ...], ...]


def graph_of(inputs: Inputs, us: Sequence[int]) -> Graph:
    """Make a graph of numbered nodes.

    Parameters
    ----------
    inputs : tuple of tuple of int
        By node the nodes that it uses; they have smaller numbers.
    us : sequence of int
        How many microseconds each computes.

    Returns
    -------
    Graph
        Nodes "0", "1", and so on.
    """
    return Graph(
        Node(str(k), tuple(map(str, used)), flops=float(us[k]), n_bytes=8)
        for k, used in enumerate(inputs)
    )


def equal_messages(message_us: int) -> Network:
    """Make a network on which every message takes equally long, and ranks of a Mflop/s."""
    return Network("equal messages", message_us * 1e-6, float("inf"), 1e6)


def run_ranks(
    inputs: Inputs, us: Sequence[int], ranks: Sequence[int], n_workers: int, message_us: int
) -> Trace:
    """Run numbered nodes on their workers, in virtual time.

    Parameters
    ----------
    inputs : tuple of tuple of int
        By node the nodes that it uses.
    us : sequence of int
        How long each computes.
    ranks : sequence of int
        The worker of each.
    n_workers : int
        How many workers there are.
    message_us : int
        How long every message takes.

    Returns
    -------
    Trace
        What happened.
    """
    placement = {str(k): rank for k, rank in enumerate(ranks)}
    return run(
        execute, graph_of(inputs, us), placement,
        workers=n_workers, backend="simulated", network=equal_messages(message_us),
    ).trace  # fmt: skip


def list_ranks(inputs: Inputs, us: Sequence[int], n_workers: int, message_us: int) -> list[int]:
    """Place numbered nodes by the library's list scheduler; see ``plan_by_list``."""
    planned = plan_by_list(graph_of(inputs, us), equal_messages(message_us), n_workers)
    return list(planned.placement.values())


def random_nodes(seed: int, n_nodes: int, edges: float = 0.4) -> tuple[Inputs, tuple[int, ...]]:
    """Draw a graph: what each node uses, and how long it computes, in tens of microseconds.

    Parameters
    ----------
    seed : int
        The same graph for the same number.
    n_nodes : int
        How many nodes.
    edges : float, default: 0.4
        How likely a node uses one before it.

    Returns
    -------
    inputs : tuple of tuple of int
        By node the nodes that it uses.
    us : tuple of int
        How long each computes.
    """
    rng = np.random.default_rng([seed, n_nodes, 13])
    inputs = tuple(tuple(j for j in range(k) if rng.random() < edges) for k in range(n_nodes))
    return inputs, tuple(10 * int(us) for us in rng.integers(1, 10, size=n_nodes))


def cut_edges(inputs: Inputs, ranks: Sequence[int]) -> list[tuple[int, int, int]]:
    """List the edges whose ends are on different workers.

    Parameters
    ----------
    inputs : tuple of tuple of int
        By node the nodes that it uses.
    ranks : sequence of int
        The worker of each.

    Returns
    -------
    list of (int, int, int)
        The node that is used, its worker, and that of the node which uses it, in the order of the
        latter.
    """
    return [
        (used, ranks[used], ranks[k])
        for k, before in enumerate(inputs)
        for used in before
        if ranks[used] != ranks[k]
    ]


def broken_cutters(inputs: Inputs, ranks: Sequence[int]) -> dict[str, list[tuple[int, int, int]]]:
    """List what three programs send that are to insert the messages of a placement.

    Parameters
    ----------
    inputs : tuple of tuple of int
        By node the nodes that it uses.
    ranks : sequence of int
        The worker of each.

    Returns
    -------
    dict of str to list of (int, int, int)
        By the program's name its messages: node, from which worker, to which. "by node" sends a
        result to one other worker only, "by edge" once for every edge, "to all" to everybody.
    """
    cut = cut_edges(inputs, ranks)
    first = {node: (node, src, dst) for node, src, dst in reversed(cut)}
    workers = range(max(ranks) + 1)
    used = sorted({node for node, _, _ in cut})
    return {
        "by node": [first[node] for node in sorted(first)],
        "by edge": cut,
        "to all": [(n, ranks[n], dst) for n in used for dst in workers if dst != ranks[n]],
    }
