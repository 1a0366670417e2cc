"""Exchanges in the order of need: the same steps, and the time that is worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.collectives import allreduce_central, allreduce_ring
from course_lib.comm.errors import WorkerError
from course_lib.models.mlp import mlp
from course_lib.schemes import data_parallel, layerwise_bucketed, train
from course_lib.schemes.priority import order_of_need, priority
from course_lib.training import Plan

ORDERS = ([2, 1, 0], [2, 0, 1], [0, 1, 2])


def examples(rows=120, columns=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), rng.integers(0, classes, size=rows)


def every_order(comm, model, X, y, plan):
    """Two orders in one launch, because that takes a while."""
    return [priority(comm, model, X, y, plan, order) for order in ORDERS[1:]]


def test_twenty_steps_are_those_of_one_process(world):
    plan = Plan(learning_rate=0.2, batch_size=24, epochs=4, momentum=0.5, warmup_steps=3)
    model, (X, y) = mlp(3, 6, 5, 2), examples()
    serial = train(model, X, y, plan)
    assert len(serial.losses) == 20
    workers = 2 if world.backend == "torch" else 4  # there, a message takes a hundred times as long
    for values in zip(*world(every_order, model, X, y, plan, workers=workers).values, strict=True):
        for value in values:
            assert value.w.tobytes() == values[0].w.tobytes()
            # 20 steps, each with some hundred additions in another order.
            np.testing.assert_allclose(value.w, serial.w, rtol=0, atol=1e-13)
        losses = np.sum([value.losses for value in values], axis=0)
        np.testing.assert_allclose(losses, serial.losses, rtol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_it_is_data_parallel_to_the_bit_where_each_number_is_added_in_one_order(order):
    """Ranks without an example, and more steps than layers, too."""
    plan = Plan(batch_size=3, momentum=0.9)
    model, (X, y) = mlp(3, 4, 3, 2), examples(rows=20)
    options = {"workers": 4, "backend": "simulated"}
    whole = run(data_parallel, model, X, y, plan, allreduce_central, **options).values
    parts = run(priority, model, X, y, plan, order, allreduce_central, **options).values
    assert [v.w.tobytes() for v in parts] == [v.w.tobytes() for v in whole]
    assert [v.losses for v in parts] == [v.losses for v in whole]


def test_without_a_step_nothing_is_exchanged():
    model, (X, y) = mlp(3, 4, 3, 2), examples(rows=20)
    values = run(
        priority, model, X, y, Plan(epochs=0), ORDERS[0], workers=2, backend="simulated"
    ).values
    assert [v.w.tobytes() for v in values] == [model.initial(0).tobytes()] * 2


# The time, by hand: two ranks, and three layers of which the last is large

LAYERS = mlp(4, 4, 4, 32)  # 16, 16 and 128 weights, and 4, 4 and 32 biases
# Forward 64, 64 and 512 microseconds, back 64, 128 and 1024: 2 examples, 1 flop a microsecond.
READY_US = (640 + 1024 + 128 + 64, 640 + 1024 + 128, 640 + 1024)
EXCHANGE_US = (2 * (80 + 10), 2 * (80 + 10), 2 * (640 + 10))  # a microsecond a byte, alpha 10
NETWORK = networks.Network("by hand", 10e-6, 1e6, flops_per_s=1e6)


class Together:
    """A plan whose steps all ranks begin together; it notes when."""

    def __init__(self, comm, plan):
        self.comm, self.plan = comm, plan

    def shares(self, *arguments, **options):
        for share in self.plan.shares(*arguments, **options):
            self.comm.barrier()
            self.comm.note("step", self.comm.clock())
            yield share

    def __getattr__(self, name):
        return getattr(self.plan, name)


def timed(comm, scheme, arguments):
    X, y = examples(rows=8, columns=4, classes=32)
    scheme(comm, LAYERS, X, y, Together(comm, Plan(batch_size=4)), *arguments)


def two_steps_us(scheme, *arguments):
    result = run(timed, scheme, arguments, workers=2, backend="simulated", network=NETWORK)
    return 1e6 * (result.elapsed_s - result.trace.notes_named("step")[0].value)


def by_hand(*parts_us):
    return pytest.approx(math.fsum(parts_us), rel=1e-9)


def test_the_next_forward_pass_waits_for_one_layer_at_a_time():
    assert READY_US == (1856, 1792, 1664)
    assert EXCHANGE_US == (180, 180, 1300)

    # As back-propagation goes: 3 is exchanged 1664-2964, 2 until 3144, 1 until 3324.
    #   Layer 1: update 40, forward 64. Layer 2 as well. Layer 3: update 320, forward 512.
    in_turn = 3324 + (40 + 64) + (40 + 64) + (320 + 512)
    #   The second step is back at layer 1 1216 later; the exchanges end 1660 after layer 3 is done.
    in_turn += 1024 + 1300 + 180 + 180 + 40 + 40 + 320
    assert two_steps_us(priority, [2, 1, 0]) == by_hand(in_turn)

    # By need: 3 is exchanged 1664-2964, 1 until 3144, 2 until 3324.
    #   Layer 1 is gone through at 3144 + 40 + 64 = 3248, before layer 2 is there.
    by_need = 3324 + (40 + 64) + (320 + 512)
    #   At the end the first layer's update is hidden, too.
    by_need += 1024 + 1300 + 180 + 180 + 40 + 320
    assert by_need == in_turn - 104 - 40
    assert order_of_need(READY_US, EXCHANGE_US) == [2, 0, 1]
    assert two_steps_us(priority, [2, 0, 1]) == by_hand(by_need)

    # The large layer held back: 1 is exchanged 1856-2036, 2 until 2216, 3 until 3516.
    #   Layers 1 and 2 are gone through long before; layer 3 is the one that is waited for.
    held_back = 3516 + (320 + 512)
    #   Ready at 1024 + 128 + 64; the updates of 1 and 2 are hidden.
    held_back += 1024 + 128 + 64 + 180 + 180 + 1300 + 320
    assert two_steps_us(priority, [0, 1, 2]) == by_hand(held_back)

    # The likely mistake, all layers awaited before the first is gone through: nothing is won.
    everything = 2 * (3324 + 40 + 40 + 320)
    assert two_steps_us(layerwise_bucketed, 0, allreduce_ring) == by_hand(everything)
    # In turn nothing is won either, because the layer that is needed first comes last.
    assert in_turn == everything


# The order


def test_of_the_layers_that_are_ready_the_first_goes_when_the_network_is_free():
    assert order_of_need([3, 2, 1], [1, 1, 0.5]) == [2, 1, 0]  # never two that wait
    assert order_of_need([3, 2, 1], [1, 1, 2]) == [2, 0, 1]  # layer 0 is ready in that moment
    assert order_of_need([3, 2, 1], [1, 1, 1.9]) == [2, 1, 0]
    assert order_of_need([0, 0, 0], [1, 1, 1]) == [0, 1, 2]
    assert order_of_need([], []) == []


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), max_size=8))
def test_every_layer_goes_once(times):
    ready_s, exchange_s = [a for a, _ in times], [b for _, b in times]
    assert sorted(order_of_need(ready_s, exchange_s)) == list(range(len(times)))


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [1, 2, 3]])
def test_an_order_without_every_layer_is_refused(order):
    model, (X, y) = mlp(3, 4, 3, 2), examples(rows=4)
    with pytest.raises(WorkerError, match="order must name each of the layers 0 to 2, got"):
        run(priority, model, X, y, Plan(), order, workers=2, backend="simulated")
