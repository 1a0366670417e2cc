"""Downpour: with one replica it is serial, with more every gradient is as stale as theory says."""

from functools import partial

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.comm.simulated.network import Network
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import downpour, train
from course_lib.training import SGD, Adagrad, AdamW, Lots, Plan
from course_lib.training.shards import shards_by_name, shards_evenly
from tests.schemes.asynchronous import (
    BOWL,
    SERVICE,
    X_BOWL,
    Y_BOWL,
    free,
    landed,
    on_bowl,
    staleness,
)  # fmt: skip

MODEL = mlp(3, 6, 2)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(50, 3)), RNG.integers(0, 2, size=50)
PLAN = Plan(0.1, 8, 3, momentum=0.9, clip=0.2, weight_decay=0.05, warmup_steps=4)
ANSWERED = partial(downpour, push_returns=True)

simulated = partial(run, backend="simulated")


def bits(arrays):
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("push_returns", [False, True])
@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize(
    ("make", "plan"),
    [(SGD, PLAN), (Adagrad, Plan(0.1, 8, 3, clip=0.2)), (AdamW, Plan(0.05, 8, 3, accumulate=2))],
)
@pytest.mark.parametrize("rendezvous", [False, True])
def test_one_replica_is_serial_to_the_bit(push_returns, n_shards, make, plan, rendezvous):
    scheme = partial(
        downpour, push_returns=push_returns, shards=shards_evenly(MODEL.n_parameters, n_shards),
        optimizer=make,
    )  # fmt: skip
    found = simulated(scheme, MODEL, X, Y, plan, workers=n_shards + 1, rendezvous=rendezvous).values
    expected = train(MODEL, X, Y, plan, make)
    assert bits(value.w for value in found) == [expected.w.tobytes()] * len(found)
    assert np.sum([value.losses for value in found], axis=0).tolist() == expected.losses


def by_hand(n_fetch, n_push, plan):
    """What one replica and one server come to, in the order of the paper's algorithm."""
    w, accrued = MODEL.initial(), 0.0
    local = w.copy()
    lots = Lots(plan, len(Y), n_push)
    for step, (examples, _) in enumerate(plan.shares(len(Y))):
        if step % n_fetch == 0:
            local = w.copy()
        grad = MODEL.gradient(local, (X[examples], Y[examples]))[1]
        accrued = accrued + grad
        local -= plan.learning_rate * grad
        if any(step + 1 == lots.steps(number).stop for number in range(len(lots))):
            w -= plan.learning_rate * accrued
            accrued = 0.0
    return w


@pytest.mark.parametrize(("n_fetch", "n_push"), [(1, 2), (2, 3), (4, 3)])
def test_between_fetches_a_replica_steps_alone_and_pushes_what_has_accrued(n_fetch, n_push):
    plan = Plan(0.1, 8, 2)  # seven batches an epoch
    scheme = partial(downpour, n_fetch=n_fetch, n_push=n_push)
    found = simulated(scheme, MODEL, X, Y, plan, workers=2).values[0].w
    np.testing.assert_allclose(found, by_hand(n_fetch, n_push, plan), rtol=0, atol=1e-15)
    for other in ((n_fetch + 1, n_push), (n_fetch, n_push + 1)):
        assert np.abs(found - by_hand(*other, plan)).max() > 1e-7
    # Alone, with a push for each batch, its own steps are the server's.
    np.testing.assert_allclose(by_hand(3, 1, plan), train(MODEL, X, Y, plan).w, 0, 1e-15)


@pytest.mark.parametrize("n_push", [1, 3])
@pytest.mark.parametrize("service", SERVICE)
def test_every_batch_is_computed_once_by_whoever_is_free(service, n_push):
    scheme = partial(downpour, n_push=n_push)
    plan = Plan(0.01, 1, 15)
    network = SERVICE[service](4)
    values = simulated(scheme, BOWL, X_BOWL, Y_BOWL, plan, workers=5, network=network).values
    computed = np.array([value.losses for value in values]) > 0
    assert computed.sum(axis=0).tolist() == [1] * 30
    assert not computed[0].any()
    assert len({value.w.tobytes() for value in values}) == 1
    if service == "a straggler":
        assert computed[1].sum() < min(computed[rank].sum() for rank in (2, 3, 4))


# Staleness


@pytest.mark.parametrize("service", SERVICE)
@pytest.mark.parametrize("n_replicas", [1, 2, 5, 8])
def test_where_a_push_returns_parameters_the_mean_staleness_is_one_less_than_replicas(
    service, n_replicas
):
    """Its sum is a whole number, whatever the times: each replica reads where it has pushed."""
    n_updates = 400
    trace = on_bowl(ANSWERED, n_replicas, n_updates, SERVICE[service](n_replicas)).trace
    found, last = staleness(trace), [numbers[-1] for numbers in landed(trace).values()]
    assert len(found) == n_updates
    assert sum(found) == sum(last) + n_replicas - n_updates
    edge = sum(n_updates - 1 - number for number in last) / n_updates
    assert np.mean(found) == pytest.approx(n_replicas - 1 - edge, abs=1e-12)
    if service == "constant":
        assert found[n_replicas:] == [n_replicas - 1] * (n_updates - n_replicas)
        assert edge == n_replicas * (n_replicas - 1) / 2 / n_updates


def test_a_fetch_of_its_own_reads_what_has_been_pushed_meanwhile():
    """With a latency the others' pushes come between; and there are more messages."""
    network = Network("lan", 0.05, 1e6, SERVICE["constant"](8).flops_per_s)
    fetched, answered = (on_bowl(scheme, 8, 400, network).trace for scheme in (downpour, ANSWERED))
    edge = 8 * 7 / 2 / 400
    assert np.mean(staleness(answered)) == pytest.approx(7 - edge, abs=0.02)
    assert np.mean(staleness(fetched)) < 7 - edge - 0.5
    assert fetched.n_messages > answered.n_messages


@pytest.mark.slow
def test_exponential_service_makes_staleness_geometric():
    n_replicas, n_updates = 4, 4000
    trace = on_bowl(ANSWERED, n_replicas, n_updates, SERVICE["exponential"](n_replicas)).trace
    found = np.bincount(staleness(trace), minlength=9)[:9] / n_updates
    expected = [(1 / 4) * (3 / 4) ** k for k in range(9)]
    # Five standard deviations of a count of 4,000; P(0) of three or five replicas is far outside.
    np.testing.assert_allclose(found, expected, rtol=0, atol=5 * np.sqrt(0.25 * 0.75 / n_updates))
    assert min(abs(1 / 3 - 1 / 4), abs(1 / 5 - 1 / 4)) > 0.049


def test_a_slow_replica_is_as_stale_as_it_is_slow():
    network = free(8).with_straggler(rank=1, factor=10)
    trace = on_bowl(ANSWERED, 8, 1000, network).trace
    slow = landed(trace)[1]
    of_slow = [staleness(trace)[number] for number in slow[1:-1]]  # at the end others are done
    assert np.mean(of_slow) == pytest.approx(70, abs=1)


# The order of events


def test_the_same_times_give_the_same_trace_and_the_same_curve_to_the_bit():
    def tried(seed):
        network = free(3).with_exponential_service(seed)
        result = on_bowl(downpour, 3, 50, network, rate=0.3)
        return result.trace.to_json(), bits(value.w for value in result.values)

    assert tried(1) == tried(1)
    assert tried(1)[1] != tried(2)[1]


def test_during_a_warm_start_one_replica_trains_alone():
    scheme = partial(ANSWERED, warm_start=5)
    trace = on_bowl(scheme, 4, 60, free(4)).trace
    assert landed(trace)[1][:5] == [0, 1, 2, 3, 4]
    assert min(number for rank in (2, 3, 4) for number in landed(trace)[rank]) >= 5
    assert staleness(trace)[:5] == [0] * 5
    assert staleness(trace)[12:] == [3] * 48
    values = simulated(scheme, MODEL, X, Y, Plan(0.1, 8, 2), workers=5).values
    assert (np.array([value.losses for value in values]) > 0).sum(axis=0).tolist() == [1] * 14


def test_a_training_that_goes_on_has_had_its_warm_start():
    def pushed_by(first_epoch, epochs=2):
        plan = Plan(0.1, 8, epochs, first_epoch=first_epoch)
        X, y = np.eye(5)[np.arange(40) % 5], np.arange(40) % 2
        made = run(
            lambda comm: downpour(comm, LogisticRegression(5), X, y, plan, warm_start=3),
            workers=4, backend="simulated",
        )  # fmt: skip
        return [m.src for m in made.trace.messages if m.tag == "gradient"]

    assert set(pushed_by(0)[:3]) == {1}  # alone
    assert len(set(pushed_by(1)[:3])) == 3  # 5 of the first epoch's lots are more than 3


def test_shards_step_each_in_its_own_order():
    shards = shards_evenly(MODEL.n_parameters, 2)
    speeds = (1e5, 1e5, 1e9, 1e9, 1e9, 1e9)
    network = Network("lan", 1e-5, 1e8, speeds).with_slow_link(3, 1, 100.0)
    scheme = partial(downpour, shards=shards)
    trace = simulated(scheme, MODEL, X, Y, Plan(0.1, 8, 5), workers=6, network=network).trace
    orders = [
        [src for _, src in sorted((number, src) for src in by_rank for number in by_rank[src])]
        for by_rank in (landed(trace, server) for server in (0, 1))
    ]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]
    assert len(staleness(trace, rank=1)) == len(staleness(trace)) == 35


@pytest.mark.parametrize("push_returns", [False, True])
def test_a_push_and_a_fetch_carry_what_the_cost_line_says(push_returns):
    n_bytes, n_replicas, n_steps = 8 * BOWL.n_parameters, 3, 20
    scheme = partial(downpour, push_returns=push_returns)
    trace = on_bowl(scheme, n_replicas, n_steps, free(n_replicas)).trace
    fetches = n_replicas if push_returns else n_steps
    out = n_steps * 8 + n_replicas * n_bytes  # lots, and the model at the end
    out += (fetches + (n_steps if push_returns else 0)) * n_bytes
    assert trace.bytes_received()[0] == n_steps * n_bytes
    assert trace.bytes_sent()[0] == out
    assert trace.n_messages == 2 * n_steps + 2 * fetches + n_steps * push_returns + n_replicas


def test_a_server_without_a_shard_is_never_spoken_to():
    shards = [[], *shards_by_name(MODEL.layers, 1), []]
    result = simulated(partial(downpour, shards=shards), MODEL, X, Y, PLAN, workers=4)
    assert bits(value.w for value in result.values) == [train(MODEL, X, Y, PLAN).w.tobytes()] * 4
    idle = [m for m in result.trace.messages if {m.src, m.dst} & {0, 2} and m.src != 1]
    assert idle == []


def test_there_may_be_more_servers_than_parameters():
    shards = shards_evenly(2, 4)  # two of them of an empty part each
    assert sum(shard == [slice(part.start, part.start)] for shard in shards for part in shard) == 2
    result = simulated(partial(downpour, shards=shards), BOWL, X_BOWL, Y_BOWL, PLAN, workers=5)
    serial = train(BOWL, X_BOWL, Y_BOWL, PLAN).w.tobytes()
    assert bits(value.w for value in result.values) == [serial] * 5


def test_epochs_end_after_as_many_updates_as_they_have_batches():
    told = []
    plan = Plan(0.01, 1, 6, on_epoch=lambda epoch, w: told.append((epoch, w.copy())))

    def first_steps(comm):
        value = downpour(comm, BOWL, X_BOWL, Y_BOWL, plan)
        return (value.w, told) if comm.rank == 0 else None

    w, found = simulated(first_steps, workers=4, network=free(3)).values[0]
    assert [epoch for epoch, _ in found] == [1, 2, 3, 4, 5, 6]
    assert found[-1][1].tobytes() == w.tobytes()


# Every world


def test_it_ends_with_one_model_in_every_world(world):
    model = LogisticRegression(3)  # without torch, which processes would have to load
    sides = (X[:, 0] > 0).astype(int)
    shards = shards_evenly(model.n_parameters, 2)
    plan = Plan(0.05, 4, 4)
    for scheme in (ANSWERED, partial(downpour, shards=shards, n_push=2, warm_start=2)):
        values = world(scheme, model, X, sides, plan, workers=5).values
        assert len({value.w.tobytes() for value in values}) == 1
        computed = np.array([value.losses for value in values]) > 0
        assert computed.sum(axis=0).tolist() == [1] * 52
        assert model.loss(values[0].w, (X, sides)) < 0.95 * model.loss(model.initial(), (X, sides))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"n_fetch": 0}, "n_fetch must be an int of 1 or more, got 0"),
        ({"n_push": 0}, "n_push must be an int of 1 or more, got 0"),
        ({"warm_start": -1}, "warm_start must be an int of 0 or more, got -1"),
        ({"push_returns": True, "n_push": 2}, "n_fetch must be n_push=2 where push_returns"),
        ({"shards": []}, "shards must be from 1 to 1 of 2 ranks, so that a replica is left; got 0"),
        ({"shards": shards_evenly(3, 2)}, "so that a replica is left; got 2"),
        ({"shards": [[slice(0, 1)]]}, "that none keeps and 0 kept twice"),
    ],
)
def test_what_cannot_be_is_named_before_anything_is_sent(options, told):
    with pytest.raises(RunError, match=told) as caught:
        simulated(partial(downpour, **options), MODEL, X, Y, PLAN, workers=2)
    assert len(caught.value.trace.messages) == 0


def test_no_replica_is_named():
    with pytest.raises(RunError, match="workers must be 2 or more, so that a "):
        simulated(downpour, MODEL, X, Y, PLAN, workers=1)


def test_a_loss_that_is_no_number_is_told_when_it_is_seen():
    with pytest.raises(RunError, match=r"diverged: the loss over batch \d+ is") as caught:
        simulated(downpour, MODEL, X, Y, Plan(1e12, 1, 40), workers=5)
    assert isinstance(caught.value.original, FloatingPointError)
    assert len(staleness(caught.value.trace)) < 200  # of 2,000
