"""The prices of collectives with a root, in elements.

``size`` is P, ``length`` n. ``items`` says which messages wait for their receive: a root that
receives them one after another then waits for each.
"""

from course_lib.costs.price import Items, Price, chunk_sizes, in_rounds

__all__ = [
    "broadcast_flat",
    "broadcast_tree",
    "gather",
    "highest_bit",
    "reduce_flat",
    "reduce_tree",
    "scatter",
]


def highest_bit(size: int) -> int:
    """Return floor(log2 size)."""
    return size.bit_length() - 1


def broadcast_flat(size: int, length: int, items: Items, root: int = 0) -> Price:  # noqa: ARG001
    """Price 1 round in which the root sends (P-1) n."""
    sent = [(size - 1) * length if rank == root else 0 for rank in range(size)]
    received = [0 if rank == root else length for rank in range(size)]
    used = length if size > 1 else 0
    return in_rounds(
        int(size > 1), size - 1, sent, received,
        link=used, message=used, serial=(size - 1) * length,
    )  # fmt: skip


def reduce_flat(size: int, length: int, items: Items, root: int = 0) -> Price:
    """Price the flat broadcast turned round: (P-1) n arrive at the root.

    Where sends wait, the root asks one rank after another: P-1 latencies.
    """
    there = broadcast_flat(size, length, items, root)
    return in_rounds(
        there.rounds, there.messages, list(there.bytes_received), list(there.bytes_sent),
        link=there.link_bytes, message=there.message_bytes, serial=there.serial_bytes,
        latencies=size - 1 if items.wait(length) else there.rounds,
    )  # fmt: skip


gather = reduce_flat
"""The messages of a gather are those of the flat reduce: everybody's n go to the root."""


def scatter(size: int, length: int, items: Items, root: int = 0) -> Price:  # noqa: ARG001
    """Price 1 round in which the root sends all parts but its own."""
    parts = chunk_sizes(length, size)
    received = [0 if rank == root else part for rank, part in enumerate(parts)]
    sent = [sum(received) if rank == root else 0 for rank in range(size)]
    return in_rounds(
        int(size > 1), size - 1, sent, received,
        link=max(received), message=max(received), serial=sum(received),
    )  # fmt: skip


def broadcast_tree(size: int, length: int, items: Items, root: int = 0) -> Price:  # noqa: ARG001
    """Price ceil(log2 P) rounds in each of which the root sends n.

    The root does not wait between its own messages, so that only floor(log2 P) latencies follow one
    another: the most that a rank's way from the root has edges.
    """
    sent = [length * _children((rank - root) % size, size) for rank in range(size)]
    received = [0 if rank == root else length for rank in range(size)]
    rounds = (size - 1).bit_length()  # ceil(log2 P)
    used = length if size > 1 else 0
    return in_rounds(
        rounds, size - 1, sent, received,
        link=used, message=used, serial=rounds * length, latencies=highest_bit(size),
    )  # fmt: skip


def reduce_tree(size: int, length: int, items: Items, root: int = 0) -> Price:
    """Price the broadcast tree turned round.

    Where sends wait, the root waits for one message in each round. Where they do not and P is no
    power of two, a branch that is short may arrive while another one is still adding up.
    """
    waits = items.wait(length)
    there = broadcast_tree(size, length, items, root)
    return in_rounds(
        there.rounds, there.messages, list(there.bytes_received), list(there.bytes_sent),
        link=there.link_bytes, message=there.message_bytes, serial=there.serial_bytes,
        latencies=there.rounds if waits else there.latencies,
        is_exact=waits or there.rounds == there.latencies,
    )  # fmt: skip


def _children(position: int, size: int) -> int:
    """Count the positions below ``size`` that add one bit below the lowest set one."""
    distance, count = 1, 0
    while position + distance < size and position % (2 * distance) == 0:
        count += 1
        distance *= 2
    return count
