"""Who is first at the target, by each of three clocks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["CLOCKS", "TASK"]

CLOCKS = ("updates", "seconds", "bytes")

Run = list[tuple[float, float, float, float]]
Runs = Mapping[str, Run]


class WhoIsFirst(LocalTask):
    """Of several runs, the first at a loss, by updates, seconds and bytes."""

    name = "who_is_first"
    title = "Say who is first at the target, by each clock."
    takes = ("runs", "target")
    forbidden = ("course_lib.collectives", "course_lib.schemes", "course_lib.lectures")
    enough = "walking through the points is enough"
    empty_results = True

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with what can be seen at a glance, then every border, then random runs."""
        for label, runs, target in _FIXED:
            yield _case(label, runs, target)
        for number in range(5):
            rng = Case(1, "", seed=secret).rng(number, 0)
            runs = {f"run {k}": _drawn(rng) for k in range(int(rng.integers(2, 5)))}
            yield _case("random runs", runs, 0.25)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over lists of their own."""
        runs = {name: [tuple(point) for point in run] for name, run in case.settings["runs"]}
        return runs, case.settings["target"]

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Find each run's first point that is low enough; compare."""
        runs, target = arguments[0]
        return [_winners({name: _first(run, target) for name, run in runs.items()})]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        runs, target = arguments[0]
        right = self.expected(case, arguments)[0]
        there = {name: run for name, run in runs.items() if _first(run, target)}
        lowest = min(runs, key=lambda name: runs[name][-1][-1], default=None)
        for hint_id, text, values in (
            ("at-most", "a loss that is exactly the target is there: at most, not less than",
             _winners({name: _first(run, target, exactly=False) for name, run in runs.items()})),
            ("not-there", "a run that never gets to the target has not won by ending early",
             _winners({name: _first(run, target) or run[-1] for name, run in runs.items()})),
            ("first-time", "the first point that is low enough counts, also if the loss rises "
             "again", _winners({name: _last(run, target) for name, run in runs.items()})),
            ("first-time", "the first point at the target counts, not the end of the run",
             _winners({name: run[-1] for name, run in there.items()})),
            ("first-time", "not where the loss is lowest, but where it is low enough",
             _winners({name: min(run, key=lambda p: p[-1]) for name, run in there.items()})),
            ("zero-counts", "who is there from the start has 0, the least there can be: does an if "
             "take that 0 for nothing?", _winners_without_zeros(
                 {name: _first(run, target) for name, run in runs.items()})),
            ("last-is-not-first", "this is who comes last",
             _winners({name: _first(run, target) for name, run in runs.items()}, sign=-1)),
            ("lowest-loss", "the lowest loss at the end is another question: who is first at the "
             "target?", dict.fromkeys(CLOCKS, lowest)),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [values])
        text = "each clock has a winner of its own: compare by updates, by seconds, and by bytes"
        for clock in CLOCKS:
            yield Mistake("each-clock", text, [dict.fromkeys(CLOCKS, right[clock])])
        of_equals = _winners({n: _first(r, target) for n, r in reversed(runs.items())})
        yield Mistake("of-equals", "of runs that are equal, the one that stands first in runs",
                      [of_equals])  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice something other than the dict that is asked for."""
        if not isinstance(got[0], dict) or set(got[0]) != set(CLOCKS):
            return Hint("a-dict", 'return a dict with the keys "updates", "seconds" and "bytes"')
        if None in self.expected(case, arguments)[0].values():
            return Hint("nobody", "if no run is there, None stands for the winner")
        if not all(isinstance(name, str) for name in got[0].values()):
            return Hint("names", "the winner's name stands for each clock")
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a minimum of nothing."""
        if "empty" in text or "NoneType" in text or "StopIteration" in text:
            return Hint("nobody", "some run, or all, may never get to the target")
        return None


def _case(label: str, runs: Runs, target: float) -> Case:
    return Case(1, label, calls=1, alone=True,
                settings={"runs": tuple(runs.items()), "target": target})  # fmt: skip


def _first(run: Run, target: float, exactly: bool = True) -> Any:
    return next((p for p in run if p[-1] < target or (exactly and p[-1] == target)), None)


def _last(run: Run, target: float) -> Any:
    """Find where the loss goes below the target for the last time."""
    if not _first(run, target):
        return None
    below = [point[-1] <= target for point in run]
    starts = [k for k, low in enumerate(below) if low and (k == 0 or not below[k - 1])]
    return run[starts[-1]]


def _winners(places: Mapping[str, Any], sign: int = 1) -> dict[str, str | None]:
    there = {name: place for name, place in places.items() if place}
    return {
        clock: min(there, key=lambda name: sign * there[name][k], default=None)
        for k, clock in enumerate(CLOCKS)
    }


def _winners_without_zeros(places: Mapping[str, Any]) -> dict[str, str | None]:
    """Let whoever comes next replace a winner that has 0."""
    winners = {}
    for k, clock in enumerate(CLOCKS):
        least, first = 0, None
        for name, place in places.items():
            if place and (not least or place[k] < least):
                least, first = place[k], name
        winners[clock] = first
    return winners


def _drawn(rng: Any) -> Run:
    """Draw a run whose loss falls, with a rise; each clock at a pace of its own."""
    n, paces = int(rng.integers(4, 9)), rng.integers(1, 60, size=3)
    losses = 2.0 * float(rng.uniform(0.4, 0.8)) ** (1 + rng.permutation(n))
    losses = sorted(losses.tolist(), reverse=True)
    losses[-2:] = losses[:-3:-1]  # the last two the other way round
    return [
        (int(k * paces[0]), float(k * paces[1]) / 8, int(k * paces[2]), round(loss, 4))
        for k, loss in enumerate(losses, start=1)
    ]


_FIXED: tuple[tuple[str, Runs, float], ...] = (
    ("four runs, three winners", {
        "all-reduce": [(1, 4.0, 80, 2.0), (2, 8.0, 160, 0.1), (3, 12.0, 240, 0.05)],
        "Downpour": [(4, 1.0, 90, 1.5), (8, 2.0, 180, 0.4), (12, 3.0, 270, 0.09)],
        "local SGD": [(4, 5.0, 10, 1.0), (8, 10.0, 20, 0.08)],
        "a long one": [(9, 20.0, 400, 0.01)],
    }, 0.1),
    ("one is never there", {
        "untuned": [(1, 0.5, 5, 2.0), (2, 1.0, 10, 1.9)],
        "tuned": [(1, 0.75, 9, 1.0), (2, 1.5, 18, 0.2)],
    }, 0.5),
    ("a loss that rises again", {
        "a": [(1, 1.0, 9, 0.4), (2, 2.0, 18, 0.9), (3, 3.0, 27, 0.3)],
        "b": [(2, 1.5, 10, 0.5), (4, 3.0, 20, 0.45)],
    }, 0.5),
    ("exactly at the target", {
        "a": [(1, 2.0, 3, 0.25), (2, 4.0, 6, 0.125)], "b": [(2, 3.0, 4, 0.125)],
    }, 0.25),
    ("the one that ends lowest is not the first", {
        "a": [(1, 1.0, 1, 0.3), (2, 2.0, 2, 0.2)], "b": [(3, 3.0, 3, 0.01)],
    }, 0.3),
    ("two that are equal", {"z": [(1, 1.0, 1, 0.1)], "a": [(1, 1.0, 1, 0.1)]}, 0.2),
    ("two equal ones by each clock", {
        "a": [(2, 5.0, 50, 0.1)], "c": [(3, 4.0, 40, 0.1)], "d": [(4, 6.0, 30, 0.1)],
        "b": [(2, 4.0, 30, 0.1)],
    }, 0.2),
    ("one is there from the start", {"resumed": [(0, 0.0, 0, 0.3)], "a": [(1, 1.0, 1, 0.2)]}, 0.5),
    ("nobody is there", {"a": [(1, 1.0, 1, 0.9)], "b": [(2, 2.0, 2, 0.8)]}, 0.5),
    ("no runs", {}, 0.5),
)  # fmt: skip

TASK = WhoIsFirst()
