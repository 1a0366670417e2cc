"""Gossip: models drift apart and are drawn together, as fast as the graph's eigenvalue says."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.errors import WorkerError
from course_lib.costs import consensus_factor
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import data_parallel, gossip
from course_lib.schemes.gossip import mix, neighbours
from course_lib.training import Plan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 3))
Y = (X[:, 0] > 0).astype(int)
PLAN = Plan(learning_rate=0.2, batch_size=24, epochs=5)
SIZES = {"ring": range(2, 9), "hypercube": (2, 4, 8)}
CASES = [(graph, size) for graph, sizes in SIZES.items() for size in sizes]


def mixed(comm, starts, graph, rounds):
    """Return what a rank holds after each round."""
    found = [starts[comm.rank]]
    for _ in range(rounds):
        found.append(mix(comm, found[-1], graph))
    return found


def errors(starts, graph, rounds=4):
    """Return how far the ranks are from their mean after each round, and how that mean moves."""
    size = len(starts)
    found = run(mixed, starts, graph, rounds, workers=size, backend="simulated").values
    held = np.array(found)  # shape (ranks, rounds + 1, numbers)
    apart = held - held.mean(axis=0)
    np.testing.assert_allclose(held.mean(axis=0), np.tile(held.mean(axis=0)[0], (rounds + 1, 1)))
    return np.sqrt((apart**2).sum(axis=(0, 2)))


def second_eigenvector(graph, size):
    ranks = np.arange(size)
    if graph == "ring":
        return np.cos(2 * math.pi * ranks / size)[:, None]
    return (1.0 - 2 * (ranks & 1))[:, None]


@pytest.mark.parametrize(("graph", "size"), CASES)
def test_from_the_second_eigenvector_the_error_shrinks_by_exactly_the_factor(graph, size):
    factor = consensus_factor(graph, size)
    found = errors(5.0 + second_eigenvector(graph, size), graph)
    np.testing.assert_allclose(found, found[0] * factor ** np.arange(5), rtol=0, atol=1e-14)
    # The likely mistake: one's own model weighs more than a neighbour's.
    assert abs(found[1] - found[0] * (1 + factor) / 2) > 1e-3


@pytest.mark.parametrize(("graph", "size"), CASES)
def test_the_factor_is_the_second_eigenvalue_of_the_weights(graph, size):
    weights = np.zeros((size, size))
    for rank in range(size):
        around = [rank, *(src for _, src in neighbours(rank, size, graph))]
        for src in around:
            weights[rank, src] += 1 / len(around)
    sizes = np.sort(np.abs(np.linalg.eigvalsh(weights)))
    assert sizes[-1] == pytest.approx(1)
    assert consensus_factor(graph, size) == pytest.approx(sizes[-2], abs=1e-14)


@settings(max_examples=25, deadline=None)
@given(case=st.sampled_from(CASES), seed=st.integers(0, 1000))
def test_from_any_start_it_shrinks_by_that_much_at_least(case, seed):
    graph, size = case
    found = errors(np.random.default_rng(seed).normal(size=(size, 3)), graph)
    assert (found[1:] <= consensus_factor(graph, size) * found[:-1] + 1e-14).all()


@pytest.mark.parametrize(
    ("graph", "size", "told"),
    [
        ("star", 4, "graph must be one of ring, hypercube, got 'star'"),
        ("hypercube", 6, "graph hypercube needs a power of two of ranks: workers must be .* got 6"),
    ],
)
def test_a_graph_that_is_none_is_refused_before_anything_is_sent(graph, size, told):
    task = partial(gossip, graph=graph)
    with pytest.raises(WorkerError, match=told) as caught:
        run(task, LogisticRegression(3), X, Y, PLAN, workers=size, backend="simulated")
    assert len(caught.value.trace.messages) == 0
    with pytest.raises(ValueError, match=r"size|graph"):
        consensus_factor(graph, size)


@pytest.mark.parametrize("graph", ["ring", "hypercube"])
def test_the_mean_model_learns_and_models_stay_close(graph):
    task = partial(gossip, graph=graph)
    values = run(task, mlp(3, 6, 2), X, Y, PLAN, workers=8, backend="simulated").values
    models = np.array([value.w for value in values])
    whole = run(data_parallel, mlp(3, 6, 2), X, Y, PLAN, workers=8, backend="simulated").values
    assert np.abs(models.mean(axis=0) - whole[0].w).max() < 0.02
    assert 1e-6 < np.abs(models - models.mean(axis=0)).max() < 0.2
    losses = np.sum([value.losses for value in values], axis=0)
    assert losses[-1] < losses[0]


def test_with_three_ranks_on_a_ring_all_are_neighbours_and_it_is_a_mean_of_all():
    plan = Plan(learning_rate=0.2, batch_size=24, epochs=2, momentum=0.5)
    given_to = (LogisticRegression(3), X, Y, plan)
    found = run(gossip, *given_to, workers=3, backend="simulated").values
    whole = run(data_parallel, *given_to, workers=3, backend="simulated").values
    for value in found:  # eight steps, in which sums are made in another order
        np.testing.assert_allclose(value.w, whole[0].w, rtol=0, atol=1e-13)
    other = run(gossip, *given_to, workers=4, backend="simulated").values
    assert np.abs(other[0].w - whole[0].w).max() > 1e-6


def test_a_step_sends_a_model_to_each_neighbour(world):
    model, steps = LogisticRegression(3), 20
    n_bytes = 8 * model.n_parameters
    for graph, n_neighbours in (("ring", 2), ("hypercube", 2)):
        task = partial(gossip, graph=graph)
        trace = world(task, model, X, Y, PLAN, workers=4).trace
        assert trace.n_messages == 3 + steps * 4 * n_neighbours
        assert sum(trace.bytes_sent()) == (3 + steps * 4 * n_neighbours) * n_bytes
    if world.backend == "simulated":
        trace = world(partial(gossip, graph="hypercube"), model, X, Y, PLAN, workers=8).trace
        assert trace.n_messages == 7 + steps * 8 * 3
