"""Circles of those who wait for each other: the smallest of every tangle, in every world."""

from collections import deque
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator
from typing import TypeVar

__all__ = ["find_circles"]

Node = TypeVar("Node", bound=Hashable)
Edges = dict[Node, Collection[Node]]


def find_circles(
    waiting: Iterable[Node], awaited: Callable[[Node], Collection[Node]]
) -> list[list[Node]]:
    """Find the smallest circle in which each waits for the next, and those apart from it.

    Of those that wait for each other, perhaps by others, one circle is enough.

    Parameters
    ----------
    waiting : iterable of hashable
        Who waits, in the order that decides between circles of one length.
    awaited : callable
        For whom one of them waits: others that wait. Called once for each that is met.

    Returns
    -------
    list of list of hashable
        The circles, the smallest first, each from the first of it on.

    Examples
    --------
    >>> find_circles(range(5), {0: [1], 1: [2, 3], 2: [0], 3: [1], 4: [4]}.get)
    [[4], [1, 3]]
    """
    order = list(waiting)
    edges: Edges[Node] = {}
    circles = []
    for tangle in _tangles(order, awaited, edges):
        inside = set(tangle)
        circle = _smallest([node for node in order if node in inside] or tangle, edges, inside)
        circles += [circle] if circle else []
    place = {node: number for number, node in enumerate(order)}
    return sorted(circles, key=lambda circle: (len(circle), place.get(circle[0], len(order))))


def _tangles(
    starts: Iterable[Node], awaited: Callable[[Node], Collection[Node]], edges: Edges[Node]
) -> Iterator[list[Node]]:
    """Yield the strongly connected components, and fill in the edges that were followed.

    References
    ----------
    H. N. Gabow, "Path-based depth-first search for strong and biconnected components", Information
    Processing Letters 74, 2000.
    """
    numbers: dict[Node, int] = {}
    closed: set[Node] = set()
    path: list[Node] = []  # what belongs to no component yet
    roots: list[Node] = []  # of it, the first of each component as far as is known
    ahead: list[tuple[Node, Iterator[Node]]] = []

    def visit(node: Node) -> None:
        numbers[node] = len(numbers)
        edges[node] = awaited(node)
        path.append(node)
        roots.append(node)
        ahead.append((node, iter(edges[node])))

    for start in starts:
        if start not in numbers:
            visit(start)
        while ahead:
            node, peers = ahead[-1]
            for peer in peers:
                if peer not in numbers:
                    visit(peer)
                    break
                while peer not in closed and numbers[roots[-1]] > numbers[peer]:
                    roots.pop()
            else:
                ahead.pop()
                if roots[-1] == node:
                    roots.pop()
                    first = path.index(node)
                    closed.update(path[first:])
                    yield path[first:]
                    del path[first:]


def _smallest(nodes: list[Node], edges: Edges[Node], inside: set[Node]) -> list[Node] | None:
    """Return the smallest circle of a tangle, the first of several; None of one that is alone."""
    smallest = None
    most = len(inside)
    for start in nodes:
        way = _way_back(start, edges, inside, most)
        if way:
            smallest, most = way, len(way) - 1
    return smallest


def _way_back(
    start: Node, edges: Edges[Node], inside: Container[Node], most: int
) -> list[Node] | None:
    """Return the shortest way from one back to it, within a tangle, of so many at most."""
    before: dict[Node, Node] = {}
    queue = deque([(start, 1)])
    while queue:
        node, length = queue.popleft()
        if length > most:
            return None
        for peer in edges[node]:
            if peer == start:
                way = [node]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if peer in inside and peer not in before:
                before[peer] = node
                queue.append((peer, length + 1))
    return None
