"""A formula that is asked what makes no sense says so, and calculates nothing."""

import inspect
import math
import re
import sys
from fractions import Fraction

import numpy as np
import pytest

from course_lib.costs import (
    Step,
    backup_step,
    catalogue,
    crossover,
    fit,
    fit_line,
    predicted_s,
    price,
    scaling,
    server_step,
)
from course_lib.costs.fit import Line
from course_lib.costs.server_step import bandwidth_for, best_servers, server_step_s

PRICE = {
    "collective": "allreduce_ring", "size": 4, "n_bytes": 800, "item_bytes": 8, "eager_bytes": 100,
}  # fmt: skip
PREDICTED = {**PRICE, "alpha_s": 1e-5, "beta_s_per_byte": 1e-9}
STEP = {
    "batch": 64, "example_s": 1e-3, "n_bytes": 1000, "alpha_s": 1e-5, "beta_s_per_byte": 1e-9,
}  # fmt: skip
SERVER = {
    "workers": 4, "n_bytes": 10**6, "compute_s": 2e-3, "update_s": 0.0, "latency_s": 2e-5,
}  # fmt: skip
CALLS = {
    "price": (price, PRICE),
    "predicted_s": (predicted_s, PREDICTED),
    "time_s": (price(**PRICE).time_s, {"alpha_s": 1e-5, "beta_s_per_byte": 1e-9}),
    "times": (price(**PRICE).times, {"item_bytes": 8}),
    "Step.compute_s": (Step(**STEP).compute_s, {"workers": 2}),
    "Step.exchange_s": (Step(**STEP).exchange_s, {"workers": 2}),
    "Step.best": (lambda sizes: Step(**STEP).best([1, sizes]), {"sizes": 2}),
    "fit_line, seconds": (lambda seconds: fit_line([(1, 1), (2, seconds)]), {"seconds": 2}),
    "fit_line, bytes": (lambda bytes: fit_line([(0, 1), (bytes, 2)]), {"bytes": 2}),
    "crossover": (
        crossover,
        {"few_rounds": "allreduce_butterfly", "few_bytes": "allreduce_ring", "size": 4},
    ),
    "Step": (Step, STEP),
    "Step.time_s": (Step(**STEP).time_s, {"workers": 2}),
    "Step.efficiency": (Step(**STEP).efficiency, {"workers": 2}),
    "Step.grown": (Step(**STEP).grown, {"workers": 2}),
    "Line.time_s": (Line(1e-5, 1e-9, 1.0).time_s, {"n_bytes": 8}),
    "server_step_s": (server_step_s, {**SERVER, "beta_s_per_byte": 1e-9, "servers": 2}),
    "bandwidth_for": (bandwidth_for, {"efficiency": 0.5, **SERVER}),
    "best_servers": (best_servers, {"computers": 4, "transfer_s": 1e-3, "compute_s": 1e-3}),
}
NUMBERS = [
    (name, argument)
    for name, (_, arguments) in CALLS.items()
    for argument, value in arguments.items()
    if not isinstance(value, str)
]


@pytest.mark.parametrize(("name", "argument"), NUMBERS)
def test_no_number_is_taken_that_is_none_negative_or_endless(name, argument):
    fn, arguments = CALLS[name]
    fn(**arguments)
    for wrong in (-1, -math.inf, math.nan, math.inf, "4", None, True, [1], 1j):
        with pytest.raises((TypeError, ValueError)) as refused:
            fn(**arguments | {argument: wrong})
        named = "workers" if argument == "sizes" else argument
        sentence = rf"{named}\b.* must be .+, got {re.escape(repr(wrong))}"
        assert re.match(sentence, str(refused.value)), str(refused.value)


def public_callables():
    """Name every public function, and every public method, that takes numbers."""
    for module in (catalogue, fit, sys.modules["course_lib.costs.price"], scaling, server_step):
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isfunction(found) and name not in UNCHECKED:
                yield name
            if inspect.isclass(found) and name not in UNCHECKED:
                for method, fn in vars(found).items():
                    takes = inspect.isfunction(fn) and list(inspect.signature(fn).parameters)[1:]
                    if takes and not method.startswith("_"):
                        yield f"{name}.{method}"


# The first is given a name; the others are parts of the formulas, which `price` has checked.
UNCHECKED = {"check_collective", "chunk_sizes", "in_rounds", "Items"}


@pytest.mark.parametrize("name", sorted(public_callables()))
def test_every_public_function_is_tried_with_nonsense(name):
    names = {called.split(",")[0] for called in CALLS}
    assert name in names or name.removeprefix("Price.") in names


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: price("allreduce_ring", 4.0, 8),
            "size must be an int from 1 to 1,000,000, got 4.0",
        ),
        (lambda: price("allreduce_ring", 2**70, 8), "size must be an int from 1 to 1,000,000"),
        (lambda: backup_step(2**70, 1), "needed must be an int from 1 to 1,000,000"),
        (lambda: predicted_s("gather", 4, 8, 10**400, 0), "alpha_s must be 0 or more and finite"),
        (lambda: price("broadcast_flat", 4, 8, root=4), "root must be a rank from 0 to 3, got 4"),
        (lambda: price("broadcast_flat", 4, 8, root=True), "root must be an int of 0 or more"),
        (lambda: price("allreduce_ring", 4, 8, root=0), "allreduce_ring has no option 'root'"),
        (
            lambda: price("allreduce_two_level", 4, 8, ranks_per_host=0),
            "ranks_per_host must be an int of 1 or more",
        ),
        (lambda: price("allreduce_ring", 4, 8, rendezvous=1), "rendezvous must be True or False"),
        (lambda: price(["ring"], 4, 8), "collective must be one of"),
        (lambda: crossover("allreduce_tree", "ring", 4), "collective must be one of"),
        (lambda: Step(**STEP, collective="ring"), "collective must be one of"),
        (lambda: Step(**STEP, hideable=1.5), "hideable must be from 0 to 1"),
        (lambda: Step(**STEP).best([]), "sizes must name one number of workers or more"),
        (lambda: best_servers(1, 1e-3, 1e-3), "computers must be an int of 2 or more, got 1"),
    ],
)
def test_a_wrong_argument_is_named(call, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence.replace("[", r"\[")):
        call()


@pytest.mark.parametrize(
    "points",
    [
        [(1, math.nan), (2, 1)], [(1, math.inf), (2, 1)], [(math.nan, 1), (2, 1)],
        [(1, -1), (2, 1)],
        [(-1, 1), (-2, 2)], [("1", 1), (2, 1)], [(1, True), (2, 1)], [(1, 1e-320), (2, 1e300)],
        [(1e308, 1), (2, 1e-308)],
    ],
)  # fmt: skip
def test_no_line_is_fitted_to_what_is_no_measurement(points):
    with pytest.raises((TypeError, ValueError), match=r"of a point|no line goes through"):
        fit_line(points)


def test_numbers_of_numpy_and_fractions_are_numbers():
    size, n_bytes = np.int64(4), np.int32(800)
    assert price("allreduce_ring", size, n_bytes) == price("allreduce_ring", 4, 800)
    found = price("allreduce_ring", 4, 800)
    assert found.time_s(Fraction(1, 2), np.float32(0)) == found.latencies / 2
