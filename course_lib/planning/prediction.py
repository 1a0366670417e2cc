"""When a placed graph will be done: the executor's walk, with a clock in the place of the work.

``execute`` posts all receives first, so a message leaves as soon as its node is computed and the
sender's NIC is free, whatever its size. That makes the walk predictable from a few numbers: when
each worker is free, and when each of the two sides of its NIC is.
"""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from course_lib.comm.simulated.network import Network, check_network
from course_lib.planning.graph import Graph, Placement

__all__ = ["Forecast", "predict"]

_NIC, _RANK = -1, 0  # a NIC goes on before its rank does at the same time


@dataclass(frozen=True)
class Forecast:
    """What is predicted of one run of a placed graph.

    Attributes
    ----------
    makespan_s : float
        Seconds from the beginning until the last worker is done.
    finished_s : dict of str to float
        When each node is computed.
    busy_s : tuple of float
        By rank, how long it computes.
    """

    makespan_s: float
    finished_s: dict[str, float]
    busy_s: tuple[float, ...]

    @property
    def idle_s(self) -> tuple[float, ...]:
        """By rank, how long it does not compute before the last one is done."""
        return tuple(self.makespan_s - busy_s for busy_s in self.busy_s)


def predict(graph: Graph, placement: Placement, network: Network, workers: int) -> Forecast:
    """Predict how long ``execute`` will take in virtual time.

    Parameters
    ----------
    graph : Graph
        Its nodes' ``flops`` and ``n_bytes`` are used.
    placement : mapping of str to int
        The rank of each node.
    network : Network
        One in which any two ranks are connected alike; ranks may differ in speed.
    workers : int
        How many ranks.

    Returns
    -------
    Forecast
        To the rounding of the simulator's own additions.

    Raises
    ------
    TypeError, ValueError
        If the placement is unusable, a node whose result crosses has no ``n_bytes``, or the network
        is no plain star.

    Notes
    -----
    Cost: a few events for each node and each message, each once through a heap.

    Examples
    --------
    >>> from course_lib import networks
    >>> from course_lib.planning.graph import Node
    >>> graph = Graph([Node("x", flops=1e7, n_bytes=125_000), Node("y", ("x",), flops=2e7)])
    >>> seconds = predict(graph, {"x": 0, "y": 1}, networks.ethernet_1g, 2).makespan_s
    >>> f"{seconds * 1e3:.3f} ms"  # 1 ms, the message 0.035 + 1 ms, 2 ms
    '4.035 ms'
    """
    check_network(network, star=True)
    graph.check_placement(placement, workers)
    for node, src, dst, _ in graph.transfers(placement):
        if not node.n_bytes:
            raise ValueError(
                f"n_bytes of {node.name!r} must be 1 or more to predict its way from rank {src} "
                f"to {dst}, got 0"
            )
    return _Walk(graph, placement, network, network.speeds(workers)).forecast()


class _Message:
    """A result on its way: ``arrived_s`` is None until it has left."""

    __slots__ = ("arrived_s", "awaited_by", "busy_s", "dst")

    def __init__(self, dst: int, busy_s: float) -> None:
        self.dst, self.busy_s = dst, busy_s
        self.arrived_s: float | None = None
        self.awaited_by: int | None = None


class _Walk:
    """All ranks and their NICs, in the order of (time, rank): who is first goes on."""

    def __init__(
        self, graph: Graph, placement: Placement, network: Network, speeds: tuple[float, ...]
    ) -> None:
        self.graph, self.placement, self.speeds = graph, placement, speeds
        self.alpha_s = network.latency_s
        self.sends_free_s, self.receives_free_s = [0.0] * len(speeds), [0.0] * len(speeds)
        self.queues: list[deque[_Message]] = [deque() for _ in speeds]
        self.heap = [(0.0, rank, _RANK) for rank in range(len(speeds))]
        heapify(self.heap)
        self.finished_s: dict[str, float] = {}
        self.mine: list[list[str]] = [[] for _ in speeds]
        for name in graph.nodes:
            self.mine[placement[name]].append(name)
        self.leaving: dict[str, list[_Message]] = {}
        self.coming: dict[tuple[str, int], _Message] = {}
        for node, _, dst, _ in graph.transfers(placement):
            message = _Message(dst, node.n_bytes * network.beta_s_per_byte)
            self.leaving.setdefault(node.name, []).append(message)
            self.coming[node.name, dst] = message

    def forecast(self) -> Forecast:
        """Let everybody walk to the end."""
        walks = [self._walk(rank) for rank in range(len(self.speeds))]
        for walk in walks:
            next(walk)
        while self.heap:
            now_s, rank, kind = heappop(self.heap)
            if kind == _NIC:
                self._serve(rank, now_s)
            else:
                self._go_on(rank, now_s, walks[rank].send(now_s))
        busy_s = [0.0] * len(self.speeds)
        for name, rank in self.placement.items():
            busy_s[rank] += self.graph.nodes[name].flops / self.speeds[rank]
        makespan_s = max(self.finished_s.values(), default=0.0)
        return Forecast(makespan_s, self.finished_s, tuple(busy_s))

    def _walk(self, rank: int) -> Generator["float | _Message | None", float, None]:
        """Do what ``execute`` does on a rank: yield until when to compute, or what to wait for."""
        now_s = yield None
        for name in self.mine[rank]:
            node = self.graph.nodes[name]
            for used in node.inputs:
                message = self.coming.pop((used, rank), None)  # waited for once
                if message is not None:
                    now_s = yield message
            now_s = yield now_s + node.flops / self.speeds[rank]
            self.finished_s[name] = now_s
            for message in self.leaving.get(name, ()):
                self._send(rank, message, now_s)
        yield None

    def _go_on(self, rank: int, now_s: float, until: "float | _Message | None") -> None:
        if not isinstance(until, _Message):
            if until is not None:
                heappush(self.heap, (until, rank, _RANK))
        elif until.arrived_s is None:
            until.awaited_by = rank
        else:
            heappush(self.heap, (max(now_s, until.arrived_s), rank, _RANK))

    def _send(self, rank: int, message: _Message, now_s: float) -> None:
        """Let a message leave, or queue behind those that this rank's NIC is sending."""
        if self.queues[rank] or self.sends_free_s[rank] > now_s:
            if not self.queues[rank]:
                heappush(self.heap, (self.sends_free_s[rank], rank, _NIC))
            self.queues[rank].append(message)
            return
        self.sends_free_s[rank] = now_s + message.busy_s
        comes_s = max(now_s + self.alpha_s, self.receives_free_s[message.dst])
        message.arrived_s = self.receives_free_s[message.dst] = comes_s + message.busy_s
        if message.awaited_by is not None:
            heappush(self.heap, (message.arrived_s, message.awaited_by, _RANK))

    def _serve(self, rank: int, now_s: float) -> None:
        """Send what has queued, now that the NIC is free."""
        queued, self.queues[rank] = self.queues[rank], deque()
        for message in queued:
            self._send(rank, message, now_s)
