"""The prices of collectives in which every rank has a part, in elements; all-reduces excepted."""

from course_lib.costs.price import Items, Price, chunk_sizes, in_rounds

__all__ = ["allgather_ring", "alltoall", "reduce_scatter_ring"]


def allgather_ring(size: int, length: int, items: Items) -> Price:  # noqa: ARG001
    """Price P-1 rounds of n, n being the length on each rank."""
    moved = [(size - 1) * length] * size
    return in_rounds(
        size - 1, size * (size - 1), moved, moved,
        link=moved[0], message=length if size > 1 else 0, serial=moved[0],
    )  # fmt: skip


def reduce_scatter_ring(size: int, length: int, items: Items) -> Price:  # noqa: ARG001
    """Price P-1 rounds, in each of which every chunk is on its way, the largest one too.

    A rank sends all chunks but its own, and receives all but that of its left neighbour.
    """
    chunks = chunk_sizes(length, size)
    sent = [length - chunk for chunk in chunks]
    largest = max(chunks) if size > 1 else 0
    return in_rounds(
        size - 1, size * (size - 1), sent, [sent[rank - 1] for rank in range(size)],
        link=max(sent), message=largest, serial=(size - 1) * largest,
    )  # fmt: skip


def alltoall(size: int, length: int, items: Items) -> Price:
    """Price P-1 rounds, in each of which every rank sends one part.

    A rank sends all parts but its own, and receives P-1 times its own. Where sends do not wait and
    the parts differ, whoever has a shorter one goes ahead and gets in another's way: an upper
    bound, in which every round lasts longer by what the parts differ.
    """
    parts = chunk_sizes(length, size)
    largest = max(parts) if size > 1 else 0
    ahead = 0 if items.wait(largest) else largest - min(parts)
    return in_rounds(
        size - 1, size * (size - 1),
        [length - part for part in parts], [(size - 1) * part for part in parts],
        link=largest, message=largest, serial=(size - 1) * (largest + ahead),
        is_exact=ahead == 0,
    )  # fmt: skip
