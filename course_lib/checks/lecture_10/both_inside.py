"""Who took a lock while somebody else had it: the history of a lock that locks nothing."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from course_lib.checks.lecture_09.history_task import HistoryTask
from course_lib.checks.task import Case, Given, Mistake

__all__ = ["TASK"]

History = list[tuple[int, str]]
Pair = tuple[int, int]


class BothInside(HistoryTask):
    """Pairs of ranks of which the second came in while the first was there."""

    name = "both_inside"
    title = "Find the bug: who takes the lock while somebody else has it?"
    pair = "(who had it, who took it)"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with two ranks; then locks that work, and three that are in at once."""
        for label, words in (
            ("two ranks, once", "1+ 2+ 1- 2-"),
            ("a lock that works", "1+ 1- 2+ 2- 1+ 1-"),
            ("twice the same two", "1+ 2+ 2- 1- 2+ 1+ 1- 2-"),
            ("one stays, others come and go", "2+ 1+ 1- 3+ 3- 2- 1+ 2+ 2- 1-"),
            ("three at once", "3+ 1+ 2+ 1- 3- 2-"),
            ("the first has left", "1+ 1- 2+ 3+ 2- 3- 1+ 1-"),
            ("at last nobody gives it back", "1+ 1- 3+ 2+"),
            ("nobody", ""),
        ):
            yield _case(label, _read(words))
        for number in range(4):
            yield _case("four ranks at random", _drawn(secret, number))

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Keep a list of who is inside."""
        return [_pairs(arguments[0][0])]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        (history,) = arguments[0]
        right = _pairs(history)
        for hint_id, text, values in (
            ("one-holder", "several may be inside: this compares with the last one that came only",
             _pairs(history, only_last=True)),
            ("one-holder", "several may be inside: this compares with the one that came first only",
             _first_only(right)),
            ("who-has-left", "who has given the lock back is no longer inside",
             _never_leaving(history)),
            ("order-in-a-pair", "first who had it, then who took it, too",
             [(b, a) for a, b in right]),
            ("each-time", "each time that it happens, also with the same two",
             list(dict.fromkeys(right))),
            ("in-order", "in the order in which it happens, not sorted", sorted(right)),
            ("holders-in-order", "for one that comes in: the others in the order in which they "
             "came", _pairs(history, newest_first=True)),
            ("only-the-first", "all of them, not only the first", right[:1]),
            ("neighbours", "other records may lie between the two that take it",
             [(a, b) for (a, one), (b, two) in pairwise(history)
              if one == two == "takes"]),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [values])
        yield Mistake("pairs", "which ranks, not how many times", [len(right)])
        yield Mistake("pairs", "return pairs: who had it, and who took it", [[b for _, b in right]])
        yield Mistake("pairs", "which ranks, not only whether", [bool(right)])


def _case(label: str, history: History) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"history": history})


def _read(words: str) -> History:
    """Read "1+ 2+ 1-": rank 1 takes, rank 2 takes, rank 1 gives back."""
    return [
        (int(word[:-1]), "takes" if word[-1] == "+" else "gives back") for word in words.split()
    ]


def _drawn(secret: int, number: int) -> History:
    """Let four ranks come and go at random."""
    rng = Case(1, "", seed=secret).rng(number, 0)
    inside: set[int] = set()
    history: History = []
    for rank in map(int, rng.integers(0, 4, size=24)):
        history.append((rank, "gives back" if rank in inside else "takes"))
        inside ^= {rank}
    return history


def _pairs(history: History, only_last: bool = False, newest_first: bool = False) -> list[Pair]:
    inside: list[int] = []
    found = []
    for rank, what in history:
        if what != "takes":
            inside.remove(rank)
            continue
        had = inside[-1:] if only_last else inside[::-1] if newest_first else inside
        found += [(other, rank) for other in had]
        inside.append(rank)
    return found


def _first_only(right: Sequence[Pair]) -> list[Pair]:
    """Keep of each that comes in the first pair."""
    return [pair for k, pair in enumerate(right) if not k or right[k - 1][1] != pair[1]]


def _never_leaving(history: History) -> list[Pair]:
    inside: list[int] = []
    found: list[Pair] = []
    for rank, what in history:
        if what == "takes":
            found += [(other, rank) for other in inside if other != rank]
            inside += [rank] * (rank not in inside)
    return found


TASK = BothInside()
