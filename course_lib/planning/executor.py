"""Run a dataflow graph on the workers that its nodes are placed on.

Every worker walks through its own nodes, in the order of the graph. Where an edge crosses from one
worker to another, a send stands behind the node and a receive before its user: nobody has written
them, they follow from the placement.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.pending import Pending
from course_lib.planning.graph import Graph, Node, Placement

__all__ = ["execute"]


def execute(
    comm: Communicator,
    graph: Graph,
    placement: Placement,
    feeds: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Compute a graph, each node where it is placed; all ranks call it alike.

    All receives are posted before anybody begins. So no message ever waits for its receive, small
    or large, and each travels while both sides compute. A worker waits where it comes to a node
    whose input is not there yet, and nowhere else.

    Parameters
    ----------
    comm : Communicator
        The workers.
    graph : Graph
        What to compute.
    placement : mapping of str to int
        The rank of each node.
    feeds : mapping of str to array or None, default: None
        The results of nodes that have neither ``fn`` nor inputs. A worker needs those of its own
        nodes only.

    Returns
    -------
    dict of str to Any
        The results of this worker's nodes that no other node uses.

    Raises
    ------
    TypeError, ValueError
        If the placement leaves a node out or names a missing worker, or a feed is missing or is for
        no such node; nothing has been sent then.

    Notes
    -----
    Cost: one message for each node and each other rank that uses its result, of its size; its tag
    is the node's name. A barrier. What a worker has computed or received it holds to the end: no
    result is let go when its last user is done.

    Invariant: who waits, waits for a node with a smaller number than its own, in one order of all
    nodes. Of all that wait, the one with the smallest number waits for a node that is being
    computed or has been sent: somebody can always go on, and there is no deadlock.

    References
    ----------
    M. Abadi, P. Barham, J. Chen et al., "TensorFlow: a system for large-scale machine learning",
    OSDI 2016, section 3.3 (send and receive where an edge crosses devices).

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> square = Node("square", ("x",), fn=np.square, flops=3)
    >>> total = Node("total", ("square", "x"), fn=lambda a, b: (a + b).sum(), flops=6)
    >>> graph, feeds = Graph([Node("x"), square, total]), {"x": np.arange(3.0)}
    >>> run(execute, graph, {"x": 0, "square": 1, "total": 0}, feeds,
    ...     workers=2, backend="simulated").values
    [{'total': np.float64(8.0)}, {}]
    """
    feeds = {} if feeds is None else feeds
    graph.check_placement(placement, comm.size)
    _check_feeds(graph, placement, feeds, comm.rank)
    coming: dict[str, Pending[Any]] = {}
    needed_by: dict[str, list[int]] = {name: [] for name in graph.nodes}
    for node, src, dst, _ in graph.transfers(placement):
        needed_by[node.name].append(dst)
        if dst == comm.rank:
            coming[node.name] = comm.irecv(src, tag=node.name)
    comm.barrier()

    values: dict[str, Any] = {}
    leaving = []
    for node in graph.nodes.values():
        if placement[node.name] != comm.rank:
            continue
        for name in node.inputs:
            if name not in values:
                values[name] = coming[name].wait()
        with comm.compute(node.name, flops=node.flops):
            values[node.name] = _result(node, [values[name] for name in node.inputs], feeds)
        leaving += [
            comm.isend(values[node.name], dst, tag=node.name) for dst in needed_by[node.name]
        ]
    for message in leaving:
        message.wait()
    return {name: values[name] for name in graph.results if placement[name] == comm.rank}


def _result(node: Node, arguments: list[Any], feeds: Mapping[str, Any]) -> Any:
    """Compute a node; one without ``fn`` is what it was fed, or so many bytes of zeros."""
    if node.fn is not None:
        return node.fn(*arguments)
    return feeds[node.name] if node.name in feeds else np.zeros(node.n_bytes, np.uint8)


def _check_feeds(graph: Graph, placement: Placement, feeds: Mapping[str, Any], rank: int) -> None:
    for name in feeds:
        node = graph.nodes.get(name)
        if node is None or node.fn is not None or node.inputs:
            raise ValueError(f"feeds must be for nodes without fn and inputs, got {name!r}")
    for name, node in graph.nodes.items():
        is_known = node.fn is not None or node.n_bytes or name in feeds
        if placement[name] == rank and graph.users[name] and not is_known:
            raise ValueError(
                f"feeds must have {name!r}, which has neither fn nor n_bytes; got {sorted(feeds)}"
            )
