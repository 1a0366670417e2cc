"""Random programs in runs that survive: nothing changes without a loss, and none hangs with one."""

import random
import warnings

import pytest

from course_lib import run
from course_lib.comm.errors import WorkerKilled
from course_lib.comm.simulated.faults import Crash, Faults
from tests.fuzz.generate import generate
from tests.fuzz.options import SEED, programs
from tests.fuzz.perform import perform

pytestmark = pytest.mark.slow


def performed(program, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(
            perform, [program], False, False, workers=program.ranks, backend="simulated",
            rendezvous=program.rendezvous, time_limit_s=20.0, **options,
        )  # fmt: skip


def seen(result):
    messages = [(m.src, m.dst, m.tag, m.n_bytes, m.received_s) for m in result.trace.messages]
    return repr(result.values), messages


def with_a_loss(program, number, restart, elapsed_s):
    """Crash a rank at some moment; return the result, or None if it was the end of all."""
    rng = random.Random(number)
    crash = Crash(rng.randrange(program.ranks), rng.random() * elapsed_s)
    try:
        return performed(program, survive=True, restart=restart, faults=Faults([crash]))
    except WorkerKilled:  # every rank needed it, or one that did
        return None


def test_a_program_in_a_run_that_survives_is_the_same_and_ends_when_a_rank_is_lost():
    n_survived = n_lost = 0
    for number in range(programs(40)):
        program = generate(SEED, number)
        calm = performed(program)
        assert seen(performed(program, survive=True)) == seen(calm), number
        for restart in (0, 1):
            result = with_a_loss(program, number, restart, calm.elapsed_s)
            if result is None:
                n_lost += 1
                continue
            again = with_a_loss(program, number, restart, calm.elapsed_s)
            assert seen(again) == seen(result), number
            n_survived += 1
    assert n_survived >= 5
    assert n_lost >= 5
