"""Rows of an image on several ranks: everybody gets what stands above and below."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.comparator import Difference
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task

Array = NDArray[np.float64]
_COLUMNS = 3


_TEXTS = {
    "own-only": "these are the rank's own rows: the halos are missing",
    "wraps": "the image is no ring: nothing stands above rank 0 and below the last rank",
    "swapped": "what comes from the rank before stands above, what comes from the rank behind "
    "below",
    "far-rows": "these are the neighbours' rows on their far side: rank - 1 gives its last rows, "
    "rank + 1 its first",
    "one-side": "one of the two halos is missing: each rank has a neighbour above and one below",
    "reversed": "the halo's rows stand in the order of the image",
    "own-edges": "these are copies of the rank's own rows: the halo is its neighbours'",
    "edges-repeated": "outside of the image stand zeros, not its first and last rows",
    "no-padding": "every rank returns 2 halo rows more than it has: zeros where there is no "
    "neighbour",
    "one-row": "halo may be more than 1: as many rows from each side",
    "no-rows": "these are zeros all around: nothing that was received stands in it",
}


class SwapHalos(Task):
    """Rank r returns its rows with ``halo`` rows of its neighbours on each side."""

    name = "swap_halos"
    title = "Get the rows above and below from the neighbours, and zeros outside of the image."
    takes = ("rows", "halo")
    verbs = ("send", "recv", "sendrecv", "isend", "irecv")
    layout = "line"
    deadlock_hint = (
        "if every rank sends first, nobody receives: isend returns at once; or let even ranks send "
        "first and odd ranks receive first"
    )
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-messages": "one message to each neighbour, with all halo rows in it",
        "too-many-bytes": "a neighbour needs halo rows, those next to it, and no others",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with one row of halo; then two, uneven parts, and sends that wait."""
        for size, halo, more in ((4, 2, 2), (3, 1, 2)):
            yield _case(size, halo, more)
        for number, size in enumerate(ALL_SIZES):
            yield _case(size, 1, 0, secret + number, rendezvous=True)
            yield _case(size, 3, number % 3, secret + number, stagger=True)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make this rank's rows: 10 times the row of the image, and the column."""
        halo, cut = case.settings["halo"], _starts(case)
        first, n = cut[rank], cut[rank + 1] - cut[rank]
        if case.seed == 0:
            rows = 10.0 * (first + np.arange(n))[:, None] + np.arange(_COLUMNS) + 1
        else:
            rows = case.rng(rank, call).normal(size=(n, _COLUMNS))
        return rows, halo

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Put all rows together, with zeros around, and cut out."""
        halo, cut = case.settings["halo"], _starts(case)
        outside = np.zeros((halo, _COLUMNS))
        image = np.concatenate([outside, *(rows for rows, _ in arguments), outside])
        return [image[cut[r] : cut[r + 1] + 2 * halo].copy() for r in range(case.workers)]

    def price(self, case: Case) -> Price:
        """Send a halo over each border between two ranks, each way."""
        P, one = case.workers, case.settings["halo"] * _COLUMNS * 8
        return Price(2 * (P - 1), 2 * (P - 1) * one, min(2, P - 1) * one)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        P, halo = case.workers, case.settings["halo"]
        parts = [rows for rows, _ in arguments]
        zeros = np.zeros((halo, _COLUMNS))
        last = [parts[r - 1][-halo:] if r else zeros for r in range(P)]  # what stands above
        first = [parts[r + 1][:halo] if r + 1 < P else zeros for r in range(P)]
        for hint_id, above, below in (
            ("wraps", [parts[r - 1][-halo:] for r in range(P)],
             [parts[(r + 1) % P][:halo] for r in range(P)]),
            ("swapped", first, last),
            ("far-rows", [parts[r - 1][:halo] if r else zeros for r in range(P)],
             [parts[r + 1][-halo:] if r + 1 < P else zeros for r in range(P)]),
            ("one-side", last, [zeros] * P),
            ("one-side", [zeros] * P, first),
            ("reversed", [rows[::-1] for rows in last], [rows[::-1] for rows in first]),
            ("own-edges", [rows[:halo] for rows in parts], [rows[-halo:] for rows in parts]),
            ("edges-repeated", [parts[0][:halo], *last[1:]], [*first[:-1], parts[-1][-halo:]]),
            ("no-padding", [zeros[:0], *last[1:]], [*first[:-1], zeros[:0]]),
            ("one-row", [rows[-1:] for rows in last], [rows[:1] for rows in first]),
            ("no-rows", [zeros] * P, [zeros] * P),
        ):  # fmt: skip
            around = zip(above, parts, below, strict=True)
            yield Mistake(hint_id, _TEXTS[hint_id], [np.concatenate(rows) for rows in around])
        yield Mistake("own-only", _TEXTS["own-only"], parts)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say whose number stands where another should."""
        value = got[wrong.rank or 0]
        if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] != _COLUMNS:
            return Hint("side-by-side", "rows are put one below the other: np.concatenate")
        return Hint("other-rows", "rank - 1 has what stands above, in its last rows; rank + 1 what "
                    "stands below, in its first")  # fmt: skip

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice neighbours that do not exist."""
        if "must be a rank from 0" in text:
            return Hint("no-neighbour", "rank 0 has nobody above it, the last rank nobody below")
        return None


def _starts(case: Case) -> list[int]:
    """Return the first row of each rank, and one past the last."""
    halo, more = case.settings["halo"], case.settings["more"]
    heights = [halo + (more + rank) % (more + 2) * (more > 0) for rank in range(case.workers)]
    return [sum(heights[:rank]) for rank in range(case.workers + 1)]


def _case(
    size: int, halo: int, more: int, seed: int = 0, rendezvous: bool = False, stagger: bool = False
) -> Case:
    label = f"a halo of {halo} row{'s' * (halo > 1)}"
    settings = {"halo": halo, "more": more}
    return Case(size, label, seed, 1 if seed == 0 else 2, rendezvous, stagger, settings=settings)


TASK = SwapHalos()
