"""What a placement cuts: the edges that cross, their bytes, and who is idle for how long."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course_lib.comm.simulated.networks import DEFAULT, Network
from course_lib.models.chain import Chain
from course_lib.planning.chain_graph import chain_step, place_layers
from course_lib.planning.graph import Graph, Placement, Transfer
from course_lib.planning.prediction import Forecast, predict
from course_lib.words.tables import as_html, as_text
from course_lib.words.units import in_bytes, in_seconds
from course_lib.words.whole import whole

__all__ = ["Cut", "cut"]

_EDGES = ("crosses", "from", "to", "bytes", "used by")
_WORKERS = ("worker", "nodes", "computes", "idle", "sends", "receives")


@dataclass(frozen=True)
class Cut:
    """A placed graph, seen from where it is cut; it draws itself.

    Attributes
    ----------
    graph : Graph
        What is computed.
    placement : dict of str to int
        The rank of each node.
    network : Network
        What connects the ranks.
    crossing : tuple of Transfer
        The results that travel, in the order of the nodes: one message each in every step.
    forecast : Forecast
        When everything is done, and how long each worker computes and is idle.
    """

    graph: Graph
    placement: dict[str, int]
    network: Network
    crossing: tuple[Transfer, ...]
    forecast: Forecast

    @property
    def n_bytes(self) -> int:
        """All bytes that cross in a step."""
        return sum(transfer.node.n_bytes for transfer in self.crossing)

    @property
    def bytes_between(self) -> dict[tuple[int, int], int]:
        """The bytes of a step from one rank to another, for each such (src, dst)."""
        found: Counter[tuple[int, int]] = Counter()
        for node, src, dst, _ in self.crossing:
            found[src, dst] += node.n_bytes
        return dict(sorted(found.items()))

    @property
    def idle_s(self) -> tuple[float, ...]:
        """By rank, how many seconds of a step it does not compute."""
        return self.forecast.idle_s

    @property
    def utilisation(self) -> float:
        """The part of all workers' time in which they compute, 0 to 1."""
        whole_s = self.forecast.makespan_s * len(self.forecast.busy_s)
        return sum(self.forecast.busy_s) / whole_s if whole_s else 1.0

    def __str__(self) -> str:
        """Return the edges and the workers as aligned text."""
        return "\n".join(
            [self._title, as_text(_EDGES, self._edge_rows()), "", self._idle_title,
             as_text(_WORKERS, self._worker_rows())]
        )  # fmt: skip

    __repr__ = __str__

    def _repr_html_(self) -> str:
        edges = as_html(_EDGES, self._edge_rows(), self._title)
        return edges + as_html(_WORKERS, self._worker_rows(), self._idle_title)

    def plot(self, title: str = "") -> Any:
        """Draw the graph, a lane for each worker; edges that cross are thick, with their bytes.

        Parameters
        ----------
        title : str, default: ""
            What stands above it in place of the messages and their bytes; edges have none then.

        Returns
        -------
        matplotlib.figure.Figure
            It shows itself in a notebook; ``to_png()`` are the bytes of a file.

        Raises
        ------
        ValueError
            If there are too many nodes for a picture.
        """
        from course_lib.viz.charts.placed_graph import draw_placed_graph

        inputs = {name: node.inputs for name, node in self.graph.nodes.items()}
        sizes = {name: node.n_bytes for name, node in self.graph.nodes.items()}
        lanes = [
            f"worker {rank}: {idle_s / self.forecast.makespan_s:.0%} idle" if idle_s
            else f"worker {rank}"
            for rank, idle_s in enumerate(self.idle_s)
        ]  # fmt: skip
        return draw_placed_graph(
            inputs, self.placement, {} if title else sizes, lanes, title=title or self._title
        )

    @property
    def _title(self) -> str:
        return (
            f"{len(self.crossing)} messages and {in_bytes(self.n_bytes)} a step cross "
            f"between {len(self.idle_s)} workers"
        )

    @property
    def _idle_title(self) -> str:
        return (
            f"{in_seconds(self.forecast.makespan_s)} a step on {self.network.name}, "
            f"{self.utilisation:.0%} of it computing"
        )

    def _edge_rows(self) -> list[tuple[str, ...]]:
        return [
            (node.name, str(src), str(dst), f"{node.n_bytes:,}", ", ".join(users))
            for node, src, dst, users in self.crossing
        ]

    def _worker_rows(self) -> list[tuple[str, ...]]:
        n_nodes, between = Counter(self.placement.values()), self.bytes_between
        return [
            (
                str(rank), str(n_nodes[rank]), in_seconds(busy_s), in_seconds(idle_s),
                f"{sum(n for (src, _), n in between.items() if src == rank):,}",
                f"{sum(n for (_, dst), n in between.items() if dst == rank):,}",
            )
            for rank, (busy_s, idle_s) in enumerate(
                zip(self.forecast.busy_s, self.idle_s, strict=True)
            )
        ]  # fmt: skip


def cut(
    what: Graph | Chain,
    placement: Placement,
    workers: int,
    network: Network = DEFAULT,
    n_examples: int = 1,
) -> Cut:
    """Say what a placement costs: what crosses between workers, and how long each is idle.

    Parameters
    ----------
    what : Graph or Chain
        A graph, or a chain of layers, of which a training step is looked at.
    placement : mapping of str to int
        The rank of each node, or of each layer.
    workers : int
        How many ranks there are.
    network : Network, default: networks.ethernet_10g
        One in which any two ranks are connected alike.
    n_examples : int, default: 1
        How many examples a step of a chain takes.

    Returns
    -------
    Cut
        Edges, bytes and idle times; a table in a notebook, and a picture with ``plot()``.

    Raises
    ------
    TypeError, ValueError
        If the placement leaves something out or names what is not there, or what crosses has no
        ``n_bytes``.

    Examples
    --------
    >>> from course_lib.models.deep_mlp import deep_mlp
    >>> print(cut(deep_mlp(64, 100, 10), {"fc1": 0, "fc2": 1}, workers=2, n_examples=128))
    2 messages and 205 KB a step cross between 2 workers
    crosses             from  to    bytes              used by
    fc1 forward            0   1  102,400          fc2 forward
    fc2 input gradient     1   0  102,400  fc1 weight gradient
    <BLANKLINE>
    583 µs a step on ethernet_10g, 35% of it computing
    worker  nodes  computes    idle    sends  receives
    0           3    328 µs  255 µs  102,400   102,400
    1           4   76.8 µs  506 µs  102,400   102,400
    """
    workers = whole("workers", workers, 1)
    if isinstance(what, Chain):
        placement = place_layers(what, placement)
        graph = chain_step(what, n_examples)
    elif isinstance(what, Graph):
        graph = what
    else:
        raise TypeError(f"what must be a Graph or a Chain, got {what!r} ({type(what).__name__})")
    forecast = predict(graph, placement, network, workers)
    ranks = _in_order_of(graph, placement)
    return Cut(graph, ranks, network, tuple(graph.transfers(ranks)), forecast)


def _in_order_of(graph: Graph, placement: Mapping[str, int]) -> dict[str, int]:
    return {name: int(placement[name]) for name in graph.nodes}
