"""Which pushes a server has applied more than once, in the history of a run."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from course_lib.checks.lecture_09.history_task import HistoryTask
from course_lib.checks.task import Case, Given, Mistake
from course_lib.comm.launch import run
from course_lib.lectures.lecture_09.pushes import History, history_of, push_and_repeat

__all__ = ["SERVERS", "TASK"]

Push = tuple[int, int]


def careful(seen: Sequence[Push], rank: int, number: int) -> bool:
    """Apply what has not been seen."""
    return (rank, number) not in seen


def careless(*_: Any) -> bool:
    """Apply whatever comes."""
    return True


def forgetful(seen: Sequence[Push], rank: int, number: int) -> bool:
    """Remember only the last push of each rank."""
    own = [n for src, n in seen if src == rank]
    return not own or own[-1] != number


def late(seen: Sequence[Push], rank: int, number: int) -> bool:
    """Lose the first of each push, and apply the second: once, then."""
    return list(seen).count((rank, number)) == 1


def by_number(seen: Sequence[Push], _: int, number: int) -> bool:
    """Forget whose push it was: others with the same number are lost."""
    return number not in [n for _, n in seen]


SERVERS = {
    "a forgetful server": forgetful, "a careless server": careless, "a careful server": careful,
    "a server that loses each push once": late, "a server that looks at numbers only": by_number,
}  # fmt: skip

_BY_HAND = [(2, 1, 1), (2, 1, 2), (1, 0, 3), (2, 0, 4), (1, 0, 5), (3, 0, 6)]
_FIXED = {1: (0, 1, 1, 0, 2), 2: (0, 1, 0, 1), 3: (0, 0, 0, 1)}


class AppliedTwice(HistoryTask):
    """Find the pushes with which the number of updates rose, at least twice."""

    name = "applied_twice"
    title = "Find the bug: the pushes that the server has applied more than once."
    pair = "(rank, number)"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with what can be counted by hand, then the forgetful server of the exercise."""
        yield _case("nothing was pushed", [])
        yield _case("six pushes, all of them applied", _BY_HAND)
        for name in SERVERS:
            yield _case(name, list(_history(name, tuple(sorted(_FIXED.items())))))
        rng = Case(1, "", seed=secret).rng(0, 0)
        for name in SERVERS:
            sent = {rank: tuple(map(int, rng.integers(0, 4, size=7))) for rank in (1, 2, 3, 4)}
            yield _case(f"{name}, four ranks", list(_history(name, tuple(sent.items()))))

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Count the records with which the version rose."""
        return [_twice(arguments[0][0])]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        (history,) = arguments[0]
        right, applied = _twice(history), _applied(history)
        received = [(rank, number) for rank, number, _ in history]
        numbers = [number for _, number in applied]
        for hint_id, text, values in (
            ("received-is-not-applied", "these were received twice; a push is applied where the "
             "number of updates rises", _repeated(received)),
            ("ranks-have-own-numbers", "each rank has numbers of its own: (1, 0) and (2, 0) are "
             "two pushes", _in_pairs(applied, _repeated(numbers))),
            ("order", "in the order in which they were applied the second time",
             [push for push in dict.fromkeys(applied) if push in right]),
            ("order", "in the order in which they were applied the second time, not sorted",
             sorted(right)),
            ("once-each", "each of them once, also if it was applied three times",
             [push for k, push in enumerate(applied) if push in applied[:k]]),
            ("not-only-in-a-row", "other pushes may come between the first time and the second",
             [push for k, push in enumerate(applied) if k and push == applied[k - 1]]),
            ("once-is-right", "these were applied once, as it should be; the others are asked for",
             [push for push in dict.fromkeys(applied) if push not in right]),
            ("version-before", "a record has the number of updates after the push: compare it with "
             "the record before, and the first with 0", _twice(history, first=None)),
            ("version-before", "a record has the number of updates after the push: compare it with "
             "the record before, not with the one behind", _twice(_moved(history))),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [values])
        yield Mistake("rises-by-one", "a push that is applied raises the number of updates by 1, "
                      "never by more: count for how many of its records the number has risen",
                      [_by_more(history)])  # fmt: skip
        yield Mistake("pairs", "which, not how many", [len(right)])
        yield Mistake("pairs", "return pairs of rank and number", [[n for _, n in right]])
        yield Mistake("pairs", "rank first, then number", [[(n, rank) for rank, n in right]])


def _case(label: str, history: History) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"history": history})


@cache
def _history(name: str, sent: tuple[tuple[int, tuple[int, ...]], ...]) -> tuple[Any, ...]:
    made = run(push_and_repeat, dict(sent), SERVERS[name], workers=1 + len(sent),
               backend="simulated")  # fmt: skip
    return tuple(history_of(made.trace))


def _applied(history: History, first: int | None = 0) -> list[Push]:
    """List the pushes with which the version rose, each time."""
    found, before = [], first
    for rank, number, version in history:
        if before is not None and version > before:
            found.append((rank, number))
        before = version
    return found


def _twice(history: History, first: int | None = 0) -> list[Push]:
    return _repeated(_applied(history, first))


def _by_more(history: History) -> list[Push]:
    """List the pushes with which the number of updates rose by more than one: none."""
    before = [0, *(version for *_, version in history)]
    return [(rank, number) for (rank, number, version), was in zip(history, before, strict=False)
            if version - was > 1]  # fmt: skip


def _repeated(items: Sequence[Any]) -> list[Any]:
    """List what is there more than once, once each, in the order of the second time."""
    second = [item for k, item in enumerate(items) if list(items[:k]).count(item) == 1]
    return list(dict.fromkeys(second))


def _in_pairs(applied: Sequence[Push], numbers: Sequence[int]) -> list[Push]:
    """Return the pushes in which a number comes the second time."""
    seconds = []
    for wanted in numbers:
        places = [push for push in applied if push[1] == wanted]
        seconds.append(places[1])
    return seconds


def _moved(history: History) -> History:
    """Give each record the version of the one behind it."""
    versions = [version for *_, version in history]
    return [
        (rank, number, version)
        for (rank, number, _), version in zip(history, [*versions[1:], *versions[-1:]], strict=True)
    ]


TASK = AppliedTwice()
