"""Exercises 04: one truth in notebook, check and library; the numbers that the texts name."""

import ast
import inspect
from typing import Any

import numpy as np
import pytest

from authoring.scripts import read_script
from course_lib import checks, run
from course_lib.checks.set_04 import early_answers
from course_lib.checks.set_04.assign_layers import TASK as ASSIGN
from course_lib.checks.set_04.parameter_server import SIZES
from course_lib.checks.set_04.parameter_server import TASK as SERVER
from course_lib.checks.set_04.predict_step import TASK as STEP
from course_lib.costs.server_step import server_step_s
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.model import Layer
from course_lib.schemes import parameter_server
from course_lib.training import Plan
from course_lib.training.shards import length, shards_by_size
from tests.exercises.answers import SETS, handed_in


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("set_04", solved=True)


@pytest.mark.parametrize("size", SIZES)
def test_solution_and_library_train_and_send_the_same(size: int, solutions: dict[str, Any]) -> None:
    rng = np.random.default_rng(size)
    X, y = rng.normal(size=(4 * (size - 1), 3)), rng.normal(size=4 * (size - 1))
    model, plan = LinearRegression(3), Plan(learning_rate=0.1, batch_size=len(y), epochs=3)
    whole = [next(iter(plan.shares(len(y), rank, size - 1))) for rank in range(size - 1)]

    def mine(comm: Any) -> Any:
        if comm.rank == 0:
            return solutions["parameter_server"](comm, model.initial(), None, 0.1, 3)
        examples, weight = whole[comm.rank - 1]

        def gradient(w: Any) -> Any:
            return weight * model.gradient(w, (X[examples], y[examples]))[1]

        return solutions["parameter_server"](comm, None, gradient, 0.1, 3)

    written = run(mine, workers=size, backend="simulated")
    ours = run(parameter_server, model, X, y, plan, workers=size, backend="simulated")
    for one, other in zip(written.values, ours.values, strict=True):
        np.testing.assert_allclose(one, other.w, rtol=0, atol=1e-14)
    assert written.trace.bytes_sent() == ours.trace.bytes_sent()
    assert written.trace.rounds() == ours.trace.rounds() == 7


def test_impatient_server_in_the_notebook_is_the_one_that_the_check_runs() -> None:
    cell = next(cell for cell in read_script(SETS["set_04"]) if cell.id == "impatient-server")
    shown = next(node for node in ast.parse(cell.source).body if isinstance(node, ast.FunctionDef))
    checked = ast.parse(inspect.getsource(early_answers.impatient_server)).body[0]
    assert isinstance(checked, ast.FunctionDef)
    assert list(map(ast.unparse, shown.body[1:])) == list(map(ast.unparse, checked.body[1:]))


def test_impatient_server_finds_another_model_than_the_sums_do(solutions: dict[str, Any]) -> None:
    steps, workers = 2, 3
    hasty = run(early_answers.impatient_server, steps, workers=4, backend="simulated")

    def patient(comm: Any) -> Any:
        start = np.zeros(1000) if comm.rank == 0 else None
        return solutions["parameter_server"](comm, start, lambda w: w - comm.rank, 0.1, steps)

    right = run(patient, workers=4, backend="simulated").values[0]
    apart = np.abs(hasty.values[0] - right).max() / np.abs(right).max()
    assert 0.01 < apart < 0.1, "in the second digit, the text says"
    assert solutions["early_answers"](hasty.trace) == [workers - 1] * steps


def test_early_answers_of_every_kind_are_in_the_cases() -> None:
    task = early_answers.TASK
    counts = [task.expected(c, [task.arguments(c, 0, 0)])[0] for c in task.cases(5)]
    assert any(not any(found) for found in counts), "a patient server"
    assert any(0 in found and any(found) for found in counts), "one that is hasty once"
    assert any(all(found) for found in counts), "an impatient one"


def test_greedy_of_the_check_fills_no_shard_more_than_the_librarys() -> None:
    for case in ASSIGN.cases(3):
        sizes, n_shards = ASSIGN.arguments(case, 0, 0)
        stops = np.cumsum(sizes).tolist()
        layers = [
            Layer(str(k), slice(stop - size, stop))
            for k, (size, stop) in enumerate(zip(sizes, stops, strict=True))
        ]
        homes = ASSIGN.expected(case, [(sizes, n_shards)])[0]
        loads = [0] * n_shards
        for size, home in zip(sizes, homes, strict=True):
            loads[home] += size
        assert sorted(loads) == sorted(map(length, shards_by_size(layers, n_shards)))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_measured_step_is_the_closed_form(number: int) -> None:
    workers, n_bytes, gradient_s, update_s, latency_s, bandwidth = STEP.tried()[number]
    told = server_step_s(workers, n_bytes, gradient_s, update_s, latency_s, 1 / bandwidth)
    measured = STEP.measure(*STEP.tried()[number])
    assert measured["seconds"] == pytest.approx(told, rel=1e-9)


def test_each_chain_is_the_longer_one_in_some_case() -> None:
    longer = set()
    for case in STEP.cases(1):
        workers, n_bytes, gradient_s, _, latency_s, bandwidth = case.settings["numbers"]
        wire_s = n_bytes / bandwidth
        computing_s = gradient_s + (workers + 1) * (latency_s + wire_s)
        longer.add(computing_s > 2 * workers * wire_s + workers * latency_s)
    assert longer == {True, False}


def test_report_of_a_server_names_whose_gradients_are_missing(solutions: dict[str, Any]) -> None:
    serve = solutions["parameter_server"]

    def deaf(comm: Any, w: Any, gradient: Any, learning_rate: float, steps: int) -> Any:
        mine = (lambda w: 0 * gradient(w)) if comm.rank == 2 else gradient
        return serve(comm, w, mine, learning_rate, steps)

    told = " ".join(repr(checks.parameter_server(deaf)).split())
    assert "the gradients of rank 2 are missing" in told


def test_cases_hold_every_size_and_way_of_sending() -> None:
    cases = list(SERVER.cases(3))
    for size in SIZES:
        of_size = [case for case in cases if case.workers == size]
        assert {case.rendezvous for case in of_size} == {True, False}
        assert any(case.calls == 2 and case.stagger for case in of_size)
    assert {case.settings["dtype"] for case in cases} == {"float64", "float32"}
    assert {case.settings["steps"] for case in cases} >= {0, 1, 3}
    assert max(case.settings["n"] for case in cases) * 8 > 16 * 1024, "not copied by send"
