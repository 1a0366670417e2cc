"""What ASHA hands out next: a promotion from the highest rung that has one, or a new trial."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["TASK"]

Done = Sequence[Mapping[int, float]]
State = tuple[Done, Sequence[Sequence[int]], int, int, int]
"""Losses by rung and trial, who was promoted, how many are begun, of how many, and eta."""


class AshaNext(LocalTask):
    """A trial and its rung, or nothing."""

    name = "asha_next"
    title = "Say which trial ASHA hands out next, and on which rung."
    takes = ("done", "promoted", "n_begun", "n", "eta")
    forbidden = ("course_lib.search", "course_lib.lectures", "course_lib.schemes")
    shows_arguments = True
    enough = "sorting the losses of a rung is enough"
    empty_results = True

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with one rule at a time, then states of searches nobody can foresee."""
        for label, *state in _FIXED:
            yield _case(label, tuple(state))
        for number in range(4):
            rng = Case(1, "", seed=secret).rng(number, 0)
            eta = int(rng.integers(2, 5))
            n = int(rng.integers(3 * eta, 8 * eta))
            states = list(_states(rng, n, eta))
            for place in sorted(rng.permutation(len(states))[:5]):
                yield _case(f"a search of {n} trials, eta {eta}", states[place])

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over dicts and lists of its own."""
        done, promoted, *numbers = case.settings["state"]
        return [dict(rung) for rung in done], [list(rung) for rung in promoted], *numbers

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Follow the rule."""
        return [_next(*arguments[0])]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        state: Any = arguments[0]
        *_, n_begun, n, eta = state
        right = _next(*state)
        for hint_id, text, rule in _WRONG:
            yield Mistake(hint_id, text, [rule(*state)])
        if right:
            trial, rung = right
            yield Mistake("next-rung", "the rung on which it is trained next, not the one from "
                          "which it comes", [(trial, rung - 1)])  # fmt: skip
            yield Mistake("pair", "the trial first, then the rung", [(rung, trial)])
            yield Mistake("rung-not-epochs", "the number of the rung, from 0, not how long it is "
                          "trained there", [(trial, eta**rung)])  # fmt: skip
            yield Mistake("pair", "a pair: which trial, and on which rung", [trial])
        if n_begun == n:
            yield Mistake("no-more", f"all {n} trials are begun: if none can go on, there is "
                          "nothing to hand out: ()", [(n_begun, 0)])  # fmt: skip
        else:
            yield Mistake("count-from-zero", "trials count from 0: the next one has the number "
                          "n_begun", [(n_begun + 1, 0)])  # fmt: skip
            yield Mistake("begin-another", "nobody can go on, but not all trials are begun: begin "
                          "the next", [()])  # fmt: skip

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a promotion from the last rung."""
        if "list index out of range" in text:
            return Hint("last-rung", "promoted has no list for the last rung, from which nobody "
                        "goes on: leave it out, with range(len(done) - 1)")  # fmt: skip
        return None

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice something other than a pair, or a promotion of nobody's."""
        pair = got[0]
        if not (isinstance(pair, list | tuple) and len(pair) in (0, 2)):
            return Hint("pair", "return a pair, the trial and its rung, or an empty tuple")
        if not pair:
            return None
        done, promoted, *_ = arguments[0]
        trial, rung = pair
        if not isinstance(trial, int):
            return Hint("one-trial", "the first of the pair is one trial's number: the next call "
                        "hands out the next one")  # fmt: skip
        if isinstance(rung, int) and 0 < rung <= len(done) and trial not in done[rung - 1]:
            return Hint("not-there", f"trial {trial} has no loss on rung {rung - 1}")
        if isinstance(rung, int) and 0 < rung < len(done) and trial in promoted[rung - 1]:
            return Hint("once", _ONCE)
        return None


_ONCE = "each trial goes on once from a rung: leave out whom promoted names"


def _next(
    done: Done, promoted: Sequence[Sequence[int]], n_begun: int, n: int, eta: int,
    *,
    last: int = 1,
    low_first: bool = False,
    quota: Callable[[int, int, int], int] = lambda n_in, _, eta: n_in // eta,
    order: Callable[[tuple[int, float]], Any] = lambda item: (item[1], item[0]),
    pick: Callable[[list[int]], int] = lambda found: found[0],
    again: bool = False,
    top_only: bool = False,
    first: int = 0,
    counts: Callable[[float], bool] = lambda _: True,
) -> tuple[int, ...]:  # fmt: skip
    """Follow the rule, or with another argument one that is nearly it."""
    levels = range(first, len(done) - last)
    for level in levels if low_first else reversed(levels):
        there = {trial: loss for trial, loss in done[level].items() if counts(loss)}
        ranked = [trial for trial, _ in sorted(there.items(), key=order)]
        before = promoted[level] if level < len(promoted) else ()
        n_best = quota(len(ranked), n // eta**level, eta)
        if top_only:
            n_best = min(n_best, 1)
        found = [trial for trial in ranked[:n_best] if again or trial not in before]
        if found:
            return pick(found), level + 1
    return (n_begun, 0) if n_begun < n else ()


def _new_first(
    done: Done, promoted: Sequence[Sequence[int]], n_begun: int, n: int, eta: int
) -> Any:
    return (n_begun, 0) if n_begun < n else _next(done, promoted, n_begun, n, eta)


def _of_first_rung(
    done: Done, promoted: Sequence[Sequence[int]], n_begun: int, n: int, eta: int
) -> Any:
    return _next(done[:2], promoted[:1], n_begun, n, eta)


def _by_left(done: Done, promoted: Sequence[Sequence[int]], n_begun: int, n: int, eta: int) -> Any:
    """Take the best third of those that have not been promoted."""
    for level in reversed(range(len(done) - 1)):
        left = [(x, t) for t, x in done[level].items() if t not in promoted[level]]
        if len(left) >= eta:
            return min(left)[1], level + 1
    return (n_begun, 0) if n_begun < n else ()


def _by_places(
    done: Done, promoted: Sequence[Sequence[int]], n_begun: int, n: int, eta: int
) -> Any:
    """Promote as many as may go on, whoever has gone on already."""
    for level in reversed(range(len(done) - 1)):
        left = [(x, t) for t, x in done[level].items() if t not in promoted[level]]
        if left and len(done[level]) // eta > len(promoted[level]):
            return min(left)[1], level + 1
    return (n_begun, 0) if n_begun < n else ()


def _unsorted(_: tuple[int, float]) -> int:
    return 0


def _with(**how: Any) -> Callable[..., Any]:
    return lambda *state: _next(*state, **how)


_ONE_IN_ETA = (
    "of so many losses that is nobody: the best len(done[rung]) // eta of them may go on, rounded "
    "down"
)

_WRONG: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("last-rung", "from the last rung nobody goes on: it has the longest trainings",
     _with(last=0)),
    ("once", _ONCE, _with(again=True)),
    ("one-in-eta", _ONE_IN_ETA,
     _with(quota=lambda n_in, _, eta: max(1, n_in // eta))),
    ("one-in-eta", _ONE_IN_ETA,
     _with(quota=lambda n_in, _, eta: math.ceil(n_in / eta))),
    ("less-is-better", "the smaller a loss the better: the smallest are the best",
     _with(order=lambda item: (-item[1], item[0]))),
    ("of-equals", "of equal losses the trial with the smaller number comes first",
     _with(order=lambda item: item[1])),
    ("of-equals", "of equal losses the trial with the smaller number comes first",
     _with(order=lambda item: (item[1], -item[0]))),
    ("of-all-in", "one in eta of all that are in on the rung, whoever has gone on among them",
     _by_left),
    ("of-those-in", "one in eta of the losses that are in on this rung: len(done[rung]) // eta of "
     "them", _with(quota=lambda _, n_all, eta: n_all // eta)),
    ("by-loss", "the best by their losses, not those that came in first", _with(order=_unsorted)),
    ("by-loss", "the best by their losses, not by their numbers",
     _with(order=lambda item: item[0])),
    ("best-first", "if several may go on, the best of them is first", _with(pick=min)),
    ("best-first", "if several may go on, the best of them is first",
     _with(pick=lambda found: found[-1])),
    ("no-places", "whoever was promoted too early takes nobody's place: each of the best len("
     "done[rung]) // eta that has not gone on goes on", _by_places),
    ("all-of-the-best", "the best of the rung has gone on, but others are in the best part, too",
     _with(top_only=True)),
    ("highest-first", "the highest rung first: who has come far goes on before the others",
     _with(low_first=True)),
    ("every-rung", "there are more rungs: also from the second one trials go on", _of_first_rung),
    ("promote-first", "a promotion comes before a new trial", _new_first),
    ("eta", "one in eta, whatever eta is: it is not always 3",
     _with(quota=lambda n_in, _, __: n_in // 3)),
    ("do-not-wait", "not all of a rung need be in: whoever is in the best part of those that are "
     "there goes on, that is ASHA",
     _with(quota=lambda n_in, n_all, eta: n_in // eta * (n_in == n_all))),
    ("infinite-counts", "an infinite loss is in as well: it counts in len(done[rung])",
     _with(counts=math.isfinite)),
    ("rung-0", "from rung 0 trials go on, too: range(..., 0, -1) ends before it",
     _with(first=1)),
)  # fmt: skip


def _case(label: str, state: Any) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"state": state})


def _states(rng: Any, n: int, eta: int) -> Iterator[State]:
    """Follow a search on four workers, and stop at every question."""
    n_rungs = 1 + int(math.log(n) / math.log(eta) + 1e-9)
    done: list[dict[int, float]] = [{} for _ in range(n_rungs)]
    promoted: list[list[int]] = [[] for _ in range(n_rungs - 1)]
    under_way: list[tuple[int, ...]] = []
    n_begun = 0
    while True:
        yield [dict(r) for r in done], [list(r) for r in promoted], n_begun, n, eta
        job = _next(done, promoted, n_begun, n, eta)
        if job:
            under_way.append(job)
            if job[1]:
                promoted[job[1] - 1].append(job[0])
            else:
                n_begun += 1
        if not under_way:
            return
        if not job or len(under_way) == 4:
            trial, rung = under_way.pop(int(rng.integers(len(under_way))))
            done[rung][trial] = round(float(rng.uniform(0.1, 2.4)), 2)


_E: Mapping[int, float] = {}
_THREE = {0: 0.5, 1: 0.3, 2: 0.9}
_SIX = {0: 0.5, 1: 0.2, 2: 0.9, 3: 0.7, 4: 0.1, 5: 0.8}
_FIXED: tuple[tuple[Any, ...], ...] = (
    ("nobody is in", [_E, _E, _E], [[], []], 0, 9, 3),
    ("all are begun, and under way", [_E, _E, _E], [[], []], 9, 9, 3),
    ("all three are in", [_THREE, _E], [[]], 3, 3, 3),
    ("three are in, all are begun", [_THREE, _E, _E], [[], []], 9, 9, 3),
    ("the best of three has gone on", [_THREE, _E, _E], [[1], []], 3, 9, 3),
    ("two are in", [{0: 0.5, 1: 0.3}, _E, _E], [[], []], 2, 9, 3),
    ("of six both of the best have gone on", [_SIX, _E, _E], [[4, 1], []], 6, 9, 3),
    ("three equal ones", [{2: 0.3, 0: 0.8, 1: 0.3}, _E, _E], [[], []], 9, 9, 3),
    ("six are in", [_SIX, _E, _E], [[], []], 9, 9, 3),
    ("of six the best has gone on", [_SIX, _E, _E], [[4], []], 9, 9, 3),
    ("of six the best has gone on, and another", [_SIX, _E, _E], [[0, 4], []], 9, 9, 3),
    ("three are in, more can begin", [{3: 0.9, 1: 0.3, 2: 0.5}, _E, _E], [[], []], 4, 9, 3),
    ("all are through", [{0: 0.9, 1: 0.3, 2: 0.5}, {1: 0.2}], [[1]], 3, 3, 3),
    ("three on the last rung", [
        {k: 0.1 * k for k in range(9)}, {0: 0.1, 1: 0.2, 2: 0.3}, {0: 0.05, 1: 0.04, 2: 0.06}
    ], [[0, 1, 2], [0, 1, 2]], 9, 27, 3),
    ("three on the second rung", [_SIX | {6: 0.6, 7: 0.4, 8: 1.1}, {4: 0.1, 1: 0.05, 7: 0.3}, _E],
     [[4, 1, 7], []], 9, 9, 3),
    ("both rungs have one that may go on", [
        _SIX | {6: 0.6, 7: 0.4, 8: 1.1, 9: 0.15, 10: 2.0, 11: 1.5}, {4: 0.1, 1: 0.05, 7: 0.3}, _E
    ], [[4, 1, 7], []], 27, 27, 3),
    ("eta is 2", [{0: 0.5, 1: 0.3}, _E, _E], [[], []], 8, 8, 2),
    ("eta is 4, three are in", [_THREE, _E], [[]], 3, 4, 4),
    ("two on the third rung", [
        {k: 0.1 * k for k in range(8)}, {k: 0.1 * k for k in range(4)}, {0: 0.2, 1: 0.1}, _E
    ], [[0, 1, 2, 3], [0, 1], []], 8, 8, 2),
    ("equal ones of one and of two digits", [{10: 0.3, 2: 0.3, 5: 0.8}, _E, _E], [[], []], 11, 11,
     3),
    ("a loss is infinite", [{0: math.inf, 1: 2.3, 2: math.inf}, _E], [[]], 3, 3, 3),
)  # fmt: skip

TASK = AshaNext()
