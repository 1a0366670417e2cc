"""Searching: rungs, what is promoted, who is idle, and the same result in every run."""

import math
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.comm.errors import RunError, WorkerError
from course_lib.comm.simulated.faults import Crash, Faults
from course_lib.search import (
    Asha,
    Choice,
    Job,
    LogUniform,
    Outcome,
    RandomSearch,
    Space,
    SuccessiveHalving,
    Uniform,
    best_of,
    rungs,
    search,
)
from course_lib.search.coordinator import Coordinator

SPACE = Space({"rate": LogUniform(1e-3, 1.0), "width": Choice((8, 16, 32, 64))}, seed=1)


def train(comm, numbers, resource):
    """A training that takes as long as it is wide, and a loss that falls with the resource."""
    with comm.compute("train", flops=1e7 * resource * numbers["width"]):
        pass
    return abs(math.log10(numbers["rate"]) + 1) + 1 / resource


def searched(strategy, workers=8, backend="simulated", **options):
    task = strategy, SPACE, train
    return run(search, *task, workers=workers + 1, backend=backend, **options)


def utilisation(result):
    """Return for which part of the whole time workers computed."""
    workers = len(result.values) - 1
    computing = sum(span.end_s - span.start_s for span in result.trace.computes)
    return computing / (workers * result.elapsed_s)


def test_nine_trials_in_threes_have_the_rungs_of_the_paper():
    assert rungs(9, 1, 9) == [(9, 1), (3, 3), (1, 9)]
    assert rungs(9, 3, 9) == [(9, 3), (3, 9)]
    assert rungs(9, 9, 9) == [(9, 9)]
    budgets = [sum(n * r for n, r in rungs(9, least, 9)) for least in (1, 3, 9)]
    assert budgets == [27, 54, 81]


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((0, 1, 9, 3), "n must be an int of 1 or more, got 0"),
        ((9, 0, 9, 3), "least must be an int of 1 or more, got 0"),
        ((9, 10, 9, 3), "least must be 9 or less, which is the most, got 10"),
        ((9, 1, 9, 1), "eta must be an int of 2 or more, got 1"),
    ],
)
def test_numbers_without_a_meaning_are_refused(numbers, told):
    for make in (rungs, SuccessiveHalving, Asha):
        with pytest.raises(ValueError, match=told):
            make(*numbers)


@pytest.mark.parametrize("workers", [1, 2, 5, 9])
def test_halving_trains_what_the_rungs_say_and_promotes_the_best(workers):
    outcomes = searched(SuccessiveHalving(9, 1, 9), workers).values[0]
    by_rung = {r: [o for o in outcomes if o.job.resource == r] for r in (1, 3, 9)}
    assert [len(by_rung[r]) for r in (1, 3, 9)] == [9, 3, 1]
    assert sum(o.job.resource for o in outcomes) == 27
    for lower, upper in ((1, 3), (3, 9)):
        order = sorted(by_rung[lower], key=lambda o: o.loss)
        best = {o.job.trial for o in order[: len(by_rung[upper])]}
        assert {o.job.trial for o in by_rung[upper]} == best
        worst = {o.job.trial for o in order[-len(by_rung[upper]) :]}
        assert worst != best  # the likely mistake, to keep the largest losses


@pytest.mark.parametrize("workers", [1, 4])
def test_random_search_trains_all_to_the_end(workers):
    outcomes = searched(RandomSearch(9, 9), workers).values[0]
    assert sorted(o.job for o in outcomes) == [(trial, 9) for trial in range(9)]
    losses = [train_alone(trial, 9) for trial in range(9)]
    assert best_of(outcomes).loss == min(losses)


def train_alone(trial, resource):
    return run(train, SPACE.draw(trial), resource, workers=1, backend="simulated").values[0]


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(1, 30), most=st.integers(1, 30), eta=st.integers(2, 4), workers=st.integers(1, 8)
)
def test_asha_begins_all_and_never_promotes_more_than_one_in_eta(n, most, eta, workers):
    outcomes = searched(Asha(n, 1, most, eta), workers).values[0]
    resources = [rung.resource for rung in rungs(n, 1, most, eta)]
    counts = [sum(o.job.resource == r for o in outcomes) for r in resources]
    assert counts[0] == n
    assert sum(counts) == len(outcomes) == len({o.job for o in outcomes})
    for before, after in pairwise(counts):
        assert after >= before // eta  # what halving promotes, it promotes at least
    for place, outcome in enumerate(outcomes):  # nobody is trained longer before shorter
        if outcome.job.resource > 1:
            earlier = Job(outcome.job.trial, outcome.job.resource // eta)
            assert earlier in [o.job for o in outcomes[:place]]


@pytest.mark.parametrize("make", [SuccessiveHalving, Asha])
def test_the_same_seed_searches_in_the_same_order_and_another_does_not(make):
    first, again = (searched(make(27, 1, 9)) for _ in range(2))
    assert first.values[0] == again.values[0]
    assert first.trace.to_json() == again.trace.to_json()
    other = Space(SPACE.ranges, seed=2)
    task = partial(search, space=other, train=train)
    found = run(task, make(27, 1, 9), workers=9, backend="simulated").values[0]
    assert found != first.values[0]


def test_asha_keeps_nine_of_ten_busy_where_halving_waits_for_the_slowest():
    """One of four workers computes three times as long."""
    network = networks.ethernet_10g.with_straggler(rank=3, factor=3)
    asha, halving = (
        utilisation(searched(make(243, 1, 9), 4, network=network))
        for make in (Asha, SuccessiveHalving)
    )
    assert halving < 0.9 < 0.95 < asha


@pytest.mark.parametrize(("make", "is_busy"), [(Asha, True), (SuccessiveHalving, False)])
def test_with_asha_nobody_is_idle_while_trials_are_left(make, is_busy):
    """What lies between two of a worker's trainings, up to when half of the time is over."""
    result = searched(make(81, 1, 9))
    idle_s = []
    for rank in range(1, 9):
        spans = [span for span in result.trace.computes if span.rank == rank]
        early = [span for span in spans if span.start_s < result.elapsed_s / 2]
        idle_s += [b.start_s - a.end_s for a, b in pairwise(early)]
    assert (max(idle_s) < 1e-3) == is_busy  # two messages; a training takes 8 ms at least


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["processes", "torch"])
def test_real_workers_find_the_same_best(backend):
    """Random search and halving do not depend on who is first."""
    for strategy in (RandomSearch(6, 3), SuccessiveHalving(9, 1, 9)):
        found = searched(strategy, 3, backend).values[0]
        assert best_of(found) == best_of(searched(strategy, 3).values[0])


def test_what_is_no_number_is_worse_than_any():
    def breaks_down(comm, numbers, resource):
        loss = train(comm, numbers, resource)
        return float("nan") if numbers["width"] < 64 else loss

    found = run(
        search, SuccessiveHalving(9, 1, 9), SPACE, breaks_down, workers=3, backend="simulated"
    ).values[0]
    assert best_of(found).loss < math.inf
    assert SPACE.draw(best_of(found).job.trial)["width"] == 64


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (None, "got None"),
        (np.array([0.5]), r"got ndarray of shape \(1,\)"),
        (torch.ones(2), r"got Tensor of shape \(2,\)"),
        ((0.5, 0.9), r"got tuple \(0.5, 0.9\)"),
        ("0.5", "got str '0.5'"),
    ],
)
def test_what_train_returns_that_is_no_number_is_told(returned, told):
    def trains(comm, numbers, resource):
        return returned

    told = f"TypeError: the loss that train returns must be one number, {told}"
    with pytest.raises(WorkerError, match=told):
        run(search, RandomSearch(2, 1), SPACE, trains, workers=2, backend="simulated")


@pytest.mark.parametrize(
    "loss",
    [
        np.float32(0.5), np.array(0.5), torch.tensor([0.5], requires_grad=True), 1, True,
        Fraction(1, 2), math.inf, -math.inf,
    ],
)  # fmt: skip
def test_any_one_number_is_a_loss(loss):
    def trains(comm, numbers, resource):
        return loss

    found = run(search, RandomSearch(2, 1), SPACE, trains, workers=2, backend="simulated").values[0]
    assert [outcome.loss for outcome in found] == [loss] * 2


def test_a_job_whose_worker_is_lost_is_given_to_another():
    class Written:
        size = 3

        def __init__(self):
            self.sent = []

        def send(self, job, dst, tag):
            self.sent.append((dst, Job(*map(int, job))))

    comm = Written()
    coordinator = Coordinator(comm, RandomSearch(3, 1))
    coordinator._hand_out()
    assert comm.sent == [(1, Job(0, 1)), (2, Job(1, 1))]
    coordinator.lose(1)
    coordinator._free.append(2)
    coordinator._under_way.pop(2)
    coordinator._hand_out()
    assert comm.sent[-1] == (2, Job(0, 1))  # the lost one, before the third


@pytest.mark.slow
@pytest.mark.parametrize("make", [partial(RandomSearch, 8, 3), partial(SuccessiveHalving, 9, 1, 9)])
def test_whoever_is_lost_and_whoever_is_back_every_job_is_told_once(make):
    calm = searched(make(), workers=3)
    expected = sorted(calm.values[0])
    rng = np.random.default_rng(0)
    for _ in range(60):
        crashes = []
        for rank in (1, 2):
            at_s = float(rng.uniform(0.001, 1.2)) * calm.elapsed_s
            back_s = at_s + float(rng.exponential(0.2)) * calm.elapsed_s + 1e-9
            crashes.append(Crash(rank, at_s, back_s if rng.integers(2) else None))
        result = searched(make(), workers=3, survive=True, faults=Faults(crashes))
        assert sorted(result.values[0]) == expected


@pytest.mark.parametrize("restart", [0, 1])
def test_without_its_coordinator_a_search_ends(restart):
    with pytest.raises(RunError, match="rank 0"):
        searched(RandomSearch(8, 3), survive=True, restart=restart, faults=Faults([Crash(0, 1e-3)]))


def test_without_workers_a_search_ends():
    with pytest.raises(RunError, match="rank 1"):
        searched(RandomSearch(8, 3), workers=1, survive=True, faults=Faults([Crash(1, 1e-3)]))


def test_a_worker_is_needed():
    with pytest.raises(WorkerError, match="workers must be 2 or more, got 1"):
        searched(RandomSearch(3, 1), workers=0)


def test_a_trial_is_the_same_whoever_draws_it():
    assert SPACE.draw(7) == Space(SPACE.ranges, seed=1).draw(7) != SPACE.draw(8)
    assert all(1e-3 <= SPACE.draw(t)["rate"] <= 1 for t in range(100))
    rates = np.log10([SPACE.draw(t)["rate"] for t in range(300)])
    assert abs(rates.mean() + 1.5) < 0.2  # each order of magnitude alike; uniform, it were -0.4


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Uniform(1.0, 0.0), "low and high must be finite, in order, got 1.0, 0.0"),
        (lambda: LogUniform(0.0, 1.0), "low and high must be above 0, in order, got 0.0, 1.0"),
        (lambda: Choice(()), "values must hold one at least"),
    ],
)
def test_an_empty_range_is_refused(make, told):
    with pytest.raises(ValueError, match=told):
        make()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Choice(math.nan), "values must be a sequence, such as .* got nan"),
        (lambda: Choice("adam"), "values must be a sequence, such as .* got 'adam'"),
        (lambda: Space(math.nan), "ranges must be a dict of ranges by name, got nan"),
        (lambda: Space({"rate": 0.1}), r"ranges\['rate'\] must be a Uniform, .* got 0.1"),
    ],
)
def test_what_is_no_range_is_named(make, told):
    with pytest.raises(TypeError, match=told):
        make()


def test_of_equals_the_first_trial_is_the_best_and_short_trainings_do_not_count():
    outcomes = [Outcome(Job(0, 1), 0.1), Outcome(Job(2, 3), 0.5), Outcome(Job(1, 3), 0.5)]
    assert best_of(outcomes).job.trial == 1


@pytest.mark.parametrize("strategy", [RandomSearch(10**18, 4), SuccessiveHalving(10**18, 4, 36)])
def test_trials_that_nobody_has_asked_for_take_no_memory(strategy):
    assert [strategy.next_job() for _ in range(3)] == [Job(0, 4), Job(1, 4), Job(2, 4)]
