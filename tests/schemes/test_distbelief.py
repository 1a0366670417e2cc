"""DistBelief: split replicas and sharded servers are Downpour, and talk only where they must."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.comm.simulated.network import Network
from course_lib.models.alexnet import alexnet
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import distbelief, downpour, split_weights, train
from course_lib.split import (
    join_model,
    parts_by_units,
    shards_by_partition,
    split_by_units,
)
from course_lib.training import SGD, Adagrad, AdamW, Plan
from course_lib.training.shards import (
    length,
    pack,
    shards_by_layer,
    shards_by_name,
    shards_by_size,
    shards_evenly,
)

MODEL = deep_mlp(6, 9, 8, 4)  # 9 units and 4 are cut unevenly
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 6)), RNG.integers(0, 4, size=60)
PLAN = Plan(0.1, 8, 3, momentum=0.5, clip=0.5, weight_decay=0.01, warmup_steps=3)

# Some thousand additions in another order.
CLOSE = {"rtol": 0, "atol": 1e-12}

PLACEMENTS = {
    "by partition": lambda splits, n: shards_by_partition(MODEL, splits, n),
    "evenly": lambda _, n: shards_evenly(MODEL.n_parameters, n),
    "by name": lambda _, n: shards_by_name(MODEL.layers, n),
    "by size": lambda _, n: shards_by_size(MODEL.layers, n),
    "by layer": lambda _, n: shards_by_layer(MODEL.layers, n),
}


def distbelief_of(replicas, splits, shards, plan=PLAN, make=SGD, **options):
    scheme = partial(distbelief, splits=splits, shards=shards, optimizer=make)
    workers = replicas * splits + len(shards)
    return run(scheme, MODEL, X, Y, plan, workers=workers, backend="simulated", **options)


def whole_of(values, splits, n_servers):
    """Join the parts of each replica, which end alike."""
    parts = [value.w for value in values[n_servers:]]
    replicas = [
        join_model(MODEL, parts[first : first + splits], split_by_units)
        for first in range(0, len(parts), splits)
    ]
    assert len({w.tobytes() for w in replicas}) == 1
    return replicas[0]


def losses_of(values):
    return np.sum([value.losses for value in values], axis=0)


def uneven(size):
    """No two ranks compute as fast, and so nothing happens at the same time by chance."""
    return Network("lan", 1e-5, 1e8, tuple(1e6 * (1 + 0.13 * rank) for rank in range(size)))


# What it computes


@given(
    splits=st.integers(1, 4),
    n_shards=st.integers(1, 4),
    placement=st.sampled_from([*PLACEMENTS]),
    make=st.sampled_from([SGD, Adagrad, AdamW]),
    rendezvous=st.booleans(),
)
@settings(max_examples=10, deadline=None)
@pytest.mark.slow
def test_one_replica_is_one_process_however_it_is_split_and_kept(
    splits, n_shards, placement, make, rendezvous
):
    plan = PLAN if make is SGD else Plan(0.05, 8, 3, clip=0.5, accumulate=2)
    shards = PLACEMENTS[placement](splits, n_shards)
    values = distbelief_of(1, splits, shards, plan, make, rendezvous=rendezvous).values
    serial = train(MODEL, X, Y, plan, make)
    np.testing.assert_allclose(whole_of(values, splits, n_shards), serial.w, **CLOSE)
    np.testing.assert_allclose(losses_of(values), serial.losses, **CLOSE)


def test_a_replica_that_clipped_its_parts_alone_would_be_seen():
    shards = shards_by_partition(MODEL, 2, 2)
    serial = train(MODEL, X, Y, PLAN).w
    found = whole_of(distbelief_of(1, 2, shards).values, 2, 2)
    np.testing.assert_allclose(found, serial, **CLOSE)
    for wrong in (Plan(0.1, 8, 3, momentum=0.5, clip=0.4), PLAN.scaled(2)):
        assert np.abs(train(MODEL, X, Y, wrong).w - serial).max() > 1e-3


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("n_shards", [1, 2])
def test_a_replica_of_one_machine_is_downpour_to_the_bit(placement, n_shards):
    plan = Plan(0.1, 8, 3, momentum=0.5)
    shards = PLACEMENTS[placement](1, n_shards)
    network = uneven(n_shards + 4)
    split = distbelief_of(4, 1, shards, plan, network=network)
    whole = run(
        partial(downpour, shards=shards), MODEL, X, Y, plan, workers=n_shards + 4,
        backend="simulated", network=network,
    )  # fmt: skip
    assert whole_of(split.values, 1, n_shards).tobytes() == whole.values[-1].w.tobytes()
    assert losses_of(split.values).tolist() == losses_of(whole.values).tolist()
    stale = [
        [(note.rank, note.value) for note in result.trace.notes_named("staleness")]
        for result in (split, whole)
    ]
    assert stale[0] == stale[1]
    assert np.abs(whole.values[-1].w - train(MODEL, X, Y, plan).w).max() > 1e-3


def paced(replicas, splits, n_servers, blocks, first=1.0):
    """Replica r takes 1 + 0.37 r seconds for a gradient of so many blocks, whoever computes it."""
    size = n_servers + replicas * splits
    times = {
        n_servers + number: [first + 0.37 * (number // splits), *[0.0] * (blocks - 1)] * 24
        for number in range(replicas * splits)
    }
    return Network("free", 0.0, np.inf, (1e12,) * size).with_service_times(times)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("splits", [2, 3])
def test_split_replicas_in_the_same_order_are_whole_ones_in_downpour(placement, splits):
    """By a schedule of service times, whole and split replicas push one after another alike."""
    plan = Plan(0.1, 8, 3, momentum=0.5, clip=0.5)
    shards = PLACEMENTS[placement](splits, 2)
    passes = 3 + 3 + 2  # forward, weights' gradients, inputs' gradients
    split = distbelief_of(3, splits, shards, plan, network=paced(3, splits, 2, passes))
    scheme = partial(run, downpour, MODEL, X, Y, plan, workers=4, backend="simulated")
    whole = scheme(network=paced(3, 1, 1, 1))
    np.testing.assert_allclose(whole_of(split.values, splits, 2), whole.values[-1].w, **CLOSE)
    np.testing.assert_allclose(losses_of(split.values), losses_of(whole.values), **CLOSE)
    expected = [note.value for note in whole.trace.notes_named("staleness")]
    n_pieces = len(split.trace.notes_named("staleness")) // len(expected)
    found = sorted(note.value for note in split.trace.notes_named("staleness"))
    assert found == sorted(expected * n_pieces)
    other = scheme(network=paced(3, 1, 1, 1, first=0.6)).values[-1].w  # in another order
    assert np.abs(other - whole.values[-1].w).max() > 1e-4


@pytest.mark.parametrize("splits", [1, 2, 3])
def test_every_batch_is_computed_once_by_the_machines_of_one_replica(splits):
    shards = shards_by_partition(MODEL, splits, splits)
    values = distbelief_of(3, splits, shards, network=uneven(4 * splits)).values
    computed = np.array([value.losses for value in values]) > 0
    assert computed.sum(axis=0).tolist() == [1] * 24
    first_machines = [splits + splits * replica for replica in range(3)]
    assert set(np.flatnonzero(computed.any(axis=1))) == set(first_machines)


def test_servers_return_their_pieces_by_machine():
    shards = shards_evenly(MODEL.n_parameters, 3)
    values = distbelief_of(2, 2, shards).values
    assert [len(value.w) for value in values[:3]] == [length(shard) for shard in shards]
    w = whole_of(values, 2, 3)
    kept = shards_by_partition(MODEL, 2, 2)
    values = distbelief_of(2, 2, kept).values
    w = whole_of(values, 2, 2)
    assert [value.w.tobytes() for value in values[:2]] == [pack(w, own).tobytes() for own in kept]


# Who talks with whom


def pairs(trace):
    """The ranks that have exchanged anything, and how many bytes."""
    traffic = np.zeros((trace.size, trace.size), int)
    for message in trace.messages:
        traffic[message.src, message.dst] += message.n_bytes
    return traffic


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("n_shards", [2, 3])
def test_the_traffic_is_zero_but_inside_replicas_and_where_a_server_keeps_any_of_a_part(
    placement, n_shards
):
    replicas, splits = 2, 2
    shards = PLACEMENTS[placement](splits, n_shards)
    traffic = pairs(distbelief_of(replicas, splits, shards).trace) > 0
    parts = parts_by_units(MODEL, splits)
    has = [np.concatenate([np.arange(p.start, p.stop) for p in part]) for part in parts]
    keeps = [np.concatenate([[-1], *(np.arange(p.start, p.stop) for p in s)]) for s in shards]
    expected = np.zeros_like(traffic)
    for replica in range(replicas):
        first = n_shards + replica * splits
        expected[first : first + splits, first : first + splits] = ~np.eye(splits, dtype=bool)
        for machine in range(splits):
            for server in range(n_shards):
                near = len(np.intersect1d(has[machine], keeps[server])) > 0
                expected[first + machine, server] = expected[server, first + machine] = near
    assert traffic.tolist() == expected.tolist()


def test_placed_by_partition_as_many_bytes_go_as_by_name_but_evenly_and_to_one_server_each():
    """Placement saves no byte: a gradient is n up and n down, whoever keeps what."""
    replicas, splits, n_lots = 2, 2, 24
    n_bytes = 8 * MODEL.n_parameters
    of = {}
    for placement in ("by partition", "by name", "by size"):
        shards = PLACEMENTS[placement](splits, 2)
        trace = distbelief_of(replicas, splits, shards, Plan(0.1, 8, 3)).trace
        of[placement] = [m for m in trace.messages if min(m.src, m.dst) < 2]
        expected = (2 * n_lots + replicas) * n_bytes + n_lots * 8
        assert sum(m.n_bytes for m in of[placement]) == expected
    # The hash of their names puts all three layers on one server, which both machines talk with.
    links = {name: len({(m.src, m.dst) for m in found}) for name, found in of.items()}
    assert links == {"by partition": 8, "by name": 8, "by size": 16}
    assert len(of["by size"]) - n_lots == 2 * (len(of["by partition"]) - n_lots)
    taken = {
        name: [sum(m.n_bytes for m in found if m.dst == server) for server in range(2)]
        for name, found in of.items()
    }
    assert taken["by name"] == [n_lots * n_bytes, 0]
    # 4 of 9 units, 4 of 8 and 2 of 4 are on the first machine, the rest on the other.
    assert taken["by partition"] == [n_lots * 8 * 86, n_lots * 8 * 93]
    assert taken["by size"] == [n_lots * 8 * 80, n_lots * 8 * 99]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_gradient_costs_what_the_cost_line_says(placement):
    replicas, splits, n_shards, n_lots = 2, 3, 2, 24
    shards = PLACEMENTS[placement](splits, n_shards)
    trace = distbelief_of(replicas, splits, shards, Plan(0.1, 8, 3)).trace
    n_bytes, n_pieces = 8 * MODEL.n_parameters, 0
    for part in parts_by_units(MODEL, splits):
        held = {k for cut in part for k in range(cut.start, cut.stop)}
        n_pieces += sum(any(held & {*range(p.start, p.stop)} for p in s) for s in shards)
    with_servers = [m for m in trace.messages if min(m.src, m.dst) < n_shards]
    by_tag = {
        tag: [m.n_bytes for m in with_servers if m.tag == tag]
        for tag in ("fetch", "parameters", "gradient", "lot")
    }
    assert sum(map(len, by_tag.values())) == len(with_servers)
    counts = {tag: len(found) for tag, found in by_tag.items()}
    assert counts == {
        "fetch": n_lots * n_pieces,
        "parameters": (n_lots + replicas) * n_pieces,
        "gradient": n_lots * n_pieces,
        "lot": n_lots,
    }
    assert sum(by_tag["fetch"]) == 0
    assert sum(by_tag["gradient"]) == n_lots * n_bytes
    assert sum(by_tag["parameters"]) == (n_lots + replicas) * n_bytes
    # Inside replicas: a lot to every other machine, and what ``split_weights`` sends of units.
    alone = run(
        partial(split_weights, divide=split_by_units), MODEL, X, Y, Plan(0.1, 8, 3),
        workers=splits, backend="simulated",
    ).trace  # fmt: skip
    inside = trace.n_bytes - sum(m.n_bytes for m in with_servers)
    assert inside == alone.n_bytes + n_lots * (splits - 1) * 8
    assert set(by_tag["lot"]) == {8}


# Where parameters lie


@pytest.mark.parametrize("splits", [1, 2, 3, 4])
def test_parts_by_units_are_what_split_models_keep_and_every_parameter_is_in_one(splits):
    w = MODEL.initial(5)
    parts = [pack(w, part) for part in parts_by_units(MODEL, splits)]
    assert join_model(MODEL, parts, split_by_units).tobytes() == w.tobytes()
    assert sum(map(len, parts)) == MODEL.n_parameters


@given(splits=st.integers(1, 4), n_shards=st.integers(1, 8))
def test_shards_by_partition_keep_every_parameter_once_with_as_few_neighbours_as_can_be(
    splits, n_shards
):
    shards = shards_by_partition(MODEL, splits, n_shards)
    kept = [k for shard in shards for part in shard for k in range(part.start, part.stop)]
    assert sorted(kept) == list(range(MODEL.n_parameters))
    held = [
        {k for cut in part for k in range(cut.start, cut.stop)}
        for part in parts_by_units(MODEL, splits)
    ]
    near = sum(
        bool(own & {k for part in shard for k in range(part.start, part.stop)})
        for own in held
        for shard in shards
    )
    assert len(shards) == n_shards
    assert near == max(splits, n_shards)


# Real processes


@pytest.mark.slow
def test_two_replicas_of_two_machines_and_two_servers_train_on_real_processes():
    shards = shards_by_partition(MODEL, 2, 2)
    scheme = partial(distbelief, splits=2, shards=shards)
    plan = Plan(0.1, 8, 2, momentum=0.5)
    result = run(scheme, MODEL, X, Y, plan, workers=6, backend="processes")
    w = whole_of(result.values, 2, 2)
    assert MODEL.loss(w, (X, Y)) < 0.99 * MODEL.loss(MODEL.initial(), (X, Y))
    assert ((np.array([value.losses for value in result.values]) > 0).sum(axis=0) == 1).all()
    met = {frozenset((m.src, m.dst)) for m in result.trace.messages}
    near = [{0, 2}, {0, 4}, {1, 3}, {1, 5}]  # a machine and its server
    assert met == {*map(frozenset, near), frozenset({2, 3}), frozenset({4, 5})}


# Bad input


@pytest.mark.parametrize(
    ("workers", "options", "told"),
    [
        (4, {"splits": 3}, "splits must divide the 2 ranks beside 2 servers, so that replicas x"),
        (7, {"splits": 2}, r"replicas x splits \+ servers = 7; got 2"),
        (4, {"splits": 0}, "splits must be an int of 1 or more, got 0"),
        (4, {"splits": 2.0}, r"splits must be an int of 1 or more, got 2.0 \(float\)"),
        (7, {"splits": 5}, "each of 5 ranks must have one of the 4 outputs of fc3 at least"),
        (2, {"splits": 1}, "shards must be from 1 to 1 of 2 ranks, so that a replica is left"),
        (4, {"shards": []}, "shards must be from 1 to 3 of 4 ranks, so that a replica is left"),
        (4, {"shards": [[slice(0, 179)], [slice(3, 4)]]}, "got 0 that none keeps and 1 kept twice"),
        (4, {"shards": [[slice(0, 170)], []]}, "got 9 that none keeps and 0 kept twice"),
        (4, {"shards": [[slice(0, 179)], [slice(179, 190)]]}, "shards must keep each of 179"),
        (4, {"model": alexnet(2, 8, 8)}, "model must have fully connected layers alone"),
        (4, {"model": LogisticRegression(6)}, "model must be a Chain, whose layers can be split"),
        (4, {"plan": Plan(on_epoch=print)}, "on_epoch must be None for distbelief, got"),
    ],
)
def test_what_cannot_be_is_named_before_anything_is_sent(workers, options, told):
    given = {"splits": 2, "shards": shards_evenly(179, 2), "model": MODEL, "plan": PLAN} | options
    model, plan = given.pop("model"), given.pop("plan")
    scheme = partial(distbelief, **given)
    with pytest.raises(RunError, match=told) as caught:
        run(scheme, model, X, Y, plan, workers=workers, backend="simulated")
    assert caught.value.trace.n_messages == 0
