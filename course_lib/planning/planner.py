"""Which placement is done first: all of them tried, or one built node by node.

Finding the best placement is NP-hard, so for more than a few nodes one that is good has to do.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from course_lib.comm.simulated.network import Network, check_network
from course_lib.planning.graph import Graph
from course_lib.planning.prediction import predict
from course_lib.words.whole import whole

__all__ = ["Planned", "plan", "plan_by_list", "plan_exhaustively"]

MOST_PLACEMENTS = 20_000
"""At most so many are tried where ranks are equally fast, each in about 0.1 ms for ten nodes; where
they are not, P times as many: there it matters on which rank the first node is."""

MOST_WORKERS = 10_000
"""As many as a run can have."""


class Planned(NamedTuple):
    """A placement, and what is predicted of it.

    Attributes
    ----------
    placement : dict of str to int
        The rank of each node.
    makespan_s : float
        When the last worker will be done, in seconds.
    """

    placement: dict[str, int]
    makespan_s: float


def plan(graph: Graph, network: Network, workers: int) -> Planned:
    """Choose a placement: the best one where all can be tried, else a good one.

    Parameters
    ----------
    graph : Graph
        What is to be computed; its nodes' ``flops`` and ``n_bytes`` are used.
    network : Network
        One in which any two ranks are connected alike.
    workers : int
        How many ranks there are; perhaps not all are used.

    Returns
    -------
    Planned
        The placement, and its makespan.

    Examples
    --------
    >>> from course_lib import networks
    >>> from course_lib.planning.graph import Node
    >>> halves = [Node(name, ("x",), flops=1e9, n_bytes=8) for name in ("left", "right")]
    >>> graph = Graph([Node("x", n_bytes=80_000), *halves, Node("sum", ("left", "right"))])
    >>> placement, seconds = plan(graph, networks.ethernet_1g, workers=2)
    >>> placement, round(seconds, 4)
    ({'x': 0, 'left': 0, 'right': 1, 'sum': 1}, 0.1007)
    """
    workers = _useful(graph, network, workers)
    if workers ** max(len(graph.nodes) - 1, 0) <= MOST_PLACEMENTS:
        return plan_exhaustively(graph, network, workers)
    return plan_by_list(graph, network, workers)


def plan_exhaustively(graph: Graph, network: Network, workers: int) -> Planned:
    """Try every placement, and take the first of those that are done first.

    Parameters
    ----------
    graph : Graph
        What is to be computed.
    network : Network
        One in which any two ranks are connected alike.
    workers : int
        How many ranks there are.

    Returns
    -------
    Planned
        No other placement has a shorter makespan.

    Raises
    ------
    ValueError
        If there are too many to try.

    Notes
    -----
    Cost: at most P^n predictions for n nodes. Where all ranks are equally fast, which is which
    does not matter: a node goes to a rank that has one already, or to the next one. And whoever is
    busy for longer than the best placement so far takes is not predicted.
    """
    workers = _useful(graph, network, workers)
    if workers ** max(len(graph.nodes) - 1, 0) > MOST_PLACEMENTS:
        raise ValueError(
            f"graph must be small enough to try every placement: {len(graph.nodes)} nodes on "
            f"{workers} workers have more than {MOST_PLACEMENTS:,}; take plan_by_list"
        )
    speeds = network.speeds(workers)
    best = Planned({}, float("inf"))
    for ranks in _all_placements(len(graph.nodes), workers, alike=len(set(speeds)) == 1):
        busy_s = [0.0] * workers
        for node, rank in zip(graph.nodes.values(), ranks, strict=True):
            busy_s[rank] += node.flops / speeds[rank]
        if max(busy_s) >= best.makespan_s:
            continue
        placement = dict(zip(graph.nodes, ranks, strict=True))
        makespan_s = predict(graph, placement, network, workers).makespan_s
        if makespan_s < best.makespan_s:
            best = Planned(placement, makespan_s)
    return best


def _all_placements(n_nodes: int, workers: int, *, alike: bool) -> Iterator[tuple[int, ...]]:
    """Yield the ranks of the nodes; where ranks are alike, each way to group nodes once."""
    if not alike:
        yield from product(range(workers), repeat=n_nodes)
        return

    def following(ranks: tuple[int, ...], n_used: int) -> Iterator[tuple[int, ...]]:
        if len(ranks) == n_nodes:
            yield ranks
            return
        for rank in range(min(n_used + 1, workers)):
            yield from following((*ranks, rank), max(n_used, rank + 1))

    yield from following((), 0)


def plan_by_list(graph: Graph, network: Network, workers: int) -> Planned:
    """Place the most urgent node first, each where it is done earliest.

    A node is the more urgent, the longer the way from it to the end: all computing, and all
    messages as if every edge crossed. Each rank is tried for it, together with what has been placed
    so far, and it stays where it is done first. At the end single nodes move as long as that helps.

    Parameters
    ----------
    graph : Graph
        What is to be computed.
    network : Network
        One in which any two ranks are connected alike.
    workers : int
        How many ranks there are.

    Returns
    -------
    Planned
        A placement, rarely much worse than the best one.

    Notes
    -----
    Cost: n P predictions of parts of the graph, and n (P - 1) for each round of moves.

    References
    ----------
    H. Topcuoglu, S. Hariri and M.-Y. Wu, "Performance-effective and low-complexity task scheduling
    for heterogeneous computing", IEEE Transactions on Parallel and Distributed Systems 13(3), 2002
    (HEFT). There a worker computes in the order of urgency; here in that of the graph, as
    ``execute`` does.
    """
    workers = _useful(graph, network, workers)
    placement: dict[str, int] = {}
    for name in _by_urgency(graph, network, workers):
        done_s = []
        for rank in range(workers):
            tried = placement | {name: rank}
            so_far = Graph(node for node in graph.nodes.values() if node.name in tried)
            done_s.append(predict(so_far, tried, network, workers).finished_s[name])
        placement[name] = done_s.index(min(done_s))
    placement = {name: placement[name] for name in graph.nodes}
    return _with_moves(graph, placement, network, workers)


def _useful(graph: Graph, network: Network, workers: int) -> int:
    """Return how many ranks are worth a try: of those that are alike, no more than nodes."""
    workers = whole("workers", workers, 1, MOST_WORKERS)
    check_network(network)
    is_one_number = isinstance(network.flops_per_s, int | float)  # else there is one for each rank
    are_alike = is_one_number and len(set(network.speeds(workers))) == 1 and network.is_star
    return min(workers, max(len(graph.nodes), 1)) if are_alike else workers


def _by_urgency(graph: Graph, network: Network, workers: int) -> list[str]:
    """Sort nodes by the longest way to the end; a node comes before those that use it."""
    mean_s_per_flop = sum(1 / speed for speed in network.speeds(workers)) / workers
    left_s: dict[str, float] = {}
    for node in reversed(graph.nodes.values()):
        message_s = network.latency_s + node.n_bytes * network.beta_s_per_byte
        after_s = max((message_s + left_s[user] for user in graph.users[node.name]), default=0.0)
        left_s[node.name] = node.flops * mean_s_per_flop + after_s
    return sorted(graph.nodes, key=lambda name: -left_s[name])


def _with_moves(graph: Graph, placement: dict[str, int], network: Network, workers: int) -> Planned:
    """Move one node at a time to another rank, as long as the makespan gets shorter by that."""
    best = Planned(placement, predict(graph, placement, network, workers).makespan_s)
    improved = True
    while improved:
        improved = False
        for name in graph.nodes:
            for rank in set(range(workers)) - {best.placement[name]}:
                moved = best.placement | {name: rank}
                makespan_s = predict(graph, moved, network, workers).makespan_s
                if makespan_s < best.makespan_s:
                    best, improved = Planned(moved, makespan_s), True
    return best
