"""What the NICs carry in a step, by placement of the server: exact, in every world."""

from functools import partial
from importlib import import_module
from itertools import combinations

import numpy as np
import pytest

from course_lib import run
from course_lib.collectives import allreduce_ring, alltoall
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import (
    data_parallel,
    parameter_server,
    parameter_server_on_worker,
    sharded_data_parallel,
    sharded_parameter_server,
    train,
)
from course_lib.schemes.parameter_server_on_worker import hand_out
from course_lib.training import Plan
from course_lib.training.shards import shards_evenly, split_evenly

worker_module = import_module("course_lib.schemes.parameter_server_on_worker")
shards_module = import_module("course_lib.schemes.sharded_parameter_server")

N_PARAMETERS = 24  # each number of ranks or shards below divides it
N_BYTES = 8 * N_PARAMETERS
MODEL = LogisticRegression(N_PARAMETERS - 1)


def reduce_scatter_direct(comm, array):
    """Everybody sends everybody their chunk, and adds up what has come."""
    return alltoall(comm, array).reshape(comm.size, -1).sum(axis=0)


def allgather_direct(comm, array):
    """Everybody sends everybody the same."""
    return alltoall(comm, np.tile(array, comm.size))


# By rank, for P ranks and n bytes of parameters; as many bytes go into a NIC as out of it.
PLACEMENTS = {
    # W = P - 1 workers: W n each way at the server.
    "a dedicated server": (parameter_server, lambda P, n: [(P - 1) * n] + [n] * (P - 1)),
    # 2 (P - 1) n in and out together at the rank that doubles.
    "a server that works as well": (
        parameter_server_on_worker, lambda P, n: [(P - 1) * n] + [n] * (P - 1),
    ),
    # W = P - 2 workers, S = 2: W n / S each way at a server.
    "two shards": (
        partial(sharded_parameter_server, shards=shards_evenly(N_PARAMETERS, 2)),
        lambda P, n: [(P - 2) * n // 2] * 2 + [n] * (P - 2),
    ),
    "shards on all ranks": (
        sharded_data_parallel, lambda P, n: [2 * (P - 1) * n // P] * P,
    ),
    "shards on all ranks, from each to each": (
        partial(
            sharded_data_parallel, reduce_scatter=reduce_scatter_direct, allgather=allgather_direct
        ),
        lambda P, n: [2 * (P - 1) * n // P] * P,
    ),
}  # fmt: skip


def examples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, N_PARAMETERS - 1)), rng.integers(0, 2, size=40)


def bytes_a_step(start, scheme, size):
    """Return the bytes into and out of every rank's NIC in one step, begin and end left out."""
    counted = []
    for epochs in (1, 3):  # of two steps
        plan = Plan(batch_size=20, epochs=epochs)
        trace = start(scheme, MODEL, *examples(), plan, workers=size).trace
        counted.append(np.array([trace.bytes_received(), trace.bytes_sent()]))
    into, out = (counted[1] - counted[0]) / 4
    return into.tolist(), out.tolist()


simulated = partial(run, backend="simulated")


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_the_nics_carry_what_the_arithmetic_says_in_every_world(world, placement):
    scheme, expected = PLACEMENTS[placement]
    assert bytes_a_step(world, scheme, 4) == (expected(4, N_BYTES),) * 2


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("size", [3, 6, 8])
def test_the_arithmetic_holds_for_any_number_of_ranks(placement, size):
    scheme, expected = PLACEMENTS[placement]
    assert bytes_a_step(simulated, scheme, size) == (expected(size, N_BYTES),) * 2


def test_a_server_that_works_as_well_serves_the_same_model_with_one_worker_more():
    """For the same W workers a rank less is needed, and W - 1 vectors cross its NIC each way."""
    n_workers = 4
    (dedicated, *_), _ = bytes_a_step(simulated, parameter_server, n_workers + 1)
    (into, *_), (out, *_) = bytes_a_step(simulated, parameter_server_on_worker, n_workers)
    assert dedicated == n_workers * N_BYTES
    assert into + out == 2 * (n_workers - 1) * N_BYTES


def test_shards_on_all_ranks_carry_what_the_ring_carries_whoever_sends_to_whom():
    """What is sent and to whom are two things: straight to its owner, a chunk is as many bytes."""
    ring = bytes_a_step(simulated, data_parallel, 4)
    for placement in ("shards on all ranks", "shards on all ranks, from each to each"):
        assert bytes_a_step(simulated, PLACEMENTS[placement][0], 4) == ring
    pairs = {}
    for placement in ("shards on all ranks", "shards on all ranks, from each to each"):
        trace = simulated(PLACEMENTS[placement][0], MODEL, *examples(), Plan(), workers=4).trace
        pairs[placement] = {(message.src, message.dst) for message in trace.messages}
    assert [len(found) for found in pairs.values()] == [4, 12]


# Schemes that train rightly and send too much, or through another NIC


def unneeded_sum(comm, array):
    """Everybody is sent the whole sum and keeps its part."""
    return allreduce_ring(comm, array)[split_evenly(len(array), comm.size)[comm.rank]]


def pack_all(vector, shard):
    """Take the whole vector for a shard."""
    return vector.copy()


def unpack_part(packed, shard, vector):
    for part in shard:
        vector[part] = packed[part]


def hand_out_twice(comm, w):
    hand_out(comm, w)
    hand_out(comm, w)


IMPOSTORS = {
    "two shards": (shards_module, {"pack": pack_all, "unpack": unpack_part}),
    "a server that works as well": (worker_module, {"hand_out": hand_out_twice}),
}


def assert_sends_too_much_and_trains_rightly(scheme, expected):
    into, out = bytes_a_step(simulated, scheme, 4)
    assert sum(into) == sum(out) > sum(expected(4, N_BYTES))
    plan = Plan(batch_size=20)
    (w, _), *_ = simulated(scheme, MODEL, *examples(), plan, workers=4).values
    np.testing.assert_allclose(w, train(MODEL, *examples(), plan).w, rtol=0, atol=1e-13)


@pytest.mark.parametrize("placement", IMPOSTORS)
def test_a_server_that_sends_too_much_is_seen_by_its_bytes_alone(monkeypatch, placement):
    module, instead = IMPOSTORS[placement]
    for name, function in instead.items():
        monkeypatch.setattr(module, name, function)
    assert_sends_too_much_and_trains_rightly(*PLACEMENTS[placement])


def test_a_sum_that_everybody_gets_whole_is_seen_by_its_bytes_alone():
    scheme = partial(sharded_data_parallel, reduce_scatter=unneeded_sum)
    assert_sends_too_much_and_trains_rightly(scheme, PLACEMENTS["shards on all ranks"][1])


def test_no_placement_passes_for_another():
    """But for those that carry the same: see their formulas above."""
    found = {name: bytes_a_step(simulated, PLACEMENTS[name][0], 6) for name in PLACEMENTS}
    alike = [
        {"a dedicated server", "a server that works as well"},
        {"shards on all ranks", "shards on all ranks, from each to each"},
    ]
    for name, other in combinations(PLACEMENTS, 2):
        assert (found[name] == found[other]) == ({name, other} in alike)
