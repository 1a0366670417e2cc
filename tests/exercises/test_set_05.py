"""Exercises 05: one truth in notebook, check and library; the numbers that the texts name."""

import ast
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from authoring.scripts import read_script
from course_lib import checks, networks, run
from course_lib.checks.cost import measured_price
from course_lib.checks.lecture_05 import data, wasted_bytes
from course_lib.checks.lecture_05.allreduce_butterfly import TASK as BUTTERFLY
from course_lib.checks.lecture_05.allreduce_ring import TASK as RING
from course_lib.checks.lecture_05.allreduce_tree import TASK as TREE
from course_lib.checks.lecture_05.predict_crossover import TASK as CROSSOVER
from course_lib.checks.lecture_05.reduce_scatter_ring import TASK as REDUCE_SCATTER
from course_lib.checks.lecture_05.rings import after_gathering, after_reducing
from course_lib.checks.task import ALL_SIZES, Task
from tests.exercises.answers import SETS, handed_in

COLLECTIVES = (TREE, BUTTERFLY, REDUCE_SCATTER, RING)
every_collective = pytest.mark.parametrize("task", COLLECTIVES, ids=lambda task: task.name)


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_05", solved=True)


def library(name: str) -> Callable[..., Any]:
    collective: Callable[..., Any] = getattr(
        importlib.import_module(f"course_lib.collectives.{name}"), name
    )
    return collective


def cost(trace: Any) -> tuple[int, list[int], list[int], int]:
    return trace.n_messages, trace.bytes_sent(), trace.bytes_received(), trace.rounds()


@every_collective
@pytest.mark.parametrize("size", ALL_SIZES)
def test_solution_and_library_return_and_send_the_same(
    task: Task, size: int, solutions: dict[str, Any]
) -> None:
    rng = np.random.default_rng(size)
    given = rng.normal(size=(size, 2 * size))  # chunks of equal length: every cut is the same

    def both(comm: Any, fn: Callable[..., Any]) -> Any:
        return fn(comm, given[comm.rank])

    mine = run(both, solutions[task.name], workers=size, backend="simulated")
    ours = run(both, library(task.name), workers=size, backend="simulated")
    for one, other in zip(mine.values, ours.values, strict=True):
        np.testing.assert_array_equal(one, other)
    assert cost(mine.trace) == cost(ours.trace)


@every_collective
@pytest.mark.parametrize("size", ALL_SIZES)
def test_reference_price_is_what_the_library_costs(task: Task, size: int) -> None:
    case = data.weights_case(size)

    def one_call(comm: Any) -> Any:
        return library(task.name)(comm, data.make(case, comm.rank, 0))

    seen = run(one_call, workers=size, backend="simulated")
    cost = measured_price(seen, 1)
    price = task.price(case)
    assert cost._replace(seconds=None) == price._replace(seconds=None)
    if price.seconds is not None:
        assert cost.seconds == pytest.approx(price.seconds, rel=1e-12)
    else:
        assert task is TREE or size & (size - 1), "a power of two has a closed form"


def test_seven_nodes_take_four_rounds_of_which_each_carries_two_arrays() -> None:
    case, net = next(iter(TREE.cases(0))), networks.ethernet_10g
    n = data.n_bytes(case)
    assert [TREE.arguments(case, rank, 0)[0][0] for rank in range(7)] == [7, 5, 6, 1, 2, 3, 4]
    assert TREE.price(case).rounds == 4
    seconds = 4 * net.latency_s + 8 * n * net.beta_s_per_byte
    assert TREE.price(case).seconds == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("size", ALL_SIZES)
def test_ring_on_paper_ends_with_the_sum(size: int) -> None:
    parts = [np.arange(2 * size) + 100.0 * rank for rank in range(size)]
    for chunks in after_gathering(after_reducing(parts, size - 1), size - 1):
        np.testing.assert_array_equal(np.concatenate(chunks), np.sum(parts, axis=0))
    if size > 2:
        short = after_gathering(after_reducing(parts, size - 2), size - 1)
        assert not np.array_equal(np.concatenate(short[0]), np.sum(parts, axis=0))


@pytest.mark.parametrize(("size", "factor"), [(4, 8.0), (8, 8.8)])
def test_crossover_is_at_8_and_8_point_8_alpha_over_beta(size: int, factor: float) -> None:
    net = networks.ethernet_10g
    measured = CROSSOVER.measure(size, net.latency_s, net.bandwidth_bytes_per_s)
    assert measured["n_bytes"] == pytest.approx(
        factor * net.latency_s * net.bandwidth_bytes_per_s, rel=1e-9
    )


def test_colleagues_ring_in_the_notebook_is_the_one_that_the_check_runs(
    solutions: dict[str, Any],
) -> None:
    cell = next(cell for cell in read_script(SETS["lecture_05"]) if cell.id == "colleagues-ring")
    shown = next(node for node in ast.parse(cell.source).body if isinstance(node, ast.FunctionDef))
    checked = ast.parse(inspect.getsource(wasted_bytes.colleagues_ring)).body[0]
    assert isinstance(checked, ast.FunctionDef)
    assert list(map(ast.unparse, shown.body[1:])) == list(map(ast.unparse, checked.body[1:]))


@pytest.mark.parametrize(("size", "wasted"), [(2, 0), (4, 4.5), (8, 26.25)])
def test_colleagues_ring_wastes_what_the_answer_says(size: int, wasted: float) -> None:
    result = run(wasted_bytes.colleagues_ring, np.ones(1000), workers=size, backend="simulated")
    trace = result.trace
    assert all((total == size).all() for total in result.values)
    assert (trace.n_messages, trace.n_bytes) == (size * (size - 1), size**2 * (size - 1) / 2 * 8000)
    assert trace.bytes_sent()[0] - 2 * (size - 1) * 8000 / size == wasted * 8000


def test_report_of_a_tree_names_the_sum_of_seven_and_the_rounds(solutions: dict[str, Any]) -> None:
    def leaves_one_out(comm: Any, array: Any) -> Any:
        return solutions["allreduce_tree"](comm, 0 * array if comm.rank == 4 else array)

    told = repr(checks.allreduce_tree(leaves_one_out))
    assert "element 0 should be 28.0, got 26.0" in told
    assert "on every rank the numbers of rank 4 are missing" in told.replace("\n            ", " ")
    passed = repr(checks.allreduce_tree(solutions["allreduce_tree"]))
    assert "  rounds                                   4           4           4" in passed


@every_collective
def test_cases_hold_every_size_length_dtype_and_way_of_sending(task: Task) -> None:
    cases = list(task.cases(3))
    for size in ALL_SIZES:
        of_size = [case for case in cases if case.workers == size]
        lengths = {case.settings["shape"][0] for case in of_size}
        assert {0, 1, size - 1, size, size + 1, 13} <= lengths
        assert {case.rendezvous for case in of_size} == {True, False}
        assert any(case.calls == 2 and case.stagger for case in of_size)
    assert {case.settings["dtype"] for case in cases} == {"float64", "float32", "int64"}
    strided = next(case for case in cases if case.settings["layout"] != "plain")
    (array,) = task.arguments(strided, 0, 0)
    assert array.ndim == 2
    assert not array.flags.c_contiguous
    longest = max(data.n_bytes(case) for case in cases)
    assert longest / 8 > 16 * 1024, "a chunk of it is not copied by send"
