"""Backup workers, averaging, steps by staleness; and how large rates may be for old gradients."""

import math
from functools import partial

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.comm.simulated.network import Network
from course_lib.costs import backup_step, delayed_edge, implicit_momentum, mean_square_edge
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import (
    asynchronous_averaging,
    backup_workers,
    bounded_staleness,
    downpour,
    parameter_server,
    staleness_aware,
    train,
)
from course_lib.training import SGD, Adagrad, Plan
from tests.schemes.asynchronous import BOWL, free, landed, on_bowl, staleness

MODEL = mlp(3, 6, 2)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(50, 3)), RNG.integers(0, 2, size=50)
ALONE = {
    "backup_workers": partial(backup_workers, backups=0),
    "asynchronous_averaging": asynchronous_averaging,
    "averaging now and then": partial(asynchronous_averaging, every=3),
    "staleness_aware": staleness_aware,
}
ANSWERED = partial(downpour, push_returns=True)

simulated = partial(run, backend="simulated")


@pytest.mark.parametrize("rendezvous", [False, True])
@pytest.mark.parametrize("make", [SGD, Adagrad])
@pytest.mark.parametrize("name", ALONE)
def test_one_worker_is_serial_to_the_bit(name, make, rendezvous):
    plan = Plan(0.1, 8, 3, momentum=0.9 * (make is SGD), clip=0.2, weight_decay=0.05)
    found = simulated(
        partial(ALONE[name], optimizer=make), MODEL, X, Y, plan, workers=2, rendezvous=rendezvous
    ).values
    expected = train(MODEL, X, Y, plan, make)
    assert {value.w.tobytes() for value in found} == {expected.w.tobytes()}
    assert np.sum([value.losses for value in found], axis=0).tolist() == expected.losses


@pytest.mark.parametrize("name", [name for name in ALONE if name != "averaging now and then"])
def test_each_ends_with_one_model_in_every_world(name, world):
    model, plan, sides = LogisticRegression(3), Plan(0.2, 8, 4), (X[:, 0] > 0).astype(int)
    scheme = partial(backup_workers, backups=1) if name == "backup_workers" else ALONE[name]
    values = world(scheme, model, X, sides, plan, workers=4).values
    assert len({value.w.tobytes() for value in values}) == 1
    assert {len(value.losses) for value in values} == {28}
    assert model.loss(values[0].w, (X, sides)) < 0.9 * model.loss(model.initial(), (X, sides))


@pytest.mark.parametrize("name", ALONE)
def test_the_same_times_give_the_same_trace_and_curve_to_the_bit(name):
    def tried(seed):
        network = free(3).with_exponential_service(seed)
        result = simulated(ALONE[name], BOWL, *pairs(12), Plan(0.3, 3, 8), workers=4,
                           network=network)  # fmt: skip
        return result.trace.to_json(), [value.losses for value in result.values]

    assert tried(1) == tried(1)
    assert tried(1)[0] != tried(2)[0]


@pytest.mark.parametrize("name", [*ALONE, "downpour", "bounded_staleness"])
def test_two_parameters_are_noted_after_every_update(name):
    scheme = {"downpour": downpour, "bounded_staleness": bounded_staleness}.get(name)
    result = on_bowl(scheme or ALONE[name], 3, 12, free(3), rate=0.1)
    noted = [note.value for note in result.trace.notes_named("w")]
    assert len(noted) == 12
    assert noted[-1] == result.values[0].w.tolist()
    assert noted[0] != noted[-1]


# Backup workers


def pairs(n):
    """As many examples, on both sides of 0."""
    X = np.where(np.arange(n) % 2, -1.0, 1.0)
    return X[:, None], X


def one_example_a_second(n_workers):
    flops = BOWL.flops(pairs(1))
    return Network("free", 0.0, math.inf, (1e12,) + (flops,) * n_workers)


def test_without_backups_it_is_the_parameter_server_to_the_bit():
    plan = Plan(0.1, 8, 3, momentum=0.9, clip=0.2)
    network = free(3).with_exponential_service(1)
    scheme = partial(backup_workers, backups=0)
    found = simulated(scheme, MODEL, X, Y, plan, workers=4, network=network)
    expected = simulated(parameter_server, MODEL, X, Y, plan, workers=4)
    assert [v.w.tobytes() for v in found.values] == [v.w.tobytes() for v in expected.values]
    assert sum(note.value for note in found.trace.notes_named("dropped")) == 0
    other = simulated(backup_workers, MODEL, X, Y, plan, workers=4, network=network)
    assert np.abs(other.values[0].w - expected.values[0].w).max() > 1e-3


@pytest.mark.slow
def test_a_step_with_backups_takes_as_long_as_the_formula_says():
    needed, backups, n_steps = 3, 2, 4000
    n_workers = needed + backups
    network = one_example_a_second(n_workers).with_exponential_service(5)
    result = simulated(
        partial(backup_workers, backups=backups), BOWL, *pairs(n_workers),
        Plan(0.01, n_workers, n_steps), workers=1 + n_workers, network=network,
    )  # fmt: skip
    steps = np.array([note.time_s for note in result.trace.notes_named("dropped")])
    found = steps[-1] / n_steps
    assert found == pytest.approx(backup_step(needed, backups), rel=0.01)
    # The likely mistakes: late work costs nothing, or all are waited for.
    assert found > 1.15 * backup_step(needed, backups, interrupted=True)
    assert found < 0.8 * backup_step(needed + backups, 0)


def test_a_straggler_is_not_waited_for_and_its_gradients_are_dropped():
    network = one_example_a_second(4).with_straggler(2, 20)
    plan = Plan(0.1, 4, 100)
    result = simulated(backup_workers, BOWL, *pairs(4), plan, workers=5, network=network)
    waiting = simulated(parameter_server, BOWL, *pairs(4), plan, workers=5, network=network)
    assert result.elapsed_s < 1.3 * 100 < waiting.elapsed_s / 10
    dropped = sum(note.value for note in result.trace.notes_named("dropped"))
    assert dropped in (4, 5)
    computed = np.array(result.values[2].losses) > 0
    assert computed.sum() == dropped + 1  # the last one comes after the last step


def test_the_mean_is_over_those_that_came():
    """Targets of 0 but for one worker's rows, which is late: as if there were no such rows."""
    network = one_example_a_second(4).with_straggler(4, 1e6)
    rows, targets = np.ones((4, 1)), np.zeros(4)
    order = np.random.default_rng([0, 0]).permutation(4)  # the batch's order: its last is rank 4's
    targets[order[3]] = 100.0
    w = simulated(backup_workers, BOWL, rows, targets + 1, Plan(0.5, 4, 1), workers=5,
                  network=network).values[0].w  # fmt: skip
    np.testing.assert_allclose(w, [0.5, 0.5], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("backups", "workers", "told"),
    [
        (3, 4, "backups must be less than the 3 workers, so that a step waits for one; got 3"),
        (-1, 4, "backups must be an int of 0 or more, got -1"),
        (0, 1, "workers must be 2 or more, got 1"),
    ],
)
def test_what_leaves_nobody_to_wait_for_is_named(backups, workers, told):
    with pytest.raises(RunError, match=told) as caught:
        simulated(partial(backup_workers, backups=backups), MODEL, X, Y, Plan(), workers=workers)
    assert len(caught.value.trace.messages) == 0


# Averaging


def test_replicas_that_take_turns_are_averaged_as_by_hand():
    """Constant times and two replicas: exchanges alternate."""
    model, rows = LinearRegression(1), pairs(2)
    for elastic in (False, True):
        scheme = partial(asynchronous_averaging, mixing=0.25, elastic=elastic)
        found = on_bowl(scheme, 2, 9, free(2), rate=0.3).values[0].w
        centre, own = np.zeros(2), [np.zeros(2), np.zeros(2)]
        for update in range(9):
            w = own[update % 2]
            w = w - 0.3 * model.gradient(w, rows)[1]
            old, centre = centre, 0.75 * centre + 0.25 * w
            own[update % 2] = 0.75 * w + 0.25 * old if elastic else centre
        np.testing.assert_allclose(found, centre, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"every": 0}, "every must be an int of 1 or more, got 0"),
        ({"mixing": 0.0}, "mixing must be above 0 and 1 or less, or None, got 0.0"),
        ({"mixing": 1.5}, "mixing must be above 0 and 1 or less, or None, got 1.5"),
    ],
)
def test_a_mixture_that_is_none_is_named(options, told):
    with pytest.raises(RunError, match=told):
        simulated(partial(asynchronous_averaging, **options), MODEL, X, Y, Plan(), workers=3)


# Staleness and the learning rate


def test_a_gradients_step_is_divided_by_its_staleness():
    """All compute equally long, so that after the first few every gradient is stale by 4."""
    rate, n = 0.2, 40
    result = on_bowl(staleness_aware, 5, n, free(5), rate)
    versions = [np.zeros(2)]
    for update, old in enumerate(staleness(result.trace)):
        grad = BOWL.gradient(versions[update - old], pairs(2))[1]
        versions.append(versions[-1] - rate / max(old, 1) * grad)
    w = versions[-1]
    np.testing.assert_allclose(result.values[0].w, w, rtol=0, atol=1e-15)
    assert max(staleness(result.trace)) == 4
    plain = on_bowl(downpour, 5, n, free(5), rate).values[0].w
    assert np.abs(plain - w).max() > 1e-4


def distance(scheme, n_replicas, n_updates, rate):
    """How far from the bottom of the bowl training ends."""
    return np.abs(on_bowl(scheme, n_replicas, n_updates, free(n_replicas), rate).values[0].w[1] - 1)


PAST_EDGE = "ignore:learning_rate:RuntimeWarning"


@pytest.mark.slow
@pytest.mark.filterwarnings(PAST_EDGE)
@pytest.mark.parametrize("n_replicas", [2, 4])
def test_the_edge_of_stability_is_where_the_formula_has_it_within_one_percent(n_replicas):
    """Of 1 to 16 replicas the recursion itself has it, in the tests of formulas."""
    edge, n_updates = delayed_edge(n_replicas), 250 * (2 * n_replicas - 1)
    assert distance(ANSWERED, n_replicas, n_updates, 0.99 * edge) < 0.5
    assert distance(ANSWERED, n_replicas, n_updates, 1.01 * edge) > 2
    # One that forgets how old gradients are would have the edge of one replica.
    assert edge < 0.6 * delayed_edge(1)


@pytest.mark.filterwarnings(PAST_EDGE)
def test_by_staleness_a_rate_is_stable_that_would_not_be():
    rate = 2 * delayed_edge(8)
    assert distance(downpour, 8, 400, rate) > 1e3
    assert distance(staleness_aware, 8, 400, rate) < 1e-3


def test_a_rate_past_the_edge_is_told_where_the_edge_can_be_known():
    with pytest.warns(RuntimeWarning, match=r"learning_rate 0.5 is past 0.445, .* 4 replicas"):
        on_bowl(downpour, 4, 30, free(4), rate=0.5)
    on_bowl(downpour, 4, 30, free(4), rate=0.44)  # a warning would be an error
    on_bowl(downpour, 3, 30, free(3), rate=0.5)
    for scheme, stable, past, told in (
        (partial(bounded_staleness, bound=0), 0.5, 0.51, r"is past 0.5, .* 2 / P"),
        (bounded_staleness, 0.44, 0.5, r"is past 0.445, .* 2 sin"),
        (staleness_aware, 1.33, 1.34, r"is past 1.34, .* \(P - 1\) 2 sin"),
    ):
        on_bowl(scheme, 4, 30, free(4), rate=stable)
        with pytest.warns(RuntimeWarning, match=told):
            on_bowl(scheme, 4, 30, free(4), rate=past)


def paths(orders, n_replicas, rate):
    """Walk down a bowl of curvature 1 from 1: in each run, who of the replicas pushes when."""
    every = np.arange(len(orders))
    w, read = np.ones(len(orders)), np.ones((len(orders), n_replicas))
    found = [w]
    for who in orders.T:
        w = w - rate * read[every, who]
        read[every, who] = w  # the push returns the next parameters
        found.append(w)
    return np.array(found)


def any_order(n_replicas, n_updates, n_runs=20_000):
    """Exponential service has no memory: whatever has been, anybody may be next."""
    return np.random.default_rng(0).integers(n_replicas, size=(n_runs, n_updates))


def test_the_scheme_walks_as_the_order_of_its_pushes_says():
    """So that what follows may draw orders, twenty thousand of them, in place of times."""
    n_updates, pushes = 25, {}
    network = free(4).with_exponential_service(seed=3)
    trace = on_bowl(ANSWERED, 4, n_updates, network, rate=0.2).trace
    for rank, numbers in landed(trace).items():
        pushes |= dict.fromkeys(numbers, rank - 1)
    order = [pushes[number] for number in range(n_updates)]
    found = [1 - note.value[1] for note in trace.notes_named("w")]
    expected = paths(np.array([order]), 4, 0.2)[1:, 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    other = paths(np.array([order[::-1]]), 4, 0.2)[1:, 0]
    assert np.abs(other - expected).max() > 1e-3


@pytest.mark.parametrize("n_replicas", [2, 4, 8])
def test_asynchrony_begets_momentum(n_replicas):
    """The mean step is 1 - 1/P of the one before and -rate/P of where it was, within 2 %."""
    rate = 0.2
    path = paths(any_order(n_replicas, 25), n_replicas, rate).mean(axis=1)
    steps = np.diff(path)
    terms = np.stack([steps[:-1], path[1:-1]], axis=1)
    (momentum, share), *_ = np.linalg.lstsq(terms, steps[1:], rcond=None)
    assert momentum == pytest.approx(implicit_momentum(n_replicas), rel=0.02)
    assert share == pytest.approx(-rate / n_replicas, rel=0.02)
    # The likely mistakes: no momentum, and a step that is as long as that of one replica.
    assert implicit_momentum(n_replicas) > 10 * 0.02
    assert rate > 1.2 * rate / n_replicas


@pytest.mark.parametrize("n_replicas", [1, 2, 3, 4, 8])
def test_the_mean_square_grows_beyond_its_edge_and_shrinks_before_it(n_replicas):
    """From the 10th update to the 50th: later, rare runs carry the growth, and a mean misses it."""
    growth = {}
    for part in (0.9, 1.1):
        rate = part * mean_square_edge(n_replicas)
        squares = (paths(any_order(n_replicas, 50), n_replicas, rate) ** 2).mean(axis=1)
        growth[part] = squares[50] / squares[10]
    assert growth[0.9] <= 1 / 1.5
    assert growth[1.1] >= 1.5
    # Where all take equally long, the smaller rate is past the edge already.
    if n_replicas > 1:
        by_turns = np.tile(np.arange(n_replicas), 60)[None]
        walk = np.abs(paths(by_turns, n_replicas, 0.9 * mean_square_edge(n_replicas)))
        assert walk[-n_replicas:].max() > 2 * walk[: 2 * n_replicas].max()
