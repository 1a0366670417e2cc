"""What the network cards carry in a step, by placement of the server: exact, in every world."""

from functools import partial
from importlib import import_module
from itertools import combinations

import numpy as np
import pytest

from course_lib import run
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import (
    data_parallel,
    parameter_server,
    sharded_parameter_server,
    train,
)
from course_lib.training import Plan
from course_lib.training.shards import pack, unpack

server_module = import_module("course_lib.schemes.parameter_server")
shards_module = import_module("course_lib.schemes.sharded_parameter_server")

N_PARAMETERS = 24  # each number of ranks or shards below divides it
N_BYTES = 8 * N_PARAMETERS
MODEL = LogisticRegression(N_PARAMETERS - 1)


def on_all_ranks(comm, *arguments):
    return sharded_parameter_server(comm, *arguments, servers=comm.size, dedicated=False)


# By rank, for P ranks and n bytes of parameters; as many bytes go into a card as out of it.
PLACEMENTS = {
    # W = P - 1 workers: W n each way at the server.
    "a dedicated server": (parameter_server, lambda P, n: [(P - 1) * n] + [n] * (P - 1)),
    # 2 (P - 1) n in and out together at the rank that doubles.
    "a server that works as well": (
        partial(parameter_server, dedicated=False),
        lambda P, n: [(P - 1) * n] + [n] * (P - 1),
    ),
    # W = P - 2 workers, S = 2: W n / S each way at a server.
    "two dedicated shards": (
        partial(sharded_parameter_server, servers=2),
        lambda P, n: [(P - 2) * n // 2] * 2 + [n] * (P - 2),
    ),
    # Its shard from or to P - 1 others, and the other shard.
    "two shards on workers": (
        partial(sharded_parameter_server, servers=2, dedicated=False),
        lambda P, n: [(P - 1) * n // 2 + n // 2] * 2 + [n] * (P - 2),
    ),
    "shards on all ranks": (on_all_ranks, lambda P, n: [2 * (P - 1) * n // P] * P),
}


def examples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, N_PARAMETERS - 1)), rng.integers(0, 2, size=40)


def bytes_a_step(start, scheme, size):
    """Return the bytes into and out of every rank's card in one step, begin and end left out."""
    counted = []
    for epochs in (1, 3):  # of two steps
        plan = Plan(batch_size=20, epochs=epochs)
        trace = start(scheme, MODEL, *examples(), plan, workers=size).trace
        counted.append(np.array([trace.bytes_received(), trace.bytes_sent()]))
    into, out = (counted[1] - counted[0]) / 4
    return into.tolist(), out.tolist()


simulated = partial(run, backend="simulated")


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_the_cards_carry_what_the_arithmetic_says_in_every_world(world, placement):
    scheme, expected = PLACEMENTS[placement]
    assert bytes_a_step(world, scheme, 4) == (expected(4, N_BYTES),) * 2


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("size", [3, 6, 8])
def test_the_arithmetic_holds_for_any_number_of_ranks(placement, size):
    scheme, expected = PLACEMENTS[placement]
    assert bytes_a_step(simulated, scheme, size) == (expected(size, N_BYTES),) * 2


def test_a_server_that_works_as_well_serves_the_same_model_with_one_worker_more():
    """For the same W workers a rank less is needed, and W - 1 vectors cross its card each way."""
    n_workers = 4
    (dedicated, *_), _ = bytes_a_step(simulated, parameter_server, n_workers + 1)
    doubling = partial(parameter_server, dedicated=False)
    (into, *_), (out, *_) = bytes_a_step(simulated, doubling, n_workers)
    assert dedicated == n_workers * N_BYTES
    assert into + out == 2 * (n_workers - 1) * N_BYTES


def test_shards_on_all_ranks_carry_what_the_ring_carries():
    assert bytes_a_step(simulated, on_all_ranks, 4) == bytes_a_step(simulated, data_parallel, 4)


# Servers that train rightly and send too much, or through another card


def push_whole(comm, shards, grad, first_worker):
    """Send every server the whole gradient; each takes its part of it."""
    own = shards[comm.rank] if comm.rank < len(shards) else []
    total = pack(grad, own)
    for server, worker in shards_module._rounds(comm, len(shards), first_worker):
        arrived = shards_module._exchange(
            comm, server, None if server is None else grad, worker if own else None
        )
        if arrived is not None:
            total += pack(arrived, own)
    return total


def fetch_whole(comm, shards, kept, w, first_reader):
    """Send every reader a vector as long as the model, of which only the shard counts."""
    own = shards[comm.rank] if comm.rank < len(shards) else []
    unpack(kept, own, w)
    for server, reader in shards_module._rounds(comm, len(shards), first_reader):
        outgoing = None if reader is None or not own else w
        arrived = shards_module._exchange(comm, reader, outgoing, server)
        if arrived is not None:
            unpack(pack(arrived, shards[server]), shards[server], w)


def fetch_twice(comm, w, fetch=server_module._fetch):
    fetch(comm, w)
    fetch(comm, w)


IMPOSTORS = {
    "the whole gradient to each shard": (shards_module, "_push", push_whole),
    "the whole model from each shard": (shards_module, "_fetch", fetch_whole),
    "the parameters sent twice": (server_module, "_fetch", fetch_twice),
}


@pytest.mark.parametrize("impostor", IMPOSTORS)
def test_a_server_that_sends_too_much_is_seen_by_its_bytes_alone(monkeypatch, impostor):
    module, name, instead = IMPOSTORS[impostor]
    monkeypatch.setattr(module, name, instead)
    for placement, (scheme, expected) in PLACEMENTS.items():
        if ("shard" in placement) == (module is shards_module):
            into, out = bytes_a_step(simulated, scheme, 4)
            assert sum(into) == sum(out) > sum(expected(4, N_BYTES))
            plan = Plan(batch_size=20)
            (w, _), *_ = simulated(scheme, MODEL, *examples(), plan, workers=4).values
            np.testing.assert_allclose(w, train(MODEL, *examples(), plan).w, rtol=0, atol=1e-13)


def test_no_placement_passes_for_another():
    """But for one server: a rank more or less is what tells a dedicated one from one that works."""
    found = {name: bytes_a_step(simulated, PLACEMENTS[name][0], 6) for name in PLACEMENTS}
    one_server = {"a dedicated server", "a server that works as well"}
    for name, other in combinations(PLACEMENTS, 2):
        assert (found[name] == found[other]) == ({name, other} == one_server)
