"""Which rows are mine: parts of a table, none lost, none twice."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.plain import whole_numbers
from course_lib.checks.shown import show
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, LocalTask


class ShardBounds(LocalTask):
    """Contiguous parts in rank order that cover all rows once; sizes differ by at most one."""

    name = "shard_bounds"
    title = "Cut the rows of a table into one part for each worker; none lost, none twice."
    takes = ("n_rows", "rank", "size")
    enough = "whole-number arithmetic is enough"
    forbidden_functions = ("numpy.array_split",)
    forbidden = (
        "course_lib.collectives", "course_lib.schemes", "course_lib.training", "course_lib.words",
    )  # fmt: skip

    def cases(self, secret: int) -> Iterator[Case]:
        """Try round numbers first, then fewer rows than workers, and none."""
        tried = [
            (4, 400),
            (4, 10),
            (4, 3),
            (4, 0),
            (1, 7),
            (1, 0),
            (3, 442),
            (8, 5),
            (7, 7),
            (7, 61),
        ]
        rng = Case(1, "", seed=secret).rng(0, 0)
        tried += [(size, int(rng.integers(0, 60))) for size in ALL_SIZES for _ in range(3)]
        for size, n_rows in tried:
            yield Case(size, f"{n_rows} rows", calls=1, settings={"n_rows": n_rows})

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Ask for the rows of this rank."""
        return case.settings["n_rows"], rank, case.workers

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Give the one of the spec; ``compare`` takes all other even cuts too."""
        parts = np.array_split(np.arange(case.settings["n_rows"]), case.workers)
        stops = np.cumsum([len(part) for part in parts]).tolist()
        return [[start, stop] for start, stop in zip([0, *stops[:-1]], stops, strict=True)]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Look for rows that nobody has, or several have, or that are out of order."""
        n_rows = case.settings["n_rows"]
        pairs = [_whole_pair(value) for value in got]
        if None in pairs:
            first = pairs.index(None)
            says = f"rank {first}: expected two whole numbers (start, stop), got {show(got[first])}"
            return Difference(says, "(start, stop)", show(got[first]), "the pair", first)
        bounds = [pair for pair in pairs if pair is not None]
        says, rank = _wrong_cover(bounds, n_rows)
        if not says:
            return None
        right = f"for example {show(self.expected(case, arguments))}"
        return Difference(says, right, show([list(pair) for pair in bounds]), "rows", rank)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Name the kind of mistake."""
        n_rows, size = case.settings["n_rows"], case.workers
        bounds = [pair for value in got if (pair := _whole_pair(value)) is not None]
        if len(bounds) == size and _last_rows_left_out(bounds, n_rows):
            return Hint(
                "stop-included",
                "stop is one past the last row of the part: (0, 100) has the rows 0 to 99",
            )
        whole = n_rows // size
        if bounds == [(rank * whole, (rank + 1) * whole) for rank in range(size)]:
            return Hint(
                "rows-lost", "n_rows // size drops the remainder: who takes the rows that are left?"
            )
        if any(start < 0 for start, _ in bounds):
            return Hint("counts-from-0", "ranks count from 0: rank 0's part begins at row 0; this "
                        "is the part of rank - 1")  # fmt: skip
        kinds = {
            "(start, stop)": ("not-a-pair", "return start, stop: two numbers of type int"),
            "in no part": (
                "rows-lost", "each part begins where the one before it stops, and the last stops "
                "at n_rows"
            ),
            "more than one": (
                "rows-twice", "stop is the first row that is not mine, and the next rank's start: "
                "where the first `rest` parts have a row more, the others start at "
                "rank * base + rest"
            ),
            "outside": ("outside", "a part ends at n_rows at the latest, and starts no later"),
            "starts after it stops": ("negative", "an empty part has start equal to stop"),
            "order": ("out-of-order", "rank 0 has the first rows, the last rank the last ones"),
            "even": ("uneven", "everybody waits for the largest part: sizes may differ by 1 only"),
        }  # fmt: skip
        for clue, (hint_id, text) in kinds.items():
            if clue in wrong.says:
                return Hint(hint_id, text)
        return None


def _whole_pair(value: Any) -> tuple[int, int] | None:
    numbers = whole_numbers(value)
    return (numbers[0], numbers[1]) if numbers is not None and len(numbers) == 2 else None


def _last_rows_left_out(bounds: Sequence[tuple[int, int]], n_rows: int) -> bool:
    """Whether all would be right if each stop were one more, up to the end of the table."""
    return not _wrong_cover([(start, min(stop + 1, n_rows)) for start, stop in bounds], n_rows)[0]


def _wrong_cover(bounds: Sequence[tuple[int, int]], n_rows: int) -> tuple[str, int | None]:
    """Say what is wrong with the parts, and with whose; ``""`` if nothing is."""
    for rank, (start, stop) in enumerate(bounds):
        if start > stop:
            return f"rank {rank}'s part starts after it stops: ({start}, {stop})", rank
        if start < 0 or stop > n_rows:
            return f"rank {rank}'s part ({start}, {stop}) lies outside 0 to {n_rows}", rank
    owners: list[list[int]] = [[] for _ in range(n_rows)]
    for rank, (start, stop) in enumerate(bounds):
        for row in range(start, stop):
            owners[row].append(rank)
    for row, ranks in enumerate(owners):
        if len(ranks) > 1:
            return f"row {row} is in more than one part: ranks {', '.join(map(str, ranks))}", ranks[
                1
            ]
    for row, ranks in enumerate(owners):
        if not ranks:
            lost = sum(not ranks for ranks in owners)
            return f"row {row} is in no part ({lost} of {n_rows} rows are lost)", None
    held = [pair for pair in bounds if pair[0] < pair[1]]
    if held != sorted(held):
        return "the parts are not in the order of the ranks", None
    sizes = [stop - start for start, stop in bounds]
    if max(sizes) - min(sizes) > 1:
        return f"the parts are not even: they have {', '.join(map(str, sizes))} rows", None
    return "", None


TASK = ShardBounds()
