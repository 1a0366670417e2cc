"""Random schedules of pipelines: the unsplit model's step in every world, or refused beforehand."""

import random
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.models.deep_mlp import deep_mlp
from course_lib.pipelines import Action, Schedule
from course_lib.schemes import pipeline, train
from course_lib.schemes.pipeline import joined
from course_lib.training import Plan
from tests.fuzz.options import SEED, programs

MODEL = deep_mlp(4, *[3] * 6, 2)
PLAN = Plan(0.5, batch_size=7, epochs=2, momentum=0.5)
CLOSE = 1e-13  # two steps, each with some dozens of additions in another order


def examples():
    rng = np.random.default_rng(SEED)
    return rng.normal(size=(7, 4)), rng.integers(0, 2, size=7)


def random_schedule(number, ranks=None):
    """Stages anywhere, backward passes whole or in halves; in an order that some can do.

    Of each rank's actions, in an order in which all could be done, a few change places.
    """
    rng = random.Random(f"{SEED} {number}")
    P, M = ranks or rng.randint(1, 3), rng.randint(1, 4)
    placement = [*range(P), *(rng.randrange(P) for _ in range(rng.randint(0, 3)))]
    rng.shuffle(placement)
    kinds = {
        (stage, m): rng.choice(["FB", "FIW"]) for stage in range(len(placement)) for m in range(M)
    }
    left = [Action(kind, *at) for at, word in kinds.items() for kind in word]
    done, orders = set(), [[] for _ in range(P)]
    while left:
        ready = [action for action in left if done.issuperset(action.needs(len(placement)))]
        left.remove(action := rng.choice(ready))
        done.update(action.made)
        orders[placement[action.stage]].append(action)
    for order in orders:
        for _ in range(rng.choice([0, 0, 0, 1, 3])):
            first = rng.randrange(len(order) - 1)
            order[first], order[first + 1] = order[first + 1], order[first]
    return Schedule("random", tuple(map(tuple, orders)), tuple(placement), M)


def can_be_done(schedule):
    """Say whether nothing waits for itself: what it needs, and what its rank does before it."""
    maker = {made: action for order in schedule.orders for action in order for made in action.made}
    awaited = {
        action: {maker[needed] for needed in action.needs(schedule.n_stages)}
        for action in maker.values()
    }
    for order in schedule.orders:
        for before, after in pairwise(order):
            awaited[after].add(before)
    try:
        TopologicalSorter(awaited).prepare()
    except CycleError:
        return False
    return True


def trained(comm, schedules):
    return [
        pipeline(comm, MODEL, *examples(), PLAN, lambda *_, one=one: one, one.microbatches).w
        for one in schedules
    ]


@pytest.mark.slow
def test_what_can_be_done_is_the_unsplit_models_training_and_the_rest_is_refused():
    right = train(MODEL, *examples(), PLAN).w
    n_refused, n_all = 0, programs(40)
    for number in range(n_all):
        schedule = random_schedule(number)
        here = partial(run, trained, [schedule], workers=schedule.n_ranks, backend="simulated")
        if can_be_done(schedule):
            w = joined(schedule, MODEL, [parts[0] for parts in here(rendezvous=True).values])
            np.testing.assert_allclose(w, right, rtol=0, atol=CLOSE, err_msg=f"{number}")
        else:
            with pytest.raises(RunError, match="orders must come to an end") as caught:
                here()
            assert caught.value.trace.n_messages == 0
            n_refused += 1
    assert 0.1 * n_all < n_refused < 0.9 * n_all  # else one of the two has not been tested


@pytest.mark.slow
def test_on_real_processes_they_do_the_same_to_the_bit():
    all_ = (random_schedule(number, ranks=2) for number in range(programs(40)))
    schedules = [schedule for schedule in all_ if can_be_done(schedule)]
    real, simulated = (
        run(trained, schedules, workers=2, backend=backend)
        for backend in ("processes", "simulated")
    )
    for found, expected in zip(real.values, simulated.values, strict=True):
        assert [w.tobytes() for w in found] == [w.tobytes() for w in expected]
    assert real.trace.n_messages == simulated.trace.n_messages > 0
