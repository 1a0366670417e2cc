"""Synchronous schemes: N workers take the steps that one would take with the whole batch."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.collectives import ALLREDUCES
from course_lib.comm.errors import WorkerError
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.models.model import Layer
from course_lib.schemes import (
    data_parallel,
    parameter_averaging,
    parameter_server,
    parameter_server_on_worker,
    sharded_data_parallel,
    sharded_parameter_server,
    train,
)
from course_lib.training import Plan
from course_lib.training.shards import (
    length,
    pack,
    shards_by_name,
    shards_by_size,
    shards_evenly,
    unpack,
)
from tests.worlds import World

PLAN = Plan(learning_rate=0.2, batch_size=24, epochs=4, momentum=0.5, warmup_steps=3)


def one_shard(comm, model, *arguments):
    return sharded_parameter_server(comm, model, *arguments, shards_evenly(model.n_parameters, 1))


SCHEMES = {
    "data_parallel": data_parallel,
    "parameter_server": parameter_server,
    "parameter_server on a worker": parameter_server_on_worker,
    "parameter_averaging": parameter_averaging,
    "one shard": one_shard,
    "shards on all workers": sharded_data_parallel,
}
SYNCHRONOUS = [name for name in SCHEMES if name != "parameter_averaging"]


def examples(rows=120, columns=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), rng.integers(0, classes, size=rows)


def total_losses(values):
    """The mean loss over each step's batch: the sum of what the ranks have of it."""
    return np.sum([value.losses for value in values], axis=0)


def one_after_the_other(comm, schemes, *arguments):
    return [SCHEMES[scheme](comm, *arguments) for scheme in schemes]


@cache
def trained(backend, size):
    """Train with all schemes in one launch, because that is slow; return values by scheme."""
    arguments = mlp(3, 6, 2), *examples(), PLAN
    found = World(backend)(one_after_the_other, SYNCHRONOUS, *arguments, workers=size).values
    return dict(zip(SYNCHRONOUS, zip(*found, strict=True), strict=True))


@pytest.mark.parametrize("scheme", SYNCHRONOUS)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_twenty_steps_are_those_of_one_process(world, scheme, size):
    model, (X, y) = mlp(3, 6, 2), examples()
    serial = train(model, X, y, PLAN)
    values = trained(world.backend, size)[scheme]
    assert len(serial.losses) == 20
    for value in values:
        assert value.w.tobytes() == values[0].w.tobytes()
        # 20 steps, each with some hundred additions in another order.
        np.testing.assert_allclose(value.w, serial.w, rtol=0, atol=1e-13)
    np.testing.assert_allclose(total_losses(values), serial.losses, rtol=1e-12)
    # The likely mistakes: a mean of unweighted means is not seen with equal parts, a sum is.
    wrong = train(model, X, y, PLAN.scaled(size)).w
    assert np.abs(wrong - serial.w).max() > 1e-3


@given(
    size=st.integers(1, 8),
    batch_size=st.integers(1, 30),
    momentum=st.sampled_from([0.0, 0.9]),
    scheme=st.sampled_from(SYNCHRONOUS),
    rendezvous=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_number_of_workers_and_any_batch(size, batch_size, momentum, scheme, rendezvous):
    """Batches that do not divide, and ranks without a single example."""
    plan = Plan(learning_rate=0.1, batch_size=batch_size, momentum=momentum)
    model, (X, y) = LogisticRegression(3, l2=0.01), examples(rows=50)
    size += scheme in ("parameter_server", "one shard")  # a server more
    values = run(
        SCHEMES[scheme], model, X, y, plan, workers=size, backend="simulated", rendezvous=rendezvous
    ).values
    serial = train(model, X, y, plan)
    for value in values:
        np.testing.assert_allclose(value.w, serial.w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(total_losses(values), serial.losses, rtol=1e-12)


@pytest.mark.parametrize("name", ALLREDUCES)
@pytest.mark.parametrize("size", [2, 4, 8])
def test_whole_numbers_agree_to_the_bit(name, size):
    """Gradients of small whole numbers, weights and rates that are powers of two: no rounding."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, size=(32, 3)).astype(float), rng.integers(-4, 5, size=32)
    model, plan = LinearRegression(3), Plan(learning_rate=0.25, batch_size=16, epochs=2)
    serial = train(model, X, y.astype(float), plan)
    values = run(
        data_parallel, model, X, y.astype(float), plan, ALLREDUCES[name],
        workers=size, backend="simulated",
    ).values  # fmt: skip
    assert [value.w.tobytes() for value in values] == [serial.w.tobytes()] * size


def without_broadcast(comm, model, X, y, plan):
    """The likely mistake: every rank starts from parameters of its own."""

    class Own:
        def initial(self, seed):
            return model.initial(seed + 100 * comm.rank)

        def __getattr__(self, name):
            return getattr(model, name)

    # Only the root's parameters are sent; a scheme that broadcasts does not care.
    return data_parallel(comm, Own(), X, y, plan)


def test_one_start_for_all_even_if_ranks_would_draw_others():
    model, (X, y) = mlp(3, 4, 2), examples(rows=50)
    serial = train(model, X, y, PLAN)
    values = run(without_broadcast, model, X, y, PLAN, workers=4, backend="simulated").values
    np.testing.assert_allclose(values[3].w, serial.w, rtol=0, atol=1e-13)


# Parameter averaging


def test_averages_are_taken_when_they_are_due_and_at_the_end():
    model, (X, y) = LogisticRegression(3), examples(rows=64)
    plan = Plan(batch_size=8)  # 8 steps
    for every, averages in ((1, 8), (3, 3), (4, 2), (8, 1), (100, 1)):
        trace = run(
            parameter_averaging, model, X, y, plan, every, workers=4, backend="simulated"
        ).trace
        assert sum(c.name == "allreduce_ring" for c in trace.collectives) == 4 * averages
    with pytest.raises(WorkerError, match="every must be an int of 1 or more, got 0"):
        run(parameter_averaging, model, X, y, plan, 0, workers=2, backend="simulated")


# The server's NIC


@pytest.mark.parametrize("scheme", [parameter_server, parameter_server_on_worker])
@pytest.mark.parametrize("size", [2, 4, 5])
def test_the_server_sends_a_vector_a_worker_once_more_at_the_end(size, scheme):
    model, (X, y) = LogisticRegression(3), examples(rows=40)
    plan = Plan(batch_size=10)  # 4 steps
    trace = run(scheme, model, X, y, plan, workers=size, backend="simulated").trace
    n_bytes, steps = 8 * model.n_parameters, 4
    assert trace.bytes_received()[0] == steps * (size - 1) * n_bytes
    assert trace.bytes_sent()[0] == (steps + 1) * (size - 1) * n_bytes
    assert trace.bytes_sent()[1:] == [steps * n_bytes] * (size - 1)
    assert trace.n_messages == (2 * steps + 1) * (size - 1)


def test_a_dedicated_server_needs_a_worker():
    model, (X, y) = LogisticRegression(3), examples(rows=4)
    with pytest.raises(WorkerError, match="a dedicated server needs a worker"):
        run(parameter_server, model, X, y, PLAN, workers=1, backend="simulated")


# Shards


@pytest.mark.parametrize("rendezvous", [False, True])
@pytest.mark.parametrize("placed", ["evenly", "by size", "by name"])
def test_any_number_of_shards_is_one_process(rendezvous, placed):
    model, (X, y) = mlp(3, 6, 2), examples()
    serial = train(model, X, y, PLAN)
    for size in (2, 3, 5):
        for n_servers in range(1, size):
            shards = {
                "evenly": shards_evenly(model.n_parameters, n_servers),
                "by size": shards_by_size(model.layers, n_servers),
                "by name": shards_by_name(model.layers, n_servers),
            }[placed]
            values = run(
                sharded_parameter_server, model, X, y, PLAN, shards,
                workers=size, backend="simulated", rendezvous=rendezvous,
            ).values  # fmt: skip
            for value in values:
                np.testing.assert_allclose(value.w, serial.w, rtol=0, atol=1e-13)
            np.testing.assert_allclose(total_losses(values), serial.losses, rtol=1e-12)


def test_a_server_without_a_shard_is_never_spoken_to():
    """With one layer and names for keys, one of three servers has everything."""
    model, (X, y) = LogisticRegression(3), examples(rows=40)
    shards = shards_by_name(model.layers, 3)
    trace = run(
        sharded_parameter_server, model, X, y, Plan(batch_size=10), shards,
        workers=5, backend="simulated",
    ).trace  # fmt: skip
    (server,) = [i for i, shard in enumerate(shards) if shard]
    assert {m.src for m in trace.messages} == {server, 3, 4}
    assert max(trace.bytes_sent()) == trace.bytes_sent()[server]


@pytest.mark.parametrize("n_servers", [0, 3, 4])
def test_shards_that_leave_no_worker_are_refused(n_servers):
    model, (X, y) = LogisticRegression(3), examples(rows=4)
    shards = [[slice(0, 4)]] * n_servers
    with pytest.raises(WorkerError, match="shards must be from 1 to 2 of 3 ranks"):
        run(
            sharded_parameter_server, model, X, y, PLAN, shards, workers=3, backend="simulated"
        )  # fmt: skip


@given(n=st.integers(1, 50), n_shards=st.integers(1, 12))
def test_shards_cover_every_parameter_once(n, n_shards):
    w = np.arange(float(n))
    whole = np.full(n, np.nan)
    for shard in shards_evenly(n, n_shards):
        unpack(pack(w, shard), shard, whole)
    np.testing.assert_array_equal(whole, w)
    model = mlp(n, 2, 3, 2)
    w = model.initial()
    whole = np.full(w.shape, np.nan)
    shards = shards_by_name(model.layers, n_shards)
    for shard in shards:
        unpack(pack(w, shard), shard, whole)
    np.testing.assert_array_equal(whole, w)
    assert sum(len(pack(w, shard)) for shard in shards) == model.n_parameters


def test_dedicated_servers_and_workers_are_all_busy_in_every_round():
    """As many servers as workers: a fetch and a push of one vector, not of nearly two."""
    model, (X, y) = LogisticRegression(19_999), (np.zeros((4, 19_999)), np.zeros(4, dtype=int))

    def seconds(epochs):
        plan = Plan(batch_size=4, epochs=epochs)
        free = replace(networks.ethernet_10g, latency_s=0.0, flops_per_s=1e18)
        work = (sharded_parameter_server, model, X, y, plan, shards_evenly(20_000, 4))
        return run(*work, workers=8, backend="simulated", network=free).elapsed_s

    n_beta = 8 * model.n_parameters * networks.ethernet_10g.beta_s_per_byte
    assert seconds(3) - seconds(2) == pytest.approx(2 * n_beta, rel=1e-3)


@given(sizes=st.lists(st.integers(1, 100), min_size=1, max_size=12), n_shards=st.integers(1, 5))
def test_layers_by_size_are_all_kept_and_no_shard_is_fuller_than_graham_says(sizes, n_shards):
    stops = np.cumsum(sizes).tolist()
    layers = [Layer(str(s), slice(s - n, s)) for n, s in zip(sizes, stops, strict=True)]
    shards = shards_by_size(layers, n_shards)
    kept = sorted((part.start, part.stop) for shard in shards for part in shard)
    assert kept == [(layer.part.start, layer.part.stop) for layer in layers]
    # Without the largest that is left over, nothing beats the mean: hence 2 - 1/S at the very most.
    least = max(max(sizes), sum(sizes) / n_shards)
    assert max(map(length, shards)) <= (2 - 1 / n_shards) * least
