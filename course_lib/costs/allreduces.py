"""The prices of the all-reduces, in elements.

``size`` is P, ``length`` n; Q is the largest power of two that is not above P, and h = log2 Q.
``items`` says which messages wait for their receive.
"""

from course_lib.costs.price import Items, Price, chunk_sizes, in_rounds
from course_lib.costs.rooted import broadcast_flat, highest_bit, reduce_flat

__all__ = [
    "allreduce_butterfly",
    "allreduce_central",
    "allreduce_direct",
    "allreduce_halving_doubling",
    "allreduce_ring",
    "allreduce_tree",
]


def allreduce_central(size: int, length: int, items: Items) -> Price:
    """Price a flat reduce and a flat broadcast: 2(P-1) n pass the NIC of rank 0."""
    up = reduce_flat(size, length, items)
    down = broadcast_flat(size, length, items)
    return in_rounds(
        up.rounds + down.rounds, 2 * (size - 1), _added(up.bytes_sent, down.bytes_sent),
        _added(up.bytes_received, down.bytes_received),
        link=up.link_bytes, message=up.message_bytes, serial=2 * (size - 1) * length,
        latencies=up.latencies + down.latencies,
    )  # fmt: skip


def allreduce_direct(size: int, length: int, items: Items) -> Price:
    """Price 2 rounds in which everybody sends to everybody: 2(P-1)/P n on each NIC.

    Where sends wait for receives, NICs stand idle in the first round while the next message
    waits for its receive: (3P-4)/P n, an upper bound where P does not divide n.
    """
    chunks = sorted(chunk_sizes(length, size))
    largest = chunks[-1] if size > 1 else 0
    moved = [length + (size - 2) * chunk for chunk in chunk_sizes(length, size)]
    if size == 1:
        moved = [0]
    waits = items.wait(largest)
    in_turn = 3 * size - 4 if waits else 2 * (size - 1)
    return in_rounds(
        2 * int(size > 1), 2 * size * (size - 1), moved, moved,
        link=sum(chunks[-2:]) if size > 1 else 0, message=largest, serial=in_turn * largest,
        is_exact=not waits or size <= 2 or length % size == 0,
    )  # fmt: skip


def allreduce_tree(size: int, length: int, items: Items) -> Price:
    """Price 2h rounds up and down a binary tree, in which a NIC carries 2n: 4h n.

    Where sends wait, a parent waits for one child after the other: 3h latencies. The time is exact
    where every parent has two children on one level (P = 1, 3, 7, 15, ...) and for P = 2; otherwise
    it is an upper bound: the time of the full tree of the same height.
    """
    height = highest_bit(size)
    children = [len({2 * rank + 1, 2 * rank + 2} & set(range(size))) for rank in range(size)]
    moved = [length * (n + (rank > 0)) for rank, n in enumerate(children)]
    width = min(size - 1, 2)
    used = length if size > 1 else 0
    return in_rounds(
        2 * height, 2 * (size - 1), moved, moved,
        link=used, message=used, serial=2 * width * height * length,
        latencies=(width + 1 if items.wait(length) else 2) * height,
        is_exact=size == 2 or size & (size + 1) == 0,
    )  # fmt: skip


def allreduce_butterfly(size: int, length: int, items: Items) -> Price:
    """Price h rounds of n, and 2 more with n where ranks are folded in and out.

    Where sends do not wait, the exchange of a folding rank's partner has arrived before the folding
    is over: that hides one latency, or two where no more than half of the ranks fold, but the early
    message may be in the way of another one, so that the bytes are an upper bound.
    """
    height = highest_bit(size)
    active, extra = 1 << height, size - (1 << height)
    waits = items.wait(length)
    rounds = height + 2 * (extra > 0)
    hidden = 0 if waits or extra == 0 else 2 - _waiting(extra, active)
    serial = rounds if waits or extra == 0 else 2 * (height + 1)
    moved = [height * length + length * (rank < extra) for rank in range(active)]
    moved += [length] * extra
    used = length if size > 1 else 0
    return in_rounds(
        rounds, active * height + 2 * extra, moved, moved,
        link=used, message=used, serial=serial * length,
        latencies=rounds - hidden, is_exact=waits or extra == 0,
    )  # fmt: skip


def allreduce_halving_doubling(size: int, length: int, items: Items) -> Price:
    """Price 2h rounds with n/2, n/4, ..., n/Q and back: 2(Q-1)/Q n, and 2n to fold.

    Where sends do not wait and ranks fold, or halves differ, early messages may be in the way of
    others: the bytes are an upper bound.
    """
    height = highest_bit(size)
    active, extra = 1 << height, size - (1 << height)
    halves = [-(-length // 2**step) for step in range(1, height + 1)]
    moved = [_ranges_halved(rank, length, height) for rank in range(active)]
    moved = [m + length * (rank < extra) for rank, m in enumerate(moved)] + [length] * extra
    largest = length if extra else max(halves, default=0)
    in_turn = 2 * sum(halves) + 2 * length * (extra > 0)
    waits = items.wait(length >> height)  # the shortest message
    if not waits and extra:
        in_turn += 2 * sum(halves)
    elif not waits:  # whoever is ahead by an element in one round may still be in the next
        uneven = sum(-(-length // 2**step) - length // 2**step for step in range(1, height + 1))
        in_turn += 2 * height * uneven
    return in_rounds(
        2 * height + 2 * (extra > 0), 2 * active * height + 2 * extra, moved, moved,
        # The two ranks of the first exchange give each other one half, and later tell the other.
        link=length if size > 1 else 0, message=largest, serial=in_turn,
        is_exact=waits or (extra == 0 and length % active == 0),
    )  # fmt: skip


def allreduce_ring(size: int, length: int, items: Items) -> Price:  # noqa: ARG001
    """Price 2(P-1) rounds of a chunk: 2(P-1)/P n.

    A rank sends all chunks but that of its right neighbour, then all but that of the next one.
    """
    chunks = chunk_sizes(length, size)
    sent = [
        2 * length - chunks[(rank + 1) % size] - chunks[(rank + 2) % size] for rank in range(size)
    ]
    largest = max(chunks) if size > 1 else 0
    return in_rounds(
        2 * (size - 1), 2 * size * (size - 1), sent, [sent[rank - 1] for rank in range(size)],
        link=max(sent), message=largest, serial=2 * (size - 1) * largest,
    )  # fmt: skip


def _added(first: tuple[int, ...], second: tuple[int, ...]) -> list[int]:
    return [a + b for a, b in zip(first, second, strict=True)]


def _waiting(extra: int, active: int) -> int:
    """Count the latencies of folding that an early exchange does not hide."""
    return 1 if 2 * extra <= active else 2


def _ranges_halved(rank: int, length: int, height: int) -> int:
    """Add up the ranges that a rank halves: what it gives and keeps leaves it once each."""
    low, high, total = 0, length, 0
    for step in range(height):
        total += high - low
        middle = (low + high) // 2
        low, high = (middle, high) if rank >> step & 1 else (low, middle)
    return total
