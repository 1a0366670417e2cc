"""What lecture 02 measures and predicts: who holds a table, descent, the price of a step."""

import numpy as np
import pytest

from course_lib import run
from course_lib.collectives import scatter
from course_lib.lectures.lecture_02 import (
    descend,
    ends,
    shuffles_chart,
    step_chart,
    step_s,
    who_holds,
)
from course_lib.schemes.map_reduce import combine
from course_lib.viz import landscape

N_BYTES = 8 * 40_000


def step(comm, size):
    return combine(comm, np.ones(size), np.zeros(size), 0.1)


def load_all(comm):
    return np.arange(40_000.0)[comm.rank :: comm.size]


def deal_rows(comm):
    return scatter(comm, np.arange(40_000.0) if comm.rank == 0 else None)


def make_own(comm):
    return np.arange(40_000.0 // comm.size)


@pytest.mark.parametrize(
    ("load", "counted"),
    [(load_all, [0, 2, 2]), (deal_rows, [N_BYTES // 2, 1, 0]), (make_own, [0, 0, 0])],
)
def test_who_holds_a_table_counts_views_and_what_is_dropped_again(load, counted):
    assert list(who_holds(load, N_BYTES, workers=2).values()) == counted


def test_descent_goes_against_the_partial_derivatives_of_any_loss():
    target = np.array([3.0, -1.0])
    path = descend(lambda a, b: (a - 3) ** 2 / 2 + (b + 1) ** 2 / 2, (0, 0), rate=0.5, steps=20)
    assert path.shape == (21, 2)
    assert np.allclose(path[1], target / 2)
    assert np.allclose(path[-1], target, atol=1e-5)


@pytest.mark.parametrize("workers", [2, 4, 9])
@pytest.mark.parametrize("size", [10, 2048, 2049, 9000])
def test_the_price_of_a_step_is_what_the_simulator_finds(workers, size):
    found = run(step, size, workers=workers, backend="simulated")
    update_s = 2 * size / 1e10
    assert found.elapsed_s == pytest.approx(step_s(8 * size, workers) + update_s, abs=1e-8)
    wrong = step_s(8 * size, workers, eager=size > 2048)
    assert workers == 2 or abs(found.elapsed_s - wrong) > 1e-5


def test_the_chart_follows_one_formula_up_to_the_eager_limit_and_the_other_one_above():
    lines = {line["name"]: line for line in step_chart(step, 4).chart["lines"]}
    simulated, eager, rendezvous = (1e3 * np.array(line["y"]) for line in lines.values())
    eager_half = np.array(lines["simulated"]["x"]) <= 16
    assert next(iter(lines)) == "simulated"
    assert 0 < eager_half.sum() < len(eager_half)
    assert np.abs(simulated - eager)[eager_half].max() < 1
    assert np.abs(simulated - rendezvous)[~eager_half].max() < 1
    assert (rendezvous - eager).min() > 39


def test_ends_are_the_last_places_by_name():
    path = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]])
    picture = landscape({"a": path, "b": path[:2]}, lambda a, b: a**2 + b**2)
    assert {name: end.tolist() for name, end in ends(picture).items()} == {"a": [3, 4], "b": [1, 2]}


def test_many_shuffles_are_a_median_over_thin_curves():
    lines = shuffles_chart({2: [1.0, 3.0, 2.0], 4: [10.0, 50.0, 20.0]}).chart["lines"]
    median = [line for line in lines if not line["faint"]]
    assert [(line["name"], line["y"]) for line in median] == [("median of 3 shuffles", [2, 20])]
    assert [line["y"] for line in lines if line["faint"]] == [[1, 10], [3, 50], [2, 20]]
