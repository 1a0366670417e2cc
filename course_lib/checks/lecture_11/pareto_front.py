"""Of points with two costs, those that no other beats."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["TASK"]

Points = Mapping[str, tuple[float, float]]


class ParetoFront(LocalTask):
    """The names of the points on the front, by the first cost."""

    name = "pareto_front"
    title = "Find the schemes that no other beats in seconds and in bytes."
    takes = ("points",)
    forbidden = ("course_lib.collectives", "course_lib.schemes", "course_lib.lectures")
    enough = "comparing the points is enough"
    empty_results = True

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with what can be drawn, then every border, then random points."""
        for label, points in _FIXED:
            yield _case(label, points)
        for number in range(5):
            rng = Case(1, "", seed=secret).rng(number, 0)
            n = int(rng.integers(5, 12))
            places = rng.integers(1, 9, size=(n, 2)) if number % 2 else rng.uniform(1, 9, (n, 2))
            names = [f"s{k}" for k in rng.permutation(n)]
            yield _case(f"{n} random points", dict(zip(names, places.tolist(), strict=True)))

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over a dict of its own."""
        return ({name: tuple(place) for name, place in case.settings["points"]},)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Leave out whom another beats."""
        return [_front(arguments[0][0])]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        (points,) = arguments[0]
        right = _front(points)
        places = [points[name] for name in right]
        sums = {name: x + y for name, (x, y) in points.items()}
        products = {name: x * y for name, (x, y) in points.items()}
        ends = [min(points, key=lambda n: points[n][k], default="") for k in (0, 1)]
        more = {name: (-x, -y) for name, (x, y) in points.items()}
        for hint_id, text, values in (
            ("both-strict", "to be beaten it is enough to be worse in one and no better in the "
             "other: equal in one of them does not save", _both_strict(points)),
            ("itself", "a point does not beat itself, nor one that is equal to it", []),
            ("equal-points", "of points that are equal none beats the other: all of them are on "
             "the front", _once_each(points, right)),
            ("itself", "a point does not beat itself, nor one that is equal to it",
             [name for name in right if places.count(points[name]) == 1]),
            ("order", "of equal points the one that stands first in points is first",
             sorted(right, key=lambda name: (points[name][0], name))),
            ("ends-only", "these are the two ends; between them are points that neither beats",
             sorted(dict.fromkeys(ends), key=lambda n: points[n]) if points else []),
            ("one-number", "one number made of both costs says who is best for one taste; the "
             "front has all tastes", [min(sums, key=sums.__getitem__)] if points else []),
            ("one-number", "one number made of both costs says who is best for one taste; the "
             "front has all tastes", [min(products, key=products.__getitem__)] if points else []),
            ("less-is-better", "seconds and bytes are costs: less is better", _front(more)),
            ("less-is-better", "seconds and bytes are costs: less is better", _front(more)[::-1]),
            ("others", "these are the ones that are beaten; the others are asked for",
             [name for name in points if name not in right]),
            ("others", "these are the ones that are beaten; the others are asked for",
             _sorted([name for name in points if name not in right], points)),
            ("everybody", "who is beaten in both by another is not on the front",
             _sorted(points, points)),
            ("everybody", "who is beaten in both by another is not on the front", list(points)),
            ("hull", "a point may lie above the line between two others: no scheme lies on that "
             "line", _hull(points, right)),
            ("order", "sort by the first cost", [name for name in points if name in right]),
            ("order", "sort by the first cost, not by name", sorted(right)),
            ("order", "the first cost first, from small to large", right[::-1]),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [values])
        yield Mistake("names", "return the names, not the points", [places])
        yield Mistake("names", "return the names, not how many they are", [len(right)])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice something other than a list of names."""
        is_names = isinstance(got[0], list) and all(isinstance(name, str) for name in got[0])
        return None if is_names else Hint("names", "return a list of names")


def _case(label: str, points: Points) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"points": tuple(points.items())})


def _front(points: Points) -> list[str]:
    return _sorted(
        [n for n, p in points.items() if not any(_beats(q, p) for q in points.values())], points
    )


def _beats(q: Sequence[float], p: Sequence[float]) -> bool:
    return q[0] <= p[0] and q[1] <= p[1] and tuple(q) != tuple(p)


def _both_strict(points: Points) -> list[str]:
    kept = [
        n for n, p in points.items()
        if not any(q[0] < p[0] and q[1] < p[1] for q in points.values())
    ]  # fmt: skip
    return _sorted(kept, points)


def _once_each(points: Points, right: Sequence[str]) -> list[str]:
    """Keep the first of equal points."""
    return list({points[name]: name for name in reversed(right)}.values())[::-1]


def _hull(points: Points, front: Sequence[str]) -> list[str]:
    """Keep of the front what lies below all lines between others of it."""
    kept = []
    for name in front:
        x, y = points[name]
        above = any(
            y > ay + (by - ay) * (x - ax) / (bx - ax)
            for ax, ay in (points[n] for n in front) for bx, by in (points[n] for n in front)
            if ax < x < bx
        )  # fmt: skip
        kept += [] if above else [name]
    return kept


def _sorted(names: Any, points: Points) -> list[str]:
    return sorted(names, key=lambda name: points[name][0])


_FIXED: tuple[tuple[str, Points], ...] = (
    ("seven schemes", {
        "all-reduce": (48.0, 12.0), "server": (51.0, 16.0), "Downpour": (74.0, 25.0),
        "local SGD": (47.0, 2.0), "top-k": (60.0, 0.5), "signs": (80.0, 0.45),
        "one worker": (101.0, 0.0),
    }),
    ("equal seconds", {"a": (2.0, 5.0), "b": (2.0, 3.0), "c": (1.0, 9.0), "d": (4.0, 3.0)}),
    ("above the line between two others", {"b": (1.0, 9.0), "c": (4.0, 8.0), "a": (9.0, 1.0)}),
    ("two that are equal", {"y": (2.0, 2.0), "x": (2.0, 2.0), "z": (3.0, 1.0)}),
    ("one beats all", {"a": (3.0, 3.0), "b": (1.0, 1.0), "c": (2.0, 4.0)}),
    ("alone", {"a": (3.0, 3.0)}),
    ("nobody", {}),
)  # fmt: skip

TASK = ParetoFront()
