"""Gradients that leave layer by layer: the same steps, and the time that is worked out by hand."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.collectives import ALLREDUCES, allreduce_central, allreduce_ring
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.models.model import Layer, LayerFlops
from course_lib.schemes import data_parallel, layerwise, layerwise_bucketed, train
from course_lib.schemes.layerwise_bucketed import buckets
from course_lib.training import SGD, Plan, Training
from course_lib.training.layers import PartialPasses

PLAN = Plan(learning_rate=0.2, batch_size=24, epochs=4, momentum=0.5, warmup_steps=3)


def examples(rows=120, columns=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), rng.integers(0, classes, size=rows)


def total_losses(values):
    return np.sum([value.losses for value in values], axis=0)


# The same steps


def every_way(comm, model, X, y, plan):
    """Layers alone, at once and one at a time, and buckets: one launch, because that is slow."""
    return [
        layerwise(comm, model, X, y, plan, allreduce_ring),
        *(layerwise_bucketed(comm, model, X, y, plan, n_bytes) for n_bytes in (0, 300)),
    ]


def test_twenty_steps_are_those_of_one_process(world):
    model, (X, y) = mlp(3, 6, 5, 2), examples()
    serial = train(model, X, y, PLAN)
    assert len(serial.losses) == 20
    workers = 2 if world.backend == "torch" else 4  # there, a message takes a hundred times as long
    for values in zip(*world(every_way, model, X, y, PLAN, workers=workers).values, strict=True):
        for value in values:
            assert value.w.tobytes() == values[0].w.tobytes()
            # 20 steps, each with some hundred additions in another order.
            np.testing.assert_allclose(value.w, serial.w, rtol=0, atol=1e-13)
        np.testing.assert_allclose(total_losses(values), serial.losses, rtol=1e-12)


@given(
    size=st.integers(1, 6),
    batch_size=st.integers(1, 30),
    bucket_bytes=st.sampled_from([None, 0, 60, 200, math.inf]),
    rendezvous=st.booleans(),
)
@settings(max_examples=8, deadline=None)
def test_it_is_data_parallel_to_the_bit_where_each_number_is_added_in_one_order(
    size, batch_size, bucket_bytes, rendezvous
):
    """On rank 0 in the order of the ranks: where a message ends makes no difference."""
    plan = Plan(batch_size=batch_size, momentum=0.9)
    model, (X, y) = mlp(3, 4, 3, 2), examples(rows=50)
    options = {"workers": size, "backend": "simulated", "rendezvous": rendezvous}
    whole = run(data_parallel, model, X, y, plan, allreduce_central, **options).values
    scheme, more = layerwise, ()
    if bucket_bytes is not None:
        scheme, more = layerwise_bucketed, (bucket_bytes,)
    parts = run(scheme, model, X, y, plan, *more, allreduce_central, **options).values
    assert [v.w.tobytes() for v in parts] == [v.w.tobytes() for v in whole]
    assert [v.losses for v in parts] == [v.losses for v in whole]


class InLayers(LinearRegression):
    """A linear regression that hands out its gradient in three parts, as if it had layers."""

    @property
    def layers(self):
        return tuple(Layer(f"part {i}", slice(3 * i, 3 * i + 3)) for i in range(3))

    def layer_flops(self, batch):
        return (LayerFlops(self.flops(batch) / 6, self.flops(batch) / 6),) * 3

    def passes(self, w, batch, weight=1.0):
        return InParts(*self.gradient(w, batch, weight))


class InParts:
    def __init__(self, loss, grad):
        self.found, self.grad = loss, grad

    def forward(self, layer):
        pass

    def loss(self):
        return self.found

    def backward(self, layer):
        return self.grad[layer.part]


@pytest.mark.parametrize("name", ALLREDUCES)
def test_whole_numbers_agree_to_the_bit(name):
    """Gradients of small whole numbers, weights and rates that are powers of two: no rounding."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(32, 8)).astype(float)
    y = rng.integers(-4, 5, size=32).astype(float)
    model, plan = InLayers(8), Plan(learning_rate=0.25, batch_size=16, epochs=2)
    serial = train(model, X, y, plan)
    for bucket_bytes in (0, 30, math.inf):
        values = run(
            layerwise_bucketed, model, X, y, plan, bucket_bytes, ALLREDUCES[name],
            workers=4, backend="simulated",
        ).values  # fmt: skip
        assert [value.w.tobytes() for value in values] == [serial.w.tobytes()] * 4


def test_a_model_of_one_layer_has_nothing_to_hide_behind():
    model, (X, y) = LogisticRegression(3), examples(rows=40)
    plan = Plan(batch_size=10)
    runs = [
        run(scheme, model, X, y, plan, workers=2, backend="simulated")
        for scheme in (layerwise, data_parallel)
    ]
    assert runs[0].values[0].w.tobytes() == runs[1].values[0].w.tobytes()
    assert runs[0].elapsed_s == pytest.approx(runs[1].elapsed_s, rel=1e-12)


# The time, by hand: two ranks, and three layers of

LAYERS = mlp(8, 4, 6, 2)  # 32, 24 and 12 weights, and 4, 6 and 2 biases
N_BYTES = (8 * 36, 8 * 30, 8 * 14)
FORWARD_US = (128, 96, 48)  # 2 examples, 2 flops a weight, 1 flop a microsecond
BACKWARD_US = (128, 192, 96)  # twice as long, but for the first layer
UPDATE_US = 160  # 2 flops for each of 80 parameters
ALPHA_US = 10


def network(us_per_byte):
    return networks.Network("by hand", ALPHA_US * 1e-6, 1e6 / us_per_byte, flops_per_s=1e6)


class InStep:
    """A plan whose steps all ranks begin together, and that takes the time."""

    def __init__(self, comm, plan, times):
        self.comm, self.plan, self.times = comm, plan, times

    def shares(self, *arguments):
        for share in self.plan.shares(*arguments):
            self.comm.barrier()
            self.times.append(self.comm.clock())
            yield share
        self.times.append(self.comm.clock())

    def __getattr__(self, name):
        return getattr(self.plan, name)


def timed(comm, scheme, steps):
    times = []
    X, y = examples(rows=4 * steps, columns=8)
    scheme(comm, LAYERS, X, y, InStep(comm, Plan(batch_size=4), times))
    return times


def step_us(scheme, us_per_byte):
    """How long the second of two steps takes, in virtual microseconds."""
    values = run(
        timed, scheme, 2, workers=2, backend="simulated", network=network(us_per_byte)
    ).values
    return 1e6 * max(times[2] - times[1] for times in values)


def waits_at_once(comm, model, X, y, plan):
    """The likely mistake: each layer's exchange is awaited where it is started."""
    return exchanging(comm, model, X, y, plan, at_once=True)


def starts_after_all(comm, model, X, y, plan):
    """The likely mistake: every exchange is started, but only after back-propagation."""
    return exchanging(comm, model, X, y, plan, at_once=False)


def exchanging(comm, model, X, y, plan, at_once):
    w = model.initial(plan.seed)
    sgd = SGD(w, plan)
    for share, weight in plan.shares(len(y), comm.rank, comm.size):
        passes = PartialPasses(comm.compute, model, w, (X[share], y[share]), weight)
        for layer in model.layers:
            passes.forward(layer)
        grad, parts = w * 0, []
        for layer in reversed(model.layers):
            grad[layer.part] = passes.backward(layer)
            parts.append(grad[layer.part])
            if at_once:
                comm.start(allreduce_ring, parts[-1], "sum", parts[-1]).wait()
        if not at_once:
            pending = [comm.start(allreduce_ring, part, "sum", part) for part in parts]
            for exchange in pending:
                exchange.wait()
        with comm.compute("update", flops=2.0 * model.n_parameters):
            sgd.step(grad)
    return Training(w, [])


def by_hand(*parts_us):
    return pytest.approx(math.fsum(parts_us), rel=1e-9)


def test_a_fast_networks_exchanges_hide_but_the_last():
    """A tenth of a microsecond a byte: each exchange is over before the next layer is done.

    On a ring of two an all-reduce takes two rounds, each with half of the bytes.
    """
    computing = (*FORWARD_US, *BACKWARD_US, UPDATE_US)
    n1, n2, n3 = (0.1 * n for n in N_BYTES)
    assert 2 * ALPHA_US + n3 < BACKWARD_US[1]
    assert 2 * ALPHA_US + n2 < BACKWARD_US[0]
    hidden = by_hand(*computing, 2 * ALPHA_US + n1)
    assert step_us(layerwise, 0.1) == hidden
    assert step_us(partial(layerwise_bucketed, bucket_bytes=0), 0.1) == hidden
    # Layers 3 and 2 in one bucket: over before layer 1 is done, too.
    assert step_us(partial(layerwise_bucketed, bucket_bytes=300), 0.1) == hidden

    shown = by_hand(*computing, 2 * ALPHA_US + n1 + n2 + n3)
    assert step_us(data_parallel, 0.1) == shown
    assert step_us(partial(layerwise_bucketed, bucket_bytes=math.inf), 0.1) == shown
    # The likely mistakes are seen: neither hides anything.
    assert step_us(waits_at_once, 0.1) == by_hand(*computing, 6 * ALPHA_US + n1 + n2 + n3)
    # Begun together, the exchanges' latencies pass side by side, and no more is won than that.
    assert step_us(starts_after_all, 0.1) == by_hand(*computing, ALPHA_US + n1 + n2 + n3)


def test_a_slow_networks_exchanges_queue_at_the_nic_first_in_first_out():
    """Two microseconds a byte: a half of layer 1, 2, 3 keeps the NIC busy for 288, 240, 112."""
    begins_3 = 128 + 96 + 48 + 96  # forward, and back through layer 3
    assert begins_3 == 368
    begins_2, begins_1 = 368 + 192, 368 + 192 + 128
    assert (begins_2, begins_1) == (560, 688)
    # 3, first half   starts at 368, the NIC is free at 480, it has arrived at 490
    # 3, second half  starts at 490,                     602,                   612
    # 2, first half   is there at 560, starts at 602:    842,                   852
    # 1, first half   is there at 688, starts at 842:   1130,                  1140
    # 2, second half  is there at 852, starts at 1130:  1370,                  1380
    # 1, second half  is there at 1140, starts at 1370: 1658,                  1668
    assert step_us(layerwise, 2) == by_hand(490, 112, 240, 288, 240, 288, ALPHA_US, UPDATE_US)
    assert step_us(layerwise, 2) == by_hand(1668, 160)

    # One at a time nothing passes while a message's head is under way: each has its 2 alpha.
    one_after_another = by_hand(368, 2 * (112 + 10), 2 * (240 + 10), 2 * (288 + 10), 160)
    assert step_us(partial(layerwise_bucketed, bucket_bytes=0), 2) == one_after_another

    # Layers 3 and 2 in one bucket of 352 bytes: it leaves at 560, a half takes 352.
    assert step_us(partial(layerwise_bucketed, bucket_bytes=300), 2) == by_hand(
        560, 2 * (352 + 10), 2 * (288 + 10), UPDATE_US
    )
    # All in one: 640 bytes leave at 688.
    whole = by_hand(688, 2 * (640 + ALPHA_US), UPDATE_US)
    assert step_us(partial(layerwise_bucketed, bucket_bytes=math.inf), 2) == whole
    assert step_us(data_parallel, 2) == whole

    # The likely mistakes.
    assert step_us(waits_at_once, 2) == by_hand(688, 1280, 6 * ALPHA_US, 160)
    assert step_us(starts_after_all, 2) == by_hand(688, 1280, ALPHA_US, 160)


def test_small_buckets_cost_latencies_where_they_go_one_at_a_time():
    """A microsecond for ten bytes, but latencies of 200: three exchanges take six of them."""
    slow_start = networks.Network("far", 200e-6, 1e7, flops_per_s=1e6)

    def far(bucket_bytes):
        scheme = partial(layerwise_bucketed, bucket_bytes=bucket_bytes)
        values = run(timed, scheme, 2, workers=2, backend="simulated", network=slow_start).values
        return 1e6 * max(times[2] - times[1] for times in values)

    assert far(0) == by_hand(368, 6 * 200, 0.1 * 640, UPDATE_US)
    assert far(300) == by_hand(560, 4 * 200, 0.1 * 640, UPDATE_US)  # layers 3 and 2 together
    assert far(math.inf) == by_hand(688, 2 * 200, 0.1 * 640, UPDATE_US)


# The buckets


def test_buckets_cover_the_vector_from_its_end():
    layers = mlp(8, 4, 6, 2).layers  # 36, 30 and 14 parameters
    assert buckets(layers, 0, 8) == [slice(66, 80), slice(36, 66), slice(0, 36)]
    assert buckets(layers, 112, 8) == buckets(layers, 0, 8)
    assert buckets(layers, 113, 8) == [slice(36, 80), slice(0, 36)]
    assert buckets(layers, 113, 4) == [slice(36, 80), slice(0, 36)]
    assert buckets(layers, 353, 8) == buckets(layers, math.inf, 8) == [slice(0, 80)]


def test_messages_are_one_all_reduce_for_each_bucket(world):
    model, (X, y) = mlp(3, 6, 5, 2), examples(rows=24)  # 24, 35 and 12 parameters
    plan = Plan(batch_size=12)  # 2 steps
    scheme = partial(layerwise_bucketed, bucket_bytes=300)
    trace = world(scheme, model, X, y, plan, workers=4).trace
    exchanges = [c for c in trace.collectives if c.name == "allreduce_ring"]
    assert len(exchanges) == 4 * 2 * 2  # ranks, steps, and two buckets: layers 3 and 2, layer 1
    assert trace.n_messages == 3 + 2 * 2 * 4 * 6
    assert trace.n_bytes == 8 * 71 * (3 + 2 * 2 * 3)  # the broadcast, and 2 (P - 1) n a step
    labels = [c.label for c in trace.computes if c.rank == 0][:7]
    assert labels == [
        "forward fc1", "forward fc2", "forward fc3",
        "backward fc3", "backward fc2", "backward fc1", "update",
    ]  # fmt: skip
