"""Random programs over torch.distributed: results and deadlocks are the simulator's."""

import sys

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from tests.contract.test_started_programs import follow, steps
from tests.processes.test_random_programs import TOGETHER, check_correct, check_planted

pytestmark = [pytest.mark.slow, pytest.mark.soak]  # tests/fuzz has some with every run

for helper in (follow, check_correct):  # else every worker would import the module, and pytest
    cloudpickle.register_pickle_by_value(sys.modules[helper.__module__])


def follow_all(comm, many):
    return [follow(comm, program) for program in many]


def of_each_pair(trace):
    return sorted((m.comm, m.src, m.dst, m.tag or 0, m.dtype, m.shape) for m in trace.messages)


@given(
    many=st.lists(st.lists(steps, max_size=6), min_size=3, max_size=8),
    workers=st.integers(1, 4),
    rendezvous=st.booleans(),
)
@settings(max_examples=8, deadline=None)
def test_random_programs_give_the_same_as_on_the_simulator(many, workers, rendezvous):
    simulated, real = (
        run(follow_all, many, workers=workers, backend=backend, rendezvous=rendezvous)
        for backend in ("simulated", "torch")
    )
    assert real.values == simulated.values
    assert of_each_pair(real.trace) == of_each_pair(simulated.trace)
    assert real.trace.unreceived() == []


def test_planted_deadlocks_are_found_as_on_the_simulator(usual_method):
    check_planted(8, usual_method, "torch")


@TOGETHER
def test_correct_programs_with_late_ranks_are_never_called_deadlocks(
    usual_method, tmp_path, beside
):
    n_halts = sum(
        check_correct(k, 4, usual_method, tmp_path / str(k), beside, "torch") for k in range(3)
    )
    print(f"ranks halted {n_halts} times: no false alarm")
    assert n_halts > 0


@pytest.mark.soak
@TOGETHER
def test_two_thousand_correct_programs_are_never_called_deadlocks(usual_method, tmp_path, beside):
    for k in range(20):
        check_correct(k, 50, usual_method, tmp_path / str(k), beside, "torch")
