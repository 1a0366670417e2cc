"""The prices of the two all-reduces that are put together from others, in elements."""

from collections import Counter

from course_lib.costs.allreduces import allreduce_ring
from course_lib.costs.price import EAGER_BYTES, Items, Price, chunk_sizes, in_rounds
from course_lib.costs.rooted import broadcast_tree, highest_bit, reduce_tree

__all__ = ["allreduce_double_tree", "allreduce_two_level"]


def allreduce_double_tree(size: int, length: int, items: Items, segments: int | None = 4) -> Price:
    """Price two trees of height h = floor(log2 P) side by side, each with half of the vector.

    There is no closed form for the time: which of the two trees' messages a NIC serves first
    changes from one to the next. What is told is an upper bound, as if the trees took turns: for s
    segments, a pipeline of h + s - 1 steps up and as many down, with two segments in each. Two
    ranks have one segment in each, and their trees point in opposite directions. Where
    ``segments`` is None, each is as long as a message may be that does not wait.
    """
    longest_half = max(chunk_sizes(length, 2))
    if segments is None:
        segments = max(1, -(-longest_half // max(1, EAGER_BYTES // items.n_bytes)))
    height = highest_bit(size)
    links: Counter[tuple[int, int]] = Counter()
    for half, order in zip(chunk_sizes(length, 2), _orders(size), strict=True):
        for place in range(1, size + 1):
            parent = _parent(place, size)
            if parent:
                links[order[place - 1], order[parent - 1]] += half
                links[order[parent - 1], order[place - 1]] += half
    moved = [sum(n for (src, _), n in links.items() if src == rank) for rank in range(size)]
    segment = max(chunk_sizes(longest_half, segments)) if size > 1 else 0
    steps = height + segments - 1 if size > 1 else 0
    in_step = 8 if size > 2 else 2
    return in_rounds(
        2 * height, 4 * (size - 1) * segments, moved, moved,
        link=max(links.values(), default=0), message=segment, serial=in_step * steps * segment,
        latencies=min(size, 3) * steps if items.wait(segment) else 2 * height, is_exact=size == 1,
    )  # fmt: skip


def allreduce_two_level(size: int, length: int, items: Items, ranks_per_host: int = 2) -> Price:
    """Price a tree inside each of H hosts of L ranks, a ring between the hosts, a tree again.

    The rounds, latencies and bytes in turn of the three phases add up. Where sends do not wait, a
    last host with fewer ranks begins the ring before the others and may get in their way: an upper
    bound, with the bytes of the ring twice.
    """
    starts = range(0, size, ranks_per_host)
    hosts = [min(ranks_per_host, size - start) for start in starts]
    ring = allreduce_ring(len(hosts), length, items)
    sent, received = [], []
    for host, n_ranks in enumerate(hosts):
        phases = [reduce_tree(n_ranks, length, items)]
        phases.append(broadcast_tree(n_ranks, length, items))
        sent += [sum(phase.bytes_sent[r] for phase in phases) for r in range(n_ranks)]
        received += [sum(phase.bytes_received[r] for phase in phases) for r in range(n_ranks)]
        sent[starts[host]] += ring.bytes_sent[host]
        received[starts[host]] += ring.bytes_received[host]
    phases = [reduce_tree(hosts[0], length, items), ring]
    phases.append(broadcast_tree(hosts[0], length, items))
    begins_early = hosts[-1] < hosts[0] and not items.wait(ring.message_bytes)
    return in_rounds(
        sum(phase.rounds for phase in phases), 2 * (size - len(hosts)) + ring.messages,
        sent, received,
        link=max(phase.link_bytes for phase in phases),
        message=max(phase.message_bytes for phase in phases),
        serial=sum(phase.serial_bytes for phase in phases) + begins_early * ring.serial_bytes,
        latencies=sum(phase.latencies for phase in phases),
        is_exact=len(set(hosts)) == 1 and phases[0].is_exact,
    )  # fmt: skip


def _orders(size: int) -> tuple[list[int], list[int]]:
    """Return the ranks in the order of the first tree's places, and of the second's."""
    ranks = list(range(size))
    return ranks, ranks[::-1] if size % 2 == 0 else ranks[-1:] + ranks[:-1]


def _parent(place: int, size: int) -> int:
    """Return the place above, 0 for the root: a place's height is that of its lowest set bit."""
    bit = place & -place
    above = place ^ bit | 2 * bit
    return above if above <= size else place ^ bit
