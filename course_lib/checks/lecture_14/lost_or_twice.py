"""Which trials a search has lost, or counted twice, in the history of a run with deaths."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_09.history_task import HistoryTask
from course_lib.checks.task import Case, Given, Hint, Mistake
from course_lib.lectures.lecture_14.coordinators import COORDINATORS, History, history_of, played

__all__ = ["TASK"]

Pair = tuple[int, str]
Deaths = tuple[tuple[int, tuple[float, float | None]], ...]

_AFTER: Deaths = ((2, (1.5, 2.5)),)
_TWO: Deaths = ((1, (2.2, 6.0)), (3, (3.3, 3.4)))


class LostOrTwice(HistoryTask):
    """Trials without a loss, and with more than one."""

    name = "lost_or_twice"
    title = "Find the bug: the trials that the search has lost, or counted twice."
    forbidden = ("course_lib.search", "course_lib.lectures", "course_lib.schemes")
    shows_arguments = True
    pair = '(trial, "lost") or (trial, "twice")'

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with the coordinator of the exercise, then deaths nobody can foresee."""
        yield _case("nothing was given out", [])
        yield _case("two losses from one worker and from two, by hand", _WHOSE)
        for name in COORDINATORS:
            for deaths in (_AFTER, _TWO):
                yield _case(name, _history(name, deaths))
        yield _case("three losses of one trial, by hand", _THREE)
        yield _case("a worker that was only slow, by hand", _LATE)
        yield _case("a death, and a trial under way, at the end, by hand", _AT_THE_END)
        yield _case("numbers up to 12, not all of which were given out, by hand", _SOME)
        rng = Case(1, "", seed=secret).rng(0, 0)
        for name in COORDINATORS:
            died = [round(float(t), 2) + 0.003 for t in rng.uniform(0.5, 3, size=2)]
            back = [at + round(float(t), 2) + 0.011 for at, t in zip(died, rng.uniform(0.1, 1, 2),
                                                                     strict=True)]  # fmt: skip
            ranks = map(int, rng.permutation([1, 2, 3])[:2])
            deaths = tuple(zip(ranks, zip(died, back, strict=True), strict=True))
            yield _case(f"{name}, two deaths", _history(name, deaths))

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Count the losses of each trial that was given out."""
        return [_wrong(arguments[0][0])]

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice trials in the list with which all is well."""
        hint = super().explain(case, arguments, got, wrong)
        if hint is not None:
            return hint
        found, right = [tuple(pair) for pair in got[0]], _wrong(arguments[0][0])
        # Lists, not sets: whatever may stand in an answer, it is compared.
        once = [trial for trial, n_losses in _losses(arguments[0][0]).items() if n_losses == 1]
        too_many = [trial for trial, *_ in (pair for pair in found if pair not in right)]
        if too_many and all(pair in found for pair in right) and all(t in once for t in too_many):
            return Hint("fine", "a trial with one loss is as it should be: leave it out")
        return None

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        (history,) = arguments[0]
        yield from _of_the_end(history)
        right, losses = _wrong(history), _losses(history)
        given = Counter(trial for what, _, trial in history if what == "given")
        of_dead = _held_by_the_dead(history)
        lost, twice = ([pair for pair in right if pair[1] == why] for why in ("lost", "twice"))
        for hint_id, text, values in (
            ("lost-too", "a trial that was given out, and has no loss, is lost", twice),
            ("twice-too", "a trial with more than one loss was counted twice", lost),
            ("given-is-not-counted", "a trial may be given out twice, if its worker has died: "
             "count its losses", sorted(lost + [(k, "twice") for k, n in given.items() if n > 1])),
            ("died-is-not-lost", "its worker died, but another has trained it since: its loss is "
             "there", sorted({(k, "lost") for k in of_dead} | set(twice))),
            ("died-is-not-lost", "this was the last trial that a worker got before it died; its "
             "loss may have come in before, or from another",
             sorted({(k, "lost") for k in _last_of_the_dead(history)} | set(twice))),
            ("any-worker", "the two losses of a trial may come from two workers", sorted(
                lost + [(k, "twice") for k in _same_worker(history)])),
            ("more-than-one", "more than one loss: also three", sorted(
                lost + [(k, "twice") for k, n in losses.items() if n == 2])),
            ("given-only", "only what was given out can be lost; a death has the trial -1", sorted(
                [*right, (-1, "lost")])),
            ("given-only", "only what was given out can be lost: not every number up to the "
             "largest was", sorted(right + [(k, "lost") for k in range(max(given, default=0))
                                    if k not in given])),
            ("order", "sort by the trial as a number, not as a text", sorted(right, key=str)),
            ("once-each", "each of them once, also if it has three losses", sorted(
                lost + [(k, "twice") for k, n in losses.items() for _ in range(n - 1)])),
            ("order", "sort by the trial", lost + twice),
            ("order", "sort by the trial", twice + lost),
            ("order", "sort by the trial", _as_they_come(history)),
            ("losses-not-workers", "count the losses of a trial, not of a worker", sorted(
                lost + [(w, "twice") for w, n in _by_worker(history).items() if n > 1])),
            ("count-all", "a trial that is given out again keeps the losses that it has: do not "
             "begin again with 0", _since_given(history)),
            ("same-record", "two equal records are two losses, and a set has each only once",
             sorted(lost + [(k, "twice") for k in _from_several(history)])),
            ("late-loss", "a loss counts whoever sends it, also a worker that was taken for dead",
             _without_the_dead(history)),
            ("fine", "a trial with one loss is as it should be",
             sorted(lost + [(k, "twice") for k in losses])),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [values])
        yield from _no_pairs(right, losses)


def _of_the_end(history: History) -> Iterator[Mistake]:
    right, id_ = _wrong(history), "until-the-end"
    if history and history[-1][0] == "died":
        yield Mistake(id_, "a trial without a loss is lost, also if a death ends the history", [
            [pair for pair in right if pair[1] == "twice"]])  # fmt: skip
        at_last = _held_by_the_dead(history) - _held_by_the_dead(history[:-1])
        yield Mistake(id_, "a trial whose worker dies at the very end is lost, too", [
            _left_out(right, at_last)])  # fmt: skip
    yield Mistake(id_, "a trial that a worker still has when the history ends is lost, too: no "
                  "loss of it came in", [_left_out(right, _under_way(history))])  # fmt: skip


def _no_pairs(right: list[Pair], losses: Counter[int]) -> Iterator[Mistake]:
    yield Mistake("pairs", "which, and why: pairs", [[k for k, _ in right]])
    yield Mistake("pairs", "the trial first", [[(why, k) for k, why in right]])
    yield Mistake("pairs", 'the word, not how many: "lost" or "twice"', [
        [(k, losses.get(k, 0)) for k, _ in right]])  # fmt: skip


def _case(label: str, history: History) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"history": history})


@cache
def _history(name: str, deaths: Deaths) -> History:
    return history_of(played(name, dict(deaths)))


def _losses(history: History) -> Counter[int]:
    return Counter(trial for what, _, trial in history if what == "loss")


def _wrong(history: History) -> list[Pair]:
    losses = _losses(history)
    given = sorted({trial for what, _, trial in history if what == "given"})
    return [(k, "twice" if losses[k] else "lost") for k in given if losses[k] != 1]


def _as_they_come(history: History) -> list[Pair]:
    why = dict(_wrong(history))
    order = dict.fromkeys(trial for _, _, trial in history if trial in why)
    return [(trial, why[trial]) for trial in order]


def _held_by_the_dead(history: History) -> set[int]:
    """Return the trials that workers had when they died."""
    held, found = dict[int, int](), set[int]()
    for what, worker, trial in history:
        if what == "given":
            held[worker] = trial
        elif worker in held:
            found |= {held[worker]} if what == "died" else set()
            del held[worker]
    return found


def _under_way(history: History) -> set[int]:
    """Return the trials that workers have when the history ends."""
    held = dict[int, int]()
    for what, worker, trial in history:
        held.pop(worker, None)
        if what == "given":
            held[worker] = trial
    return set(held.values())


def _left_out(right: list[Pair], trials: set[int]) -> list[Pair]:
    return [pair for pair in right if pair[1] == "twice" or pair[0] not in trials]


def _last_of_the_dead(history: History) -> set[int]:
    last, found = dict[int, int](), set[int]()
    for what, worker, trial in history:
        if what == "given":
            last[worker] = trial
        elif what == "died" and worker in last:
            found.add(last[worker])
    return found


def _same_worker(history: History) -> list[int]:
    """Return the trials of which one worker has sent two losses."""
    by_both = Counter((worker, trial) for what, worker, trial in history if what == "loss")
    return sorted({trial for (_, trial), n in by_both.items() if n > 1})


def _since_given(history: History) -> list[Pair]:
    """Count from when a trial was given out last."""
    losses = dict[int, int]()
    for what, _, trial in history:
        if what == "given":
            losses[trial] = 0
        elif what == "loss":
            losses[trial] += 1
    return [(k, "twice" if n else "lost") for k, n in sorted(losses.items()) if n != 1]


def _from_several(history: History) -> list[int]:
    """Return the trials of which more than one worker has sent a loss."""
    by_both = {(worker, trial) for what, worker, trial in history if what == "loss"}
    return sorted(trial for trial, n in Counter(k for _, k in by_both).items() if n > 1)


def _without_the_dead(history: History) -> list[Pair]:
    """Leave out losses of workers that have died, and were given nothing since."""
    dead = set[int]()
    kept: History = []
    for what, worker, trial in history:
        if what == "died":
            dead.add(worker)
        elif what == "given":
            dead.discard(worker)
        if what != "loss" or worker not in dead:
            kept.append((what, worker, trial))
    return _wrong(kept)


def _by_worker(history: History) -> Counter[int]:
    return Counter(worker for what, worker, _ in history if what == "loss")


_WHOSE: History = [
    ("given", 1, 0), ("given", 2, 1), ("loss", 1, 0), ("given", 1, 0), ("given", 3, 1),
    ("loss", 2, 1), ("loss", 1, 0), ("given", 2, 2), ("loss", 3, 1), ("loss", 2, 2),
    ("given", 1, 3), ("loss", 1, 3), ("given", 2, 3), ("loss", 2, 3),
]  # fmt: skip
_THREE: History = [
    ("given", 1, 4), ("given", 2, 1), ("given", 3, 2), ("died", 1, -1), ("loss", 3, 2),
    ("given", 3, 4), ("loss", 2, 1), ("given", 2, 4), ("loss", 3, 4), ("loss", 2, 4),
    ("given", 1, 4), ("given", 3, 3), ("died", 3, -1), ("loss", 1, 4), ("given", 2, 0),
    ("given", 1, 0), ("loss", 1, 0), ("loss", 2, 0),
]  # fmt: skip
_LATE: History = [
    ("given", 1, 0), ("given", 2, 1), ("died", 1, -1), ("loss", 2, 1), ("given", 2, 0),
    ("loss", 1, 0), ("loss", 2, 0), ("given", 1, 2), ("died", 1, -1), ("loss", 1, 2),
]  # fmt: skip
_AT_THE_END: History = [
    ("given", 1, 0), ("given", 2, 1), ("died", 1, -1), ("loss", 2, 1), ("given", 2, 2),
    ("given", 3, 1), ("loss", 3, 1), ("given", 3, 3), ("died", 2, -1),
]  # fmt: skip
_SOME: History = [
    ("given", 1, 2), ("given", 2, 10), ("loss", 1, 2), ("loss", 1, 2), ("given", 3, 9),
    ("given", 1, 12), ("loss", 3, 9), ("died", 2, -1), ("given", 3, 11), ("loss", 3, 11),
]  # fmt: skip

TASK = LostOrTwice()
