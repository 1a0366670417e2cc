"""Whoever runs the ranks, the simulator or real processes: an answer's verdict is the same."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from course_lib import checks, run
from course_lib.checks import sandbox
from course_lib.checks.check import check, report_on
from course_lib.checks.report import Report
from course_lib.checks.sandbox import Observation, mishap_of
from course_lib.checks.task import Case, LocalTask, Task
from course_lib.checks.verdict import judge
from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import RunError
from course_lib.comm.shipping import pack_call
from tests.exercises.answers import MUTANTS, RIGHT_ANSWERS, header, load, name_of

ROUNDS = int(os.environ.get("COURSE_ROUNDS", "20"))
FIRST = {f"lecture_{number:02}" for number in range(7)}
TIMED = {"ping_pong", "exchange_layerwise"}
"""Tasks where times of the simulator's network decide: these have one world."""
ANSWERS = [path for path in [*RIGHT_ANSWERS, *MUTANTS] if checks._HOME[path.parent.name] in FIRST]
LIMIT_S = 20.0
# Else every process would load this module, and pytest with it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def take_part(packed: bytes, task: Task, case: Case, comm: Communicator) -> Any:
    """Do on a process of its own what a simulated rank of an examination does."""
    weights: sandbox.Weights = {}
    sandbox.room[:] = [(packed, task, case, None, os.getpid(), weights)]
    return sandbox.attempt(comm), weights


def observed(packed: bytes, task: Task, case: Case) -> Observation:
    try:
        result = run(
            partial(take_part, packed, task, case), workers=case.workers, backend="processes",
            rendezvous=case.rendezvous, seed=case.seed % 2**32, time_limit_s=LIMIT_S,
        )  # fmt: skip
    except RunError as error:
        return Observation(mishap=mishap_of(error), trace=error.trace)
    ranks = range(case.workers)
    reports = [value for value, _ in result.values]
    return Observation(
        values=[[reports[rank][0][call] for rank in ranks] for call in range(case.calls)],
        changed=[(rank, *place) for rank in ranks for place in reports[rank][1]],
        shared=[(rank, *place) for rank in ranks for place in reports[rank][2]],
        trace=result.trace,
        weights={key: value for _, weights in result.values for key, value in weights.items()},
    )


def verdict_on_processes(task: Task, fn: Any, cases: list[Case]) -> Report:
    packed = pack_call(fn, ())
    seen: list[Observation] = []
    for case in cases:
        seen.append(observed(packed, task, case))
        if seen[-1].mishap is not None or judge(task, case, seen[-1]) is not None:
            break
    return report_on(task, fn, cases, seen, None)


def some(cases: list[Case], seed: int) -> list[Case]:
    """Choose a few cases: an examination has up to fifty, each with processes of its own."""
    rng = np.random.default_rng(seed)
    return [cases[int(k)] for k in sorted(rng.choice(len(cases), min(4, len(cases)), False))]


def assert_one_verdict(path: Path, rounds: int) -> None:
    """Judge an answer again and again, with new random cases, in both worlds."""
    task, fn, is_right = checks.task_named(path.parent.name), load(path), path.stem[0] == "r"
    is_alone = task.name in TIMED or isinstance(task, LocalTask)
    for seed in range(1, rounds + 1):
        cases = list(task.cases(seed))
        simulated = check(task, fn, secrets=[seed])
        assert simulated.passed == is_right, simulated
        assert is_right or simulated.hint_id == header(path, "hint"), simulated
        if is_alone:
            continue
        if is_right:
            assert verdict_on_processes(task, fn, some(cases, seed)).passed
            continue
        assert simulated.fault is not None
        if "virtual" in simulated.fault.says or simulated.hint_id == "library-answer":
            continue  # seconds that only the simulator has; what no rank sees
        failing = next(case for case in cases if str(case) == simulated.case)
        here = verdict_on_processes(task, fn, [failing])
        if here.mishap and simulated.mishap and here.mishap.rank != simulated.mishap.rank:
            continue  # several fail at the same time
        assert here.hint_id == simulated.hint_id, f"{here}\n\n{simulated}"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_right_and_a_wrong_answer_have_one_verdict_in_both_worlds() -> None:
    for paths in (RIGHT_ANSWERS, MUTANTS):
        assert_one_verdict(next(one for one in paths if one.parent.name == "shift_right"), 1)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", ANSWERS, ids=name_of)
def test_an_answer_has_one_verdict_in_both_worlds_twenty_times_in_a_row(path: Path) -> None:
    assert_one_verdict(path, ROUNDS)
