"""A pair of layers on several ranks: the first cut by columns, the second by rows."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_03.data import left_out, most
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Price, Task
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.words.split import split_evenly

Array = NDArray[np.float64]


class ColumnRow(Task):
    """Every rank has some hidden units, and ends with all outputs and the slope in all inputs."""

    name = "column_row"
    title = "Compute a pair of layers whose hidden units are split, forward and back."
    takes = ("x", "dy", "columns", "b1", "rows", "b2")
    may_use_collectives = True
    forbidden = ("course_lib.schemes", "course_lib.split", "course_lib.lectures")
    enough = "two all-reduces are enough"
    rounding_terms = 256
    deadlock_hint = "every rank takes part in both all-reduces, in the same order"
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-messages": "two all-reduces are enough, of y and of dx, each for all examples "
        "together; weights stay where they are",
        "too-many-bytes": "only y and dx are added up over the ranks: weights and hidden units "
        "stay where they are",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with two hidden units each; then parts that differ, and units of exactly 0."""
        yield _case(4, 8, 6)
        yield _case(4, 11, 5)
        yield _case(4, 8, 6, at_zero=True)
        for number, size in enumerate(ALL_SIZES):
            yield _case(size, size + 3, 4, secret + number, stagger=True)
        yield _case(3, 40, 1, secret + 20, calls=2)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Draw the pair, the same on every rank, and give this rank its hidden units."""
        pair = _pair(case, call)
        own = split_evenly(case.settings["hidden"], case.workers)[rank]
        return (
            pair.x.copy(), pair.dy.copy(), pair.columns[own].copy(), pair.b1[own].copy(),
            pair.rows[:, own].copy(), pair.b2.copy(),
        )  # fmt: skip

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Compute all ranks' parts in one place."""
        found = _Found(arguments)
        return [{"y": found.y, "dx": found.dx}] * case.workers

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest number that is added up."""
        found = _Found(arguments)
        parts = [*found.y_parts, *found.dx_parts, arguments[0][5]]
        return max(float(np.abs(part).max(initial=0)) for part in parts)

    def price(self, case: Case) -> Price:
        """All-reduce outputs, and the slope in the inputs, on rings."""
        return _reference(case.workers, case.settings["examples"])

    def budget(self, case: Case) -> Price:
        """Leave room for other all-reduces."""
        m = case.settings["examples"]
        return most(case.workers, (m * _N_OUT, m * _N_IN))

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Compare y, and then dx, with what usual mistakes give."""
        if not all(isinstance(value, dict) for value in got):
            return Hint("not-a-dict", "return a dict with the names that the docstring lists")
        found = _Found(arguments)
        right: dict[str, Array] = {"y": found.y, "dx": found.dx}
        for name in ("y", "dx"):
            values = [value.get(name) for value in got]
            if _are(values, [right[name]] * case.workers):
                continue
            for hint_id, text, candidates in found.wrong(name):
                if _are(values, candidates):
                    return Hint(hint_id, text)
            shapes = {value.shape for value in values if isinstance(value, np.ndarray)}
            if shapes and shapes != {right[name].shape}:
                return Hint("other-shape", f"{name} has a row for each example, and every rank has "
                            "all of it: parts are added up, not put side by side")  # fmt: skip
            return Hint(f"other-{name}", f"write {name} down for one example, one hidden unit on "
                        "each of two ranks, and compare")  # fmt: skip
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a rank that leaves the others alone, and shapes that do not fit."""
        if "matmul" in text or "broadcast together" in text:
            return Hint("transposed", "a row of columns, or of rows, is what leads into one unit: "
                        "y = x @ W.T, and back dx = dy @ W")  # fmt: skip
        return left_out(kind, text)


_N_IN, _N_OUT = 3, 4


class _Pair(NamedTuple):
    x: Array
    dy: Array
    columns: Array
    b1: Array
    rows: Array
    b2: Array


class _Found:
    """What a pair gives, part by part and together, rightly and wrongly."""

    def __init__(self, arguments: Given) -> None:
        self.dy, self.b2 = arguments[0][1], arguments[0][5]
        self.size = len(arguments)
        self.inside = [x @ columns.T + b1 for x, _, columns, b1, _, _ in arguments]
        self.given = arguments
        self.y_parts = [self._out(rank, np.maximum(z, 0)) for rank, z in enumerate(self.inside)]
        self.dx_parts = [self._back(rank, z > 0) for rank, z in enumerate(self.inside)]
        self.y: Array = sum(self.y_parts) + self.b2
        self.dx: Array = np.sum(self.dx_parts, axis=0)

    def _out(self, rank: int, hidden: Array) -> Array:
        return np.asarray(hidden @ self.given[rank][4].T)

    def _back(self, rank: int, mask: Any) -> Array:
        _, dy, columns, _, rows, _ = self.given[rank]
        return np.asarray((dy @ rows * mask) @ columns)

    def wrong(self, name: str) -> list[tuple[str, str, list[Array]]]:
        """List what usual mistakes make of y or dx, by rank."""
        everybody = self._wrong_y() if name == "y" else self._wrong_dx()
        return [
            (hint_id, text, value if isinstance(value, list) else [value] * self.size)
            for hint_id, text, value in everybody
        ]

    def _wrong_y(self) -> list[tuple[str, str, Any]]:
        total, P = self.y - self.b2, self.size
        linear = sum(self._out(rank, z) for rank, z in enumerate(self.inside))
        unbiased = sum(
            self._out(rank, np.maximum(z - self.given[rank][3], 0))
            for rank, z in enumerate(self.inside)
        )
        return [
            ("bias-of-every-rank", f"the second layer's bias is in y {P} times, once for each "
             "rank: add it after the sum", total + P * self.b2),
            ("no-bias", "the second layer's bias is missing", total),
            ("not-summed", "each rank has its hidden units' part of y: add the parts up over the "
             "ranks", [part + self.b2 for part in self.y_parts]),
            ("not-summed", "each rank has its hidden units' part of y: add the parts up over the "
             "ranks", self.y_parts),
            ("mean", "the parts of y are added up, not averaged", total / P + self.b2),
            ("mean", "the parts of y are added up, not averaged", self.y / P),
            ("no-relu", "between the two layers stands a ReLU", linear + self.b2),
            ("relu-at-the-end", "the ReLU stands between the two layers, on the hidden units; the "
             "second layer has none", np.maximum(self.y, 0)),
            ("relu-at-the-end", "the ReLU stands between the two layers, on the hidden units; the "
             "second layer has none", np.maximum(linear + self.b2, 0)),
            ("no-first-bias", "the hidden units have biases, too: b1", unbiased + self.b2),
        ]  # fmt: skip

    def _wrong_dx(self) -> list[tuple[str, str, Any]]:
        P = self.size
        slopes = [dy @ rows for _, dy, _, _, rows, _ in self.given]
        no_mask = sum(self._back(rank, 1.0) for rank in range(P))
        of_slope = sum(self._back(rank, slope > 0) for rank, slope in enumerate(slopes))
        return [
            ("slope-not-summed", "each rank knows what its hidden units say of the inputs: add "
             "that up over the ranks", self.dx_parts),
            ("slope-counted-p-times", "every rank has the whole dy: who adds dy up over the ranks "
             "counts it P times", P * self.dx),
            ("slope-mean", "slopes of the same inputs are added up, not averaged", self.dx / P),
            ("no-mask", "a hidden unit that the ReLU has set to 0 passes no slope back", no_mask),
            *(("slope-at-zero", "a hidden unit of exactly 0 passes no slope back: hidden > 0",
               sum(self._back(rank, np.heaviside(z, at)) for rank, z in enumerate(self.inside)))
              for at in (1.0, 0.5)),
            ("mask-of-slope", "the ReLU passes a slope where its *input* was above 0, whatever the "
             "slope's sign", of_slope),
        ]  # fmt: skip


def _are(values: Sequence[Any], candidates: Sequence[Array]) -> bool:
    return all(
        isinstance(value, np.ndarray)
        and value.dtype.kind == "f"
        and value.shape == right.shape
        and np.allclose(value, right, rtol=1e-9, atol=1e-9)
        for value, right in zip(values, candidates, strict=True)
    )


def _case(
    size: int, hidden: int, examples: int, seed: int = 0, stagger: bool = False, calls: int = 1,
    at_zero: bool = False,
) -> Case:  # fmt: skip
    label = f"{hidden} hidden units, {examples} example{'s' * (examples > 1)}"
    label += ", in one of which half of the units are exactly 0" * at_zero
    settings = {"hidden": hidden, "examples": examples, "at_zero": at_zero}
    return Case(size, label, seed, calls, stagger=stagger, settings=settings)


def _pair(case: Case, call: int) -> _Pair:
    """Draw what is the same for all ranks, rounded so that it can be read.

    No hidden unit is so near 0 that the order of a sum decides on which side of it: units of
    exactly 0 have inputs and biases of 0.
    """
    rng, at_zero = case.rng(case.workers, call), case.settings["at_zero"]
    m, hidden = case.settings["examples"], case.settings["hidden"]
    shapes = (m, _N_IN), (m, _N_OUT), (hidden, _N_IN), (hidden,), (_N_OUT, hidden), (_N_OUT,)
    while True:
        x, dy, columns, b1, rows, b2 = (np.round(rng.normal(size=shape), 2) for shape in shapes)
        if at_zero:
            x[0], b1[::2] = 0, 0
        near = np.abs(x @ columns.T + b1) < 1e-6
        near[0, ::2] &= not at_zero
        if not near.any():
            return _Pair(x, dy, columns, b1, rows, b2 + np.where(b2 < 0, -0.5, 0.5))


@cache
def _reference(size: int, m: int) -> Price:
    from course_lib.collectives import allreduce_ring

    def program(comm: Communicator) -> None:
        allreduce_ring(comm, np.zeros((m, _N_OUT)))
        allreduce_ring(comm, np.zeros((m, _N_IN)))

    trace = run(program, workers=size, backend="simulated").trace
    busiest = max([*trace.bytes_sent(), *trace.bytes_received()])
    return Price(trace.n_messages, trace.n_bytes, busiest)


TASK = ColumnRow()
