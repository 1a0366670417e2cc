"""Which all-reduce is fastest for so many ranks and bytes, and why."""

from dataclasses import dataclass
from functools import lru_cache

from course_lib.costs.catalogue import predicted_s
from course_lib.costs.checking import checked, count, duration, listed, ranks
from course_lib.costs.price import chunk_sizes
from course_lib.costs.rooted import highest_bit
from course_lib.words.units import in_bytes, in_seconds

__all__ = ["CANDIDATES", "Choice", "choose_allreduce", "combined_bytes"]

CANDIDATES = ("ring", "halving_doubling", "butterfly")
"""Those of which one is the fastest; of equals, the first. The others are left out with reasons.

``central`` and ``tree`` are never faster. ``direct`` seems to be wherever messages are counted by
their latency alone: in a round every rank sends P - 1 of them, and what each costs its processor is
not in the three numbers. Nor are the threads in which ``double_tree`` runs its two trees, nor the
hosts that ``two_level`` has to know.
"""


@dataclass(frozen=True)
class Choice:
    """The fastest all-reduce and what the others would have taken.

    Attributes
    ----------
    size : int
        How many ranks.
    n_bytes : int
        The bytes of each rank's array.
    seconds : tuple of (str, float)
        Names of ``CANDIDATES`` and their predicted seconds, the fastest first.

    Examples
    --------
    >>> print(choose_allreduce(4, 1000, 4, alpha_s=2e-5, beta_s_per_byte=1e-9))
    butterfly for 1 KB on 4 ranks: 42 µs; halving_doubling 81.5 µs, ring 122 µs
    """

    size: int
    n_bytes: int
    seconds: tuple[tuple[str, float], ...]

    @property
    def name(self) -> str:
        """The name of the fastest."""
        return self.seconds[0][0]

    def __str__(self) -> str:
        """Say which it is, and why: by the seconds of all."""
        told = [f"{name} {in_seconds(seconds)}" for name, seconds in self.seconds[1:]]
        ranks_told = "1 rank" if self.size == 1 else f"{self.size:,} ranks"
        return (
            f"{self.name} for {in_bytes(self.n_bytes)} on {ranks_told}: "
            f"{in_seconds(self.seconds[0][1])}; {', '.join(told)}"
        )


@lru_cache(maxsize=4096)  # a small all-reduce takes a few microseconds
@checked(
    size=listed, n_bytes=count, item_bytes=ranks, alpha_s=duration, beta_s_per_byte=duration,
    gamma_s_per_byte=duration,
)  # fmt: skip
def choose_allreduce(
    size: int,
    n_bytes: int,
    item_bytes: int,
    alpha_s: float,
    beta_s_per_byte: float,
    gamma_s_per_byte: float = 0.0,
) -> Choice:
    """Choose the all-reduce that is predicted to be the fastest.

    Few rounds are worth it for small arrays, few bytes for large ones; and a rank that adds less
    is faster where adding counts.

    Parameters
    ----------
    size : int
        How many ranks.
    n_bytes : int
        The bytes of each rank's array.
    item_bytes : int
        The bytes of one element.
    alpha_s : float
        Seconds from sending a message's first byte until it arrives.
    beta_s_per_byte : float
        Seconds that a NIC is busy with one byte.
    gamma_s_per_byte : float, default: 0.0
        Seconds to add one byte.

    Returns
    -------
    Choice
        Whose ``name`` is in ``CANDIDATES``.

    References
    ----------
    R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in
    MPICH", International Journal of High Performance Computing Applications 19(1), 2005.
    """

    def seconds(name: str) -> float:
        sent_s = predicted_s(
            f"allreduce_{name}", size, n_bytes, alpha_s, beta_s_per_byte, item_bytes=item_bytes
        )
        return float(sent_s) + gamma_s_per_byte * combined_bytes(name, size, n_bytes, item_bytes)

    found = [(name, seconds(name)) for name in CANDIDATES]
    return Choice(size, n_bytes, tuple(sorted(found, key=lambda one: one[1])))


def combined_bytes(algorithm: str, size: int, n_bytes: int, item_bytes: int) -> int:
    """Count the bytes that the busiest rank combines with its own, one after another.

    Parameters
    ----------
    algorithm : str
        A name in ``CANDIDATES``.
    size : int
        How many ranks, P.
    n_bytes : int
        The bytes of each rank's array, n.
    item_bytes : int
        The bytes of one element.

    Returns
    -------
    int
        For P = 2**h: (P-1)/P n on the ring and by halving, h n in the butterfly; where some ranks
        are folded into others, n more but on the ring. Halves that differ by an element may be
        counted with it, one for each halving.

    Examples
    --------
    >>> [combined_bytes(name, 4, 800, 8) for name in ("ring", "halving_doubling", "butterfly")]
    [600, 600, 1600]
    """
    length = n_bytes // item_bytes
    height = highest_bit(size)
    folded = length if size > 1 << height else 0
    elements = {
        "ring": length - min(chunk_sizes(length, size)),
        "halving_doubling": sum(-(-length // 2**k) for k in range(1, height + 1)) + folded,
        "butterfly": height * length + folded,
    }
    return int(elements[algorithm]) * item_bytes
