"""Which links a message travels over, and when it arrives: for networks that are not a plain star.

A **link** carries one message after the other and is busy with n bytes for ``n * beta``. A message
occupies every link of its route, cut through: its head goes on to the next link as soon as that is
free, while its tail is still on the one before; the last byte can leave no link faster than the
slowest one before delivers it. So a message that is alone takes the sum of the latencies plus
``n`` times the largest beta, and messages that share a link queue there.

A link is given to the message that *leaves its sender* first. That message may reach the link late,
if it has a long way; until then others go through, as far as they fit in before it.
"""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.topologies import Ring, SlowLink, SlowNic, Torus, TwoLevel

__all__ = ["Hop", "Link", "Route", "Routes"]


class Link:
    """Something that carries one message at a time, in one direction.

    Parameters
    ----------
    beta_s_per_byte : float
        How long it is busy with one byte.
    """

    __slots__ = ("_booked", "beta_s_per_byte")

    def __init__(self, beta_s_per_byte: float) -> None:
        self.beta_s_per_byte = beta_s_per_byte
        self._booked: list[tuple[float, float]] = []  # [from, until), in order, never touching

    def book(self, head_s: float, n_bytes: int, now_s: float) -> float:
        """Reserve the link for a message whose head is there at ``head_s``.

        Parameters
        ----------
        head_s : float
            When it could enter.
        n_bytes : int
            Its size.
        now_s : float
            Virtual time; it never goes back, so what ended before is forgotten.

        Returns
        -------
        float
            When it enters: the first time from ``head_s`` on at which the link is free for long
            enough.
        """
        booked, busy_s = self._booked, n_bytes * self.beta_s_per_byte
        while booked and booked[0][1] <= now_s:
            del booked[0]
        place = 0
        for from_s, until_s in booked:
            if head_s < from_s and head_s + busy_s <= from_s:
                break
            head_s = max(head_s, until_s)
            place += 1
        begin_s = head_s
        if place and booked[place - 1][1] == head_s:  # one long piece instead of two
            place -= 1
            begin_s = booked.pop(place)[0]
        booked.insert(place, (begin_s, head_s + busy_s))
        return head_s


class Hop(NamedTuple):
    """One step of a route: a link, and how long a head takes to get there from the one before."""

    link: Link
    latency_s: float


class Route:
    """The way from one rank to another.

    Parameters
    ----------
    nic : Hop
        The sender's NIC, and what it adds to the latency. Its sender books it itself.
    hops : sequence of Hop
        The links after that; the last one is the receiver's NIC.
    slow : sequence of (SlowLink, Hop)
        What comes in between in the times that the first says.
    """

    __slots__ = ("_arrived_s", "_hops", "_nic", "_slow")

    def __init__(
        self, nic: Hop, hops: Iterable[Hop], slow: Iterable[tuple[SlowLink, Hop]] = ()
    ) -> None:
        self._nic = nic
        self._hops = tuple(hops)
        self._slow = tuple(slow)
        self._arrived_s = 0.0

    def carry(self, n_bytes: int, start_s: float, late_s: float = 0.0) -> tuple[float, float]:
        """Let a message leave.

        Parameters
        ----------
        n_bytes : int
            Its size.
        start_s : float
            When its first byte leaves.
        late_s : float
            For how long it is held up behind the sender's NIC.

        Returns
        -------
        free_s : float
            When the sender's NIC is free again.
        arrived_s : float
            When the last byte is there; not before what was sent earlier on this route.
        """
        slowest = self._nic.link.beta_s_per_byte
        free_s = start_s + n_bytes * slowest
        head_s = start_s + self._nic.latency_s + late_s
        tail_s = free_s + self._nic.latency_s + late_s
        for link, latency_s in self._hops_at(start_s):
            head_s = link.book(head_s + latency_s, n_bytes, start_s)
            through_s = head_s + n_bytes * link.beta_s_per_byte
            if link.beta_s_per_byte < slowest:  # then the tail comes in its own time
                through_s = max(through_s, tail_s + latency_s)
            slowest = max(slowest, link.beta_s_per_byte)
            tail_s = through_s
        self._arrived_s = max(self._arrived_s, tail_s)
        return free_s, self._arrived_s

    def out_s(self, n_bytes: int) -> float:
        """Return for how long a message keeps its sender's NIC busy."""
        return n_bytes * self._nic.link.beta_s_per_byte

    def _hops_at(self, time_s: float) -> tuple[Hop, ...]:
        slow = tuple(hop for link, hop in self._slow if link.is_slow_at(time_s))
        return (*slow, *self._hops) if slow else self._hops


class Routes:
    """All links of a network, and the routes over them, made when they are first used.

    Parameters
    ----------
    network : Network
        What they look like.
    workers : int
        How many ranks there are.
    slow_links : iterable of SlowLink, default: ()
        More of them than the network has by itself.
    """

    def __init__(self, network: Network, workers: int, slow_links: Iterable[SlowLink] = ()) -> None:
        self._network = network
        self._workers = workers
        self._nics = [part for part in network.slow if isinstance(part, SlowNic)]
        own = [link for link in network.slow if isinstance(link, SlowLink)]
        self._slow_links = [*own, *slow_links]
        self._routes: dict[tuple[int, int], Route] = {}
        self._links: dict[tuple[str, int], Link] = {}

    def between(self, src: int, dst: int) -> Route:
        """Return the route from one rank to another."""
        route = self._routes.get((src, dst))
        if route is None:
            route = self._routes[src, dst] = self._make(src, dst)
        return route

    def _make(self, src: int, dst: int) -> Route:
        out, into = self._nic("out of NIC", src), self._nic("into NIC", dst)
        between, latency_s = self._way(src, dst)
        hops = [*between, Hop(into.link, latency_s + into.latency_s)]
        alone_s = sum(hop.latency_s for hop in (out, *hops))
        beta = max(hop.link.beta_s_per_byte for hop in (out, *hops))
        slow = [
            (link, Hop(Link(link.factor * beta), (link.factor - 1.0) * alone_s))
            for link in self._slow_links
            if (link.src, link.dst) == (src, dst)
        ]
        return Route(out, hops, slow)

    def _way(self, src: int, dst: int) -> tuple[list[Hop], float]:
        """Return the hops between two NICs, and the latency from the last of them to the NIC."""
        network = self._network
        topology = network.topology
        if isinstance(topology, Ring):
            return self._from_neighbour_to_neighbour(_round(src, dst, self._workers))
        if isinstance(topology, Torus):
            return self._from_neighbour_to_neighbour(_row_then_column(src, dst, topology))
        if isinstance(topology, TwoLevel):
            here, there = src // topology.ranks_per_host, dst // topology.ranks_per_host
            if here != there:
                beta = 1.0 / topology.bandwidth_bytes_per_s
                up, down = (
                    self._link("out of host", here, beta),
                    self._link("into host", there, beta),
                )
                return [Hop(up, 0.0), Hop(down, topology.latency_s)], 0.0
        return [], network.latency_s

    def _from_neighbour_to_neighbour(self, ranks: list[int]) -> tuple[list[Hop], float]:
        beta, latency_s = self._network.beta_s_per_byte, self._network.latency_s
        links = [self._link(f"link to {to}", rank, beta) for rank, to in pairwise(ranks)]
        return [Hop(link, latency_s) for link in links], 0.0

    def _nic(self, side: str, rank: int) -> Hop:
        """Return one side of a rank's NIC, and what it adds to the latency."""
        network = self._network
        factor = math.prod(slow.factor for slow in self._nics if slow.rank == rank)
        link = self._link(side, rank, factor * network.beta_s_per_byte)
        return Hop(link, (factor - 1.0) * network.latency_s)

    def _link(self, what: str, number: int, beta_s_per_byte: float) -> Link:
        return self._links.setdefault((what, number), Link(beta_s_per_byte))


def _round(src: int, dst: int, size: int) -> list[int]:
    """List the places on the shorter way round, to the right where both are equally long."""
    right = (dst - src) % size
    steps, towards = (right, 1) if right <= size - right else (size - right, -1)
    return [(src + towards * step) % size for step in range(steps + 1)]


def _row_then_column(src: int, dst: int, torus: Torus) -> list[int]:
    """List the ranks on the way: along the row of ``src``, then along the column of ``dst``."""
    (row, column), (to_row, to_column) = divmod(src, torus.columns), divmod(dst, torus.columns)
    along_row = [row * torus.columns + x for x in _round(column, to_column, torus.columns)]
    along_column = [y * torus.columns + to_column for y in _round(row, to_row, torus.rows)]
    return along_row + along_column[1:]
