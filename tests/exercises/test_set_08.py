"""Exercises 08: numbers of the texts, the library's own layers, and the colleague's bug."""

from typing import Any

import numpy as np
import pytest

from course_lib import run
from course_lib.checks.lecture_08.cheapest_grid import TASK as GRID
from course_lib.checks.lecture_08.column_row import TASK as PAIR
from course_lib.checks.lecture_08.predict_split import TASK as BYTES
from course_lib.checks.lecture_08.split_fault import NAMES
from course_lib.checks.lecture_08.split_fault import TASK as FAULT
from course_lib.lectures import lecture_08
from course_lib.lectures.lecture_08 import with_every_bias
from course_lib.models.deep_mlp import deep_mlp
from course_lib.split import Columns, Rows, split_in_pairs
from tests.exercises.answers import handed_in


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_08", solved=True)


def test_the_texts_name_the_right_numbers() -> None:
    assert list(BYTES.measure(4, 8, 12, 20, 16).values()) == [1728, 1536, 1152, 7152]
    assert GRID.measure(16, 256, 2048) == {"splits": 2, "n_bytes": 1_707_520.0}


def test_the_solution_s_bytes_are_those_of_a_training_step(solutions: dict[str, Any]) -> None:
    mine = solutions["predict_split"](4, 64, 256, 1024, 256)
    step = lecture_08.one_step("column and row", 256, 1024, 256)
    assert step.bytes_sent() == [mine["pair_forward"]] * 4


def test_the_solution_computes_what_the_library_s_split_layers_do(
    solutions: dict[str, Any],
) -> None:
    model, rng = deep_mlp(6, 10, 4), np.random.default_rng(0)
    x, dy, w = rng.normal(size=(5, 6)), rng.normal(size=(5, 4)), rng.normal(size=114)

    def both(comm: Any) -> Any:
        first, second = model.parts
        column = Columns(comm, first)  # type: ignore[arg-type]
        row = Rows(comm, second, column.cut)  # type: ignore[arg-type]
        w1, w2 = column.share(w[:70]), row.share(w[70:])
        hidden, kept = column.forward(w1, x)
        y, kept_row = row.forward(w2, hidden)
        dx = column.input_gradient(w1, kept, row.input_gradient(w2, kept_row, dy))
        own = len(w1) // 7
        columns, b1, rows, b2 = w1[:-own], w1[-own:], w2[:-4], w2[-4:]
        mine = solutions["column_row"](
            comm, x, dy, columns.reshape(own, 6), b1, rows.reshape(4, own), b2
        )
        return np.abs(mine["y"] - y).max(), np.abs(mine["dx"] - dx).max(), np.abs(dx).max()

    for y_gap, dx_gap, size in run(both, workers=3, backend="simulated").values:
        assert max(y_gap, dx_gap) < 1e-12 < 1e-2 * size


def test_every_kind_of_fault_is_asked_for_and_known(solutions: dict[str, Any]) -> None:
    found = [FAULT.expected(case, ())[0] for case in FAULT.cases(5)]
    assert set(found) == set(NAMES)
    runs = {d: lecture_08.digits_run(d, epochs=1) for d in (with_every_bias, split_in_pairs)}
    named = []
    for divide, made in runs.items():
        asked = lecture_08.put_together(made, divide)
        named.append(solutions["split_fault"](4, 0, 0, asked.split, asked.joined, asked.bias))
    assert named == ["bias of every rank", "right"]


def test_a_right_pair_costs_what_two_rings_cost(solutions: dict[str, Any]) -> None:
    case = next(PAIR.cases(0))
    arguments = [PAIR.arguments(case, rank, 0) for rank in range(4)]
    made = run(
        lambda comm: solutions["column_row"](comm, *arguments[comm.rank]),
        workers=4, backend="simulated",
    )  # fmt: skip
    assert made.trace.n_bytes == PAIR.price(case).n_bytes == 2 * 3 * 6 * (3 + 4) * 8
