"""What the Cost lines of split layers and of schemes on them say is what a trace counts."""

from __future__ import annotations

import weakref
from collections import Counter
from functools import partial

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.collectives import reduce_scatter_ring
from course_lib.models.chain import Chain
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.fully_connected import FullyConnected
from course_lib.models.published import PUBLISHED, LayerSize
from course_lib.models.stand_in import StandIn, StandInLayer
from course_lib.schemes import (
    data_parallel,
    hybrid,
    sharded_data_parallel,
    sharded_gradients,
    sharded_parameters,
    split_weights,
)
from course_lib.split import JOINS, Columns, Rows, split_by_units, split_in_pairs
from course_lib.training import Plan

M = 840  # examples, which every number of ranks up to 8 divides
SIZES = range(1, 9)
ITEM = 8  # bytes of a number
ONE_STEP = Plan(batch_size=M)


def data(model, m=M):
    rng = np.random.default_rng(0)
    return rng.normal(size=(m, *model.shapes[0])), rng.integers(0, model.shapes[-1][0], size=m)


def traced(scheme, model, size, plan=ONE_STEP):
    return run(scheme, model, *data(model), plan, workers=size, backend="simulated").trace


def there_and_back(comm, kind, forward_only, **options):
    n_in, n_out = 16, 24
    layer = kind(comm, FullyConnected("fc", n_in, n_out), **options)
    own = layer.own.stop - layer.own.start
    x = np.ones((M, own if kind is Rows else n_in))
    y, saved = layer.forward(w := np.ones(layer.n_parameters), x)
    layer.weight_gradient(saved, y)
    if not forward_only:
        layer.input_gradient(w, saved, y)


def all_reduce(size, n_bytes):
    """Messages and bytes that each rank sends on a ring, where the ranks divide the numbers."""
    return 2 * (size - 1), 2 * (size - 1) * n_bytes // size


def counted(trace):
    """Messages and bytes by sender; the same for all, or it fails."""
    ((messages, n_bytes),) = set(zip(trace.messages_sent(), trace.bytes_sent(), strict=True))
    return messages, n_bytes


@pytest.mark.parametrize("size", SIZES)
def test_columns_are_free_forward_and_rows_are_free_back(size):
    def cost(kind, forward_only, **options):
        return counted(
            run(there_and_back, kind, forward_only, workers=size, backend="simulated", **options)
            .trace
        )  # fmt: skip

    assert cost(Columns, True) == (0, 0)
    assert cost(Columns, False) == all_reduce(size, M * 16 * ITEM)
    assert cost(Rows, True) == cost(Rows, False) == all_reduce(size, M * 24 * ITEM)
    if 24 % size == 0:
        gathering = partial(there_and_back, gathers=True)
        trace = run(gathering, Columns, True, workers=size, backend="simulated").trace
        assert counted(trace) == (size - 1, (size - 1) * M * 24 * ITEM // size)


@pytest.mark.parametrize("size", SIZES)
def test_a_pair_costs_two_all_reduces_and_the_first_one_only_one(size):
    model = deep_mlp(8, 16, 9, 16, 8)
    messages, n_bytes = counted(traced(split_weights, model, size))
    there, back = M * (9 + 8) * ITEM, M * 9 * ITEM  # both pairs; the second only
    assert (messages, n_bytes) == (3 * all_reduce(size, 1)[0], all_reduce(size, there + back)[1])
    # Whatever the weights: no message is longer or shorter for a wider layer inside of a pair.
    wider = traced(split_weights, deep_mlp(8, 32, 9, 40, 8), size)
    assert counted(wider) == (messages, n_bytes)


@pytest.mark.parametrize("divide", [split_in_pairs, split_by_units])
def test_the_work_is_divided_and_none_is_done_twice(divide):
    model = deep_mlp(8, 16, 9, 16, 8)
    for size in (1, 3, 8):
        trace = traced(partial(split_weights, divide=divide), model, size)
        flops = Counter()
        for compute in trace.computes:
            kind = compute.label.split(" fc")[0]
            flops[kind] += compute.flops
            assert compute.rank < size
        assert set(flops) == {"forward", "input gradient", "weight gradient", "update"}
        assert sum(flops.values()) - flops["update"] == model.flops(data(model))


@pytest.mark.parametrize("size", SIZES)
def test_units_cross_every_cut_forward_and_back_and_outputs_once(size):
    widths = [16, 9, 24, 8]
    model = deep_mlp(5, *widths)
    trace = traced(partial(split_weights, divide=split_by_units), model, size)
    own = {n: [part.stop - part.start for part in _even(n, size)] for n in widths}
    crossed = Counter()
    for message in trace.messages:
        crossed[message.src, message.dst] += message.n_bytes
    for src in range(size):
        for dst in set(range(size)) - {src}:
            forward = sum(own[n][src] for n in widths)  # the last layer's outputs are gathered
            back = sum(own[n][dst] for n in widths[:-1])
            assert crossed[src, dst] == M * (forward + back) * ITEM
    assert trace.n_messages == size * (size - 1) * (2 * len(widths) - 1)


def _even(n, size):
    from course_lib.words.split import split_evenly

    return split_evenly(n, size)


@pytest.mark.parametrize("size", SIZES)
def test_the_stages_of_zero_send_what_they_say(size):
    model = deep_mlp(8, 12, 10, 8)
    n, first = model.n_parameters * ITEM, model.layers[0].n_parameters * ITEM
    n_layers, others = len(model.layers), size - 1
    for scheme, messages, n_bytes in (
        (sharded_data_parallel, 2 + 1, 2 * n + n),  # and an all-gather before the first step
        (sharded_gradients, 3 * n_layers, 2 * n + n),
        (sharded_parameters, 3 * n_layers - 1, 3 * n - first),
    ):
        trace = traced(scheme, model, size)
        assert trace.messages_sent() == [others * messages] * size
        assert trace.n_bytes == others * n_bytes  # over all ranks: (P-1)/P of it for each


def most_gradients(comm, *job):
    """Train, and count the layers' gradients that there are at the same time, and all of them."""
    handed, there = [], []

    def watched(comm, grad):
        handed.append(weakref.ref(grad))
        there.append(sum(found() is not None for found in handed))
        return reduce_scatter_ring(comm, grad)

    sharded_gradients(comm, *job, reduce_scatter=watched)
    return max(there), len(there)


@pytest.mark.parametrize("size", [2, 4])
def test_gradients_in_shards_are_sent_for_each_part_and_none_is_kept(size):
    model = deep_mlp(8, 12, 10, 8)
    n = model.n_parameters * ITEM
    job = model, *data(model), Plan(batch_size=M, accumulate=3)
    ran = run(most_gradients, *job, workers=size, backend="simulated")
    assert ran.values == [(1, 3 * len(model.layers))] * size
    assert ran.trace.n_bytes == (size - 1) * (n + 3 * n + n)


def joined(comm, join):
    x = np.random.default_rng(comm.rank).normal(size=(M // comm.size, 3))
    seen = []

    def through(activations, examples):
        seen.extend(zip(examples.tolist(), activations[:, 0].tolist(), strict=True))
        return activations.copy()

    slopes = join(comm, x, _even(M, comm.size), through)
    return x, slopes, sorted(seen)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", JOINS)
def test_joins_take_every_example_through_once_for_what_they_say(name, size):
    result = run(joined, JOINS[name], workers=size, backend="simulated")
    batch = np.concatenate([x for x, _, _ in result.values])
    for x, slopes, seen in result.values:
        assert seen == list(enumerate(batch[:, 0].tolist()))
        np.testing.assert_allclose(slopes, size * x, rtol=0, atol=1e-13)  # every rank adds x
    turns = size if name == "by_slices" else 1
    others = size - 1
    assert counted(result.trace) == (2 * turns * others, 2 * others * M // size * 3 * ITEM)


def size_only(units, unit_parts, flops=1.0):
    """AlexNet as published, its convolutions size-only; weights and units are scaled down.

    Its convolutions' parameters and the products of examples and units are scaled alike: then so
    are all bytes of the hybrid.
    """
    convs = PUBLISHED["AlexNet"][:5]
    n_parameters = sum(layer.n_parameters for layer in convs)
    assert n_parameters % unit_parts == 0
    pool5, fc6, fc7, fc8 = (n // units for n in (9216, 4096, 4096, 1000))
    parts = [
        StandInLayer(LayerSize("convs", n_parameters // unit_parts, flops), (pool5,)),
        FullyConnected("fc6", pool5, fc6), FullyConnected("fc7", fc6, fc7),
        FullyConnected("fc8", fc7, fc8, bends=False),
    ]  # fmt: skip
    return Chain(parts, (1,))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "hybrid_mb", "pure_mb", "ratio", "with_logits", "join"),
    [
        (2, 27.2, 243.9, 9.0, 8.8, "by_turns"),
        (4, 67.5, 365.8, 5.4, 5.3, "by_slices"),
        (8, 141.1, 426.8, 3.0, 2.9, "all_at_once"),
    ],
)
def test_the_hybrid_sends_as_much_less_as_the_published_sizes_say(
    workers, hybrid_mb, pure_mb, ratio, with_logits, join
):
    """Each join once: that all of them send the same bytes is the next test's."""
    per_worker, fewer_units, fewer_examples = 128, 8, 16
    scale = fewer_units * fewer_examples
    m, others = per_worker // fewer_examples, workers - 1
    model = size_only(fewer_units, scale)
    plan = Plan(batch_size=m * workers)
    rng = np.random.default_rng(0)
    X, y = np.ones((plan.batch_size, 1)), rng.integers(0, 125, size=plan.batch_size)
    scheme = partial(hybrid, join=JOINS[join])
    trace = run(scheme, model, X, y, plan, workers=workers, backend="simulated").trace

    # By formula, in numbers: AlexNet's own, 128 examples a worker.
    convs = 2 * others / workers * 2_334_080
    pool5 = 2 * others * per_worker * 9216
    fc6_fc7 = 2 * 2 * others * per_worker * 4096
    logits = others * per_worker * 1000  # gathered, forward only: fc8's are counted in the trace
    total = convs + pool5 + fc6_fc7
    assert trace.n_bytes == workers * (total + logits) / scale * ITEM
    by_rank = np.array(trace.bytes_sent()) / (total + logits) * scale / ITEM
    np.testing.assert_allclose(by_rank, 1, atol=0.01)  # chunks of a ring and shares of 125 logits
    assert total * 4 / 1e6 == pytest.approx(hybrid_mb, abs=0.05)  # of 4 bytes, as published

    # Pure data parallelism sends the weights: metered as long as they are, to a scale.
    lengths = [round(layer.n_parameters / scale) for layer in PUBLISHED["AlexNet"]]
    stand_in = StandIn(PUBLISHED["AlexNet"], lengths)
    pure = run(data_parallel, stand_in, X, y, plan, workers=workers, backend="simulated").trace
    n = sum(lengths) * ITEM
    assert pure.n_bytes == 2 * others * n + others * n  # all-reduces, and the first broadcast
    pure_bytes = 2 * others / workers * 60_965_224 * 4
    assert 2 * others / workers * n * scale / ITEM * 4 == pytest.approx(pure_bytes, rel=1e-6)
    assert pure_bytes / 1e6 == pytest.approx(pure_mb, abs=0.05)
    assert pure_bytes / (total * 4) == pytest.approx(ratio, abs=0.05)
    assert pure_bytes / ((total + logits) * 4) == pytest.approx(with_logits, abs=0.05)


@pytest.mark.slow
def test_slices_hide_what_one_large_batch_waits_for_and_turns_keep_one_nic_busy():
    """The three joins send the same bytes, and the paper's order of their times is ours."""
    model = Chain(
        [
            StandInLayer(LayerSize("convs", 100, 1.0), (1024,)),
            FullyConnected("fc6", 1024, 256), FullyConnected("fc7", 256, 8, bends=False),
        ],
        (1,),
    )  # fmt: skip
    X, y = np.ones((256, 1)), np.arange(256) % 8
    seconds, n_bytes = {}, set()
    for name, join in JOINS.items():
        result = run(
            partial(hybrid, join=join), model, X, y, Plan(batch_size=256),
            workers=4, backend="simulated", network=networks.ethernet_10g,
        )  # fmt: skip
        seconds[name] = result.elapsed_s
        n_bytes.add(result.trace.n_bytes)
    assert len(n_bytes) == 1
    assert seconds["by_slices"] < 0.99 * seconds["all_at_once"]
    assert seconds["by_slices"] < 0.99 * seconds["by_turns"]
