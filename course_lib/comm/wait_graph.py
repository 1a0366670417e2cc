"""Who waits for whom, told as a deadlock: the same sentences in every world.

A world that finds a wait-for cycle describes each of them as a :class:`WaitingRank`; the
error, its hint and the graph it carries (to be drawn) are made here.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from course_lib.comm.errors import DeadlockError

__all__ = [
    "GROUP_VERBS",
    "MOST_LINES",
    "WaitingRank",
    "deadlock",
    "listed",
    "quoted",
    "unread_note",
]

MOST_LINES = 10
"""How many ranks an error describes in a line each; it counts the others."""

_MOST_CIRCLES = 4
_MOST_PARTS = 6
_PAIRS = (
    "the k-th start of one rank belongs to the k-th start of every other rank, in the order in "
    "which each calls start on that communicator"
)

GROUP_VERBS = ("barrier", "split", "shared_array")
"""What all ranks of a communicator call together."""


@dataclass(frozen=True)
class WaitingRank:
    """One rank that waits, as it is told in an error.

    Attributes
    ----------
    rank : int
        Who waits.
    verb, call : str
        What it is in, ``"recv"``, and that written as a call, ``"recv(src=1, tag=3)"``.
    place : str
        Where, ``"cell In[5], line 3"``.
    waits_for : tuple of int
        The ranks that could let it go on; of a rank in a circle, the next of the circle first.
    unread : tuple of str
        A note for each message that lies there from somebody it does not listen to.
    started : str
        Which started function of the rank it is, by its communicator; empty for the rank's own.
    """

    rank: int
    verb: str
    call: str
    place: str
    waits_for: tuple[int, ...]
    unread: tuple[str, ...] = ()
    started: str = ""

    @property
    def edges(self) -> list[tuple[int, int, str, str]]:
        """Its part of the graph, as ``DeadlockError`` carries it."""
        return [(self.rank, peer, self.call, self.place) for peer in self.waits_for]

    def faces(self, following: "WaitingRank") -> str:
        """Say which function of the ``following`` rank of a circle this one talks to."""
        name = quoted(self.started)
        call = self.call.removesuffix(f" on {name}").removesuffix(f" in {name}")
        theirs = "which does not wait for it"
        if following.started == self.started:
            theirs = f"which waits in {following.call.partition(' on ')[0].partition(' in ')[0]}"
        return (
            f"{name} of rank {self.rank} waits in {call} and faces {name} of rank "
            f"{following.rank}, {theirs}"
        )

    def lines(self) -> list[str]:
        """Say in which call it waits, and where."""
        missing = f" for rank {self.waits_for[0]}" if self.verb in GROUP_VERBS else ""
        told = f"  rank {self.rank} waits in {self.call}{missing}, at {self.place}"
        return [told, *(f"    ({note})" for note in self.unread)]


def quoted(name: str) -> str:
    """Write a communicator's name, that of a deep nest without its middle."""
    parts = name.split("/")
    if len(parts) > _MOST_PARTS:
        left_out = len(parts) - 4
        parts[2:-2] = [f"... {left_out:,} more ..."]
    return repr("/".join(parts))


def unread_note(src: int, tag: object, shape: tuple[int, ...]) -> str:
    """Name a message that has arrived at a waiting rank, which listens to somebody else."""
    return f"an unread message from rank {src} is there: tag={tag!r}, shape {shape}"


def deadlock(
    circles: Sequence[Sequence[WaitingRank]],
    others: Iterable[WaitingRank] = (),
    *,
    consequences: Sequence[str] = (),
    eager_bytes: int,
    all_wait: bool = True,
    lost: Collection[int] = (),
) -> DeadlockError:
    """Return the error for ranks that wait for each other in a circle, or in several.

    Parameters
    ----------
    circles : sequence of sequence of WaitingRank
        Each from any of its ranks on; each rank waits for the next and the last for the first.
    others : iterable of WaitingRank, default: ()
        Ranks outside of them that wait too, for the graph.
    consequences : sequence of str, default: ()
        A line for every rank outside of them.
    eager_bytes : int
        Up to what size ``send`` returns after copying; 0 where it never does.
    all_wait : bool, default: True
        Whether nobody else can go on either.
    lost : collection of int, default: ()
        The ranks that have been lost for good, in a run that survives that.

    Returns
    -------
    DeadlockError
        Told from the lowest rank of each circle on.
    """
    circles = sorted(map(_from_lowest, circles), key=lambda circle: circle[0].rank)
    inside = [waiting for circle in circles for waiting in circle]
    cycles = [[waiting.rank for waiting in circle] for circle in circles]
    several = len(cycles) > 1
    who = "no rank can go on"
    if not all_wait:
        who = f"{listed([waiting.rank for waiting in inside])} cannot go on"
    where = f"{len(cycles)} cycles," if several else "the cycle"
    lines = [f"deadlock: {who}, each waits for the next in {where} {_written(cycles)}:"]
    if not several and {*cycles[0]} == {inside[0].rank}:
        lines = [f"deadlock: what rank {inside[0].rank} has started waits for itself:"]
    for waiting in inside[:MOST_LINES]:
        lines += waiting.lines()
    if len(inside) > MOST_LINES:
        more = f"  and {len(inside) - MOST_LINES:,} more ranks in the cycle"
        lines.append(more + "s" * several)
    hints = [_hint({waiting.verb for waiting in circle}, eager_bytes) for circle in circles]
    lines += dict.fromkeys([_of_the_lost(lost)] if lost else hints)
    lines += _pairs(circles)
    return DeadlockError(
        "\n".join(lines),
        rank=cycles[0][0],
        consequences=consequences,
        cycles=cycles,
        graph=[edge for waiting in (*inside, *others) for edge in waiting.edges],
    )


def _from_lowest(circle: Sequence[WaitingRank]) -> list[WaitingRank]:
    start = min(range(len(circle)), key=lambda index: circle[index].rank)
    return [*circle[start:], *circle[:start]]


def _written(cycles: list[list[int]]) -> str:
    """Write down the first circles: ``0 -> 1 -> 0, 2 -> 3 -> 2``."""
    told = [" -> ".join(map(str, _shorten([*ranks, ranks[0]]))) for ranks in cycles]
    more = [f"and {len(told) - _MOST_CIRCLES:,} more"] if len(told) > _MOST_CIRCLES else []
    return ", ".join([*told[:_MOST_CIRCLES], *more])


def _pairs(circles: Sequence[Sequence[WaitingRank]]) -> list[str]:
    """Say of started functions which faces which."""
    told: dict[frozenset[tuple[int, str]], str] = {}
    for circle in circles:
        for waiting, following in zip(circle, [*circle[1:], circle[0]], strict=True):
            if waiting.started and waiting.rank != following.rank:
                pair = frozenset({(waiting.rank, waiting.started), (following.rank, "")})
                if following.started == waiting.started:
                    pair = frozenset((one.rank, one.started) for one in (waiting, following))
                told.setdefault(pair, waiting.faces(following))
    if not told:
        return []
    return [*list(told.values())[:_MOST_CIRCLES], _PAIRS]


def _hint(verbs: set[str], eager_bytes: int) -> str:
    if verbs == {"wait"}:
        return "started functions must not wait for each other: let one return without the other"
    for verb in GROUP_VERBS:
        if verb in verbs:
            return (
                f"every rank must call {verb}() equally often, and not while another waits for it"
            )
    if verbs == {"recv"} or verbs == {"recv_any"} or verbs == {"irecv"}:
        return (
            "each waits for a message before it sends its own: let one of them send first, "
            "or use sendrecv, which does both at once"
        )
    if verbs == {"send"}:
        limit = f" of more than {eager_bytes:,} bytes" if eager_bytes else ""
        return (
            f"a send{limit} returns when its receive is posted, and each sends before it receives: "
            "use sendrecv, which does both at once, or let one of them receive first"
        )
    return "write down the messages of these ranks in order: each send needs its recv in that place"


def _of_the_lost(lost: Collection[int]) -> str:
    who = f"rank {min(lost)} is" if len(lost) == 1 else f"{listed([*lost])} are"
    return (
        f"{who} lost: recv_any goes on waiting for the others, and only a verb that names a lost "
        "rank raises RankLost; are as many ranks left as these wait for?"
    )


def listed(ranks: list[int]) -> str:
    """Write ``ranks 0, 1 and 3``, or how many there are."""
    shown = [str(rank) for rank in sorted(ranks)]
    if len(shown) > MOST_LINES:
        return f"{len(shown)} ranks"
    return f"ranks {', '.join(shown[:-1])} and {shown[-1]}"


def _shorten(ranks: list[int]) -> list[int | str]:
    if len(ranks) <= MOST_LINES + 1:
        return list(ranks)
    return [*ranks[: MOST_LINES // 2], "...", *ranks[-2:]]
