"""A dataflow graph: what is computed from what, before anybody says where.

A node is an operation with one result. The edges are its inputs: the results of other nodes. A
*placement* names a worker for every node, and with that it is settled which results have to travel,
and to whom: once to each worker that needs them, however many nodes there do. Nobody writes a send
or a receive.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from numbers import Real
from typing import Any, NamedTuple

from course_lib.words.whole import whole

__all__ = ["Graph", "Node", "Placement", "Transfer"]

Placement = Mapping[str, int]
"""The rank that each node is placed on, by the node's name."""

_MOST_BYTES = 2**63 - 1
"""Of an array, on any computer."""


@dataclass(frozen=True)
class Node:
    """One operation.

    Attributes
    ----------
    name : str
        What it is called by those that use its result, and by messages, tables and timelines.
    inputs : tuple of str, default: ()
        The names of the nodes whose results ``fn`` is called with, in this order.
    fn : callable or None, default: None
        Computes the result. It may keep its arguments, and must not change them: they may be on
        their way to another worker. None makes a node of which only the sizes are known, or one
        that is fed.
    flops : float, default: 0.0
        Floating-point operations, for virtual time and for predictions.
    n_bytes : int, default: 0
        The size of its result: what a node without ``fn`` sends, and what predictions go by.

    Raises
    ------
    TypeError, ValueError
        If a number is none of its kind, naming the node.
    """

    name: str
    inputs: tuple[str, ...] = ()
    fn: Callable[..., Any] | None = None
    flops: float = 0.0
    n_bytes: int = 0

    def __post_init__(self) -> None:
        """Check every part once."""
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"name must be a str with a letter or more, got {self.name!r}")
        if isinstance(self.inputs, str):
            raise TypeError(
                f"inputs of {self.name!r} must be names in a tuple, got {self.inputs!r}; "
                f"write ({self.inputs!r},)"
            )
        if not isinstance(self.inputs, Iterable):
            raise TypeError(f"inputs of {self.name!r} must be a tuple, got {self.inputs!r}")
        object.__setattr__(self, "inputs", tuple(self.inputs))
        for name in self.inputs:
            if not isinstance(name, str):
                raise TypeError(f"inputs of {self.name!r} must be names of nodes, got {name!r}")
        if not (self.fn is None or callable(self.fn)):
            raise TypeError(f"fn of {self.name!r} must be callable or None, got {self.fn!r}")
        if isinstance(self.flops, bool) or not isinstance(self.flops, Real):
            raise TypeError(f"flops of {self.name!r} must be a number, got {self.flops!r}")
        if not 0 <= self.flops < math.inf:
            raise ValueError(
                f"flops of {self.name!r} must be 0 or more and finite, got {self.flops!r}"
            )
        object.__setattr__(
            self, "n_bytes", whole(f"n_bytes of {self.name!r}", self.n_bytes, 0, _MOST_BYTES)
        )


class Transfer(NamedTuple):
    """One message that a placement asks for: a result, on its way to a worker that needs it.

    Attributes
    ----------
    node : Node
        Whose result.
    src, dst : int
        From which rank to which.
    users : tuple of str
        The nodes there that use it.
    """

    node: Node
    src: int
    dst: int
    users: tuple[str, ...]


class Graph:
    """Nodes and what they use, in an order in which they can be computed.

    Parameters
    ----------
    nodes : iterable of Node
        All of them, in any order. Where several could be computed next, the first named is: so the
        order of the list is the order of the work on every worker.

    Attributes
    ----------
    nodes : dict of str to Node
        By name, each after all that it uses.
    users : dict of str to tuple of str
        The nodes that use each node's result, in order.

    Raises
    ------
    TypeError, ValueError
        If something is no node, two have one name, an input is unknown, or nodes wait for each
        other in a circle.

    Examples
    --------
    >>> graph = Graph([Node("y", ("x",), flops=4e6), Node("x", n_bytes=800)])
    >>> list(graph.nodes), graph.users["x"]
    (['x', 'y'], ('y',))
    >>> graph.transfers({"x": 0, "y": 1})[0][1:]
    (0, 1, ('y',))
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        if not isinstance(nodes, Iterable):
            raise TypeError(f"nodes must hold nodes, as a list does, got {nodes!r}")
        given: dict[str, Node] = {}
        for node in nodes:
            if not isinstance(node, Node):
                raise TypeError(f"nodes must hold Node only, got {node!r}")
            if node.name in given:
                raise ValueError(f"nodes must have different names, got {node.name!r} twice")
            given[node.name] = node
        for node in given.values():
            for name in node.inputs:
                if name not in given:
                    raise ValueError(f"inputs of {node.name!r} must be nodes, got {name!r}")
        users: dict[str, list[str]] = {name: [] for name in given}
        self.nodes = _in_order(given)
        for node in self.nodes.values():
            for name in dict.fromkeys(node.inputs):
                users[name].append(node.name)
        self.users = {name: tuple(used_by) for name, used_by in users.items()}

    def __repr__(self) -> str:
        """Count nodes and edges."""
        return f"Graph({len(self.nodes)} nodes, {sum(map(len, self.users.values()))} edges)"

    @property
    def results(self) -> tuple[str, ...]:
        """The nodes whose result no other node uses."""
        return tuple(name for name, used_by in self.users.items() if not used_by)

    def check_placement(self, placement: Placement, workers: int) -> None:
        """Refuse a placement that leaves a node out, or names what is not there.

        Parameters
        ----------
        placement : mapping of str to int
            The rank of each node.
        workers : int
            How many ranks there are.

        Raises
        ------
        TypeError, ValueError
            Naming the node, what was expected and what was given.
        """
        if not isinstance(placement, Mapping):
            raise TypeError(f"placement must map every node to a rank, got {placement!r}")
        for name in self.nodes:
            if name not in placement:
                raise ValueError(f"placement must have every node, but leaves out {name!r}")
        for name, rank in placement.items():
            if name not in self.nodes:
                raise ValueError(f"placement must have nodes only, but {name!r} is none")
            whole(f"placement of {name!r}", rank, 0, workers - 1)

    def transfers(self, placement: Placement) -> list[Transfer]:
        """List the messages that a placement asks for.

        Parameters
        ----------
        placement : mapping of str to int
            The rank of each node.

        Returns
        -------
        list of Transfer
            In the order of the nodes, and for each in the order of the ranks that need it; one for
            each of them.
        """
        found = []
        for node in self.nodes.values():
            src, needed_by = placement[node.name], dict[int, list[str]]()
            for user in self.users[node.name]:
                if placement[user] != src:
                    needed_by.setdefault(placement[user], []).append(user)
            found += [Transfer(node, src, dst, tuple(needed_by[dst])) for dst in sorted(needed_by)]
        return found


def _in_order(given: dict[str, Node]) -> dict[str, Node]:
    """Put every node after those it uses; among those that could be next, the first named."""
    names = list(given)
    number = {name: k for k, name in enumerate(names)}
    open_inputs = {name: len(set(node.inputs)) for name, node in given.items()}
    used_by: dict[str, list[str]] = {name: [] for name in names}
    for name, node in given.items():
        for used in set(node.inputs):
            used_by[used].append(name)
    ready = [number[name] for name in names if not open_inputs[name]]
    heapify(ready)
    ordered: dict[str, Node] = {}
    while ready:
        name = names[heappop(ready)]
        ordered[name] = given[name]
        for user in used_by[name]:
            open_inputs[user] -= 1
            if not open_inputs[user]:
                heappush(ready, number[user])
    if len(ordered) < len(given):
        raise ValueError(f"nodes must not wait for each other, but {_circle(given, ordered)}")
    return ordered


def _circle(given: dict[str, Node], ordered: dict[str, Node]) -> str:
    """Name the nodes of one circle: walk from any that is stuck to one that it waits for."""
    name = next(name for name in given if name not in ordered)
    way: list[str] = []
    while name not in way:
        way.append(name)
        name = next(used for used in given[name].inputs if used not in ordered)
    circle = [*way[way.index(name) :], name]
    return " uses ".join(map(repr, circle))
