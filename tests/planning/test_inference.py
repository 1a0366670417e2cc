"""Answers are the unsplit model's; replicas multiply throughput, stages lengthen the way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.models.deep_mlp import deep_mlp
from course_lib.planning.inference import (
    predict_replicas,
    predict_stages,
    serve_replicas,
    serve_stages,
    service,
)
from course_lib.planning.stages import stage_parts
from course_lib.training.balanced import balanced_stages
from course_lib.words.split import split_evenly


def requests_of(n_requests, n_examples, n_inputs=20, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n_examples, n_inputs)) for _ in range(n_requests)]


def outputs_of(values):
    return {k: y for value in values for k, y in value.outputs.items()}


def test_outputs_are_the_unsplit_models_in_every_world(world):
    chain, requests = deep_mlp(20, 30, 30, 30, 10), requests_of(5, 3)
    w = chain.initial(seed=1)
    for serve, options in ((serve_replicas, ()), (serve_stages, ((1, 2, 1),))):
        values = world(
            serve, chain, lambda k: chain.initial_of(k, seed=1), requests, *options,
            workers=3, rendezvous=True,
        ).values  # fmt: skip
        found = outputs_of(values)
        assert sorted(found) == list(range(5))
        for k, request in enumerate(requests):
            assert found[k].tobytes() == chain.outputs(w, request).tobytes()


def test_a_sharded_batch_is_the_batch():
    chain, (batch,) = deep_mlp(20, 30, 10), requests_of(1, 23)
    w = chain.initial()
    shards = [batch[part] for part in split_evenly(len(batch), 4)]
    values = run(
        serve_replicas, chain, chain.initial_of, shards, workers=4, backend="simulated"
    ).values
    found = outputs_of(values)
    together = np.concatenate([found[k] for k in range(4)])
    # Products of matrices of another height may round otherwise.
    np.testing.assert_allclose(together, chain.outputs(w, batch), rtol=0, atol=1e-13)
    swapped = np.concatenate([found[k] for k in (1, 0, 2, 3)])
    assert np.abs(swapped - chain.outputs(w, batch)).max() > 1e-2


def test_a_stage_asks_for_its_own_parameters_only():
    chain, requests = deep_mlp(20, 30, 30, 10), requests_of(2, 3)

    def asked(comm):
        numbers = []
        serve_stages(
            comm, chain, lambda k: numbers.append(k) or chain.initial_of(k), requests, (2, 1)
        )
        return numbers

    assert run(asked, workers=2, backend="simulated").values == [[0, 1], [2]]


@given(
    sizes=st.lists(st.integers(1, 300), min_size=4, max_size=8),
    n_examples=st.integers(1, 40),
    workers=st.integers(1, 3),
    n_requests=st.integers(2, 7),
    rendezvous=st.booleans(),
    slow_wire=st.booleans(),
)
@settings(max_examples=20, deadline=None)
@pytest.mark.slow
def test_stages_take_as_long_as_predicted(
    sizes, n_examples, workers, n_requests, rendezvous, slow_wire
):
    """Messages on both sides of 16 KB; with wires or with stages as the slowest part."""
    network = networks.ethernet_1g if slow_wire else networks.nvlink_4
    speeds = tuple(1e10 / (rank + 1) for rank in range(workers))
    network = replace(network, flops_per_s=speeds)
    chain, requests = deep_mlp(*sizes), requests_of(n_requests, n_examples, sizes[0])
    stages = balanced_stages([part.n_parameters for part in chain.parts], workers)
    result = run(
        serve_stages, chain, chain.initial_of, requests, stages, workers=workers,
        backend="simulated", network=network, rendezvous=rendezvous,
    )  # fmt: skip
    predicted = predict_stages(chain, n_examples, network, stages)
    assert service(result.values) == pytest.approx(predicted, rel=1e-9)
    elapsed_s = predicted.latency_s + (n_requests - 1) / predicted.per_second
    assert result.elapsed_s == pytest.approx(elapsed_s, rel=1e-9)


@pytest.mark.slow
def test_replicas_leave_latency_and_multiply_throughput_stages_add_cuts():
    chain, network = deep_mlp(*[200] * 9), networks.ethernet_1g
    requests = requests_of(8, 5, 200)

    def served(serve, workers, *options):
        result = run(
            serve, chain, chain.initial_of, requests, *options, workers=workers,
            backend="simulated", network=network,
        )  # fmt: skip
        return service(result.values)

    alone = served(serve_replicas, 1)
    replicas, stages = served(serve_replicas, 4), served(serve_stages, 4, (2, 2, 2, 2))
    assert alone == pytest.approx(predict_replicas(chain, 5, network, 1), rel=1e-9)
    assert replicas == pytest.approx(predict_replicas(chain, 5, network, 4), rel=1e-9)
    assert replicas == pytest.approx((alone.latency_s, 4 * alone.per_second), rel=1e-9)
    cut_s = network.latency_s + 5 * 200 * 8 * network.beta_s_per_byte
    assert stages.latency_s == pytest.approx(alone.latency_s + 3 * cut_s, rel=1e-9)
    assert stages.per_second == pytest.approx(4 * alone.per_second, rel=1e-9)
    # The likely mistakes: cuts left out of the latency, or put into the time of a stage.
    assert 3 * cut_s / alone.latency_s > 0.3
    assert cut_s / (alone.latency_s / 4) > 0.3
    # Unequal stages: the slowest says how many, whatever the others do.
    uneven = served(serve_stages, 4, (1, 5, 1, 1))
    assert uneven.per_second == pytest.approx(8 / 5 * alone.per_second, rel=1e-9)
    assert uneven.latency_s == pytest.approx(stages.latency_s, rel=1e-9)


@given(costs=st.lists(st.integers(0, 50), min_size=1, max_size=9), n_stages=st.integers(1, 9))
@settings(max_examples=80, deadline=None)
@pytest.mark.slow
def test_no_other_cut_has_a_cheaper_most_expensive_stage(costs, n_stages):
    if n_stages > len(costs):
        with pytest.raises(ValueError, match=f"n_stages must be at most the {len(costs)} layers"):
            balanced_stages(costs, n_stages)
        return

    def best(costs, n_stages):
        if n_stages == 1:
            return sum(costs)
        ends = range(1, len(costs) - n_stages + 2)
        return min(max(sum(costs[:end]), best(costs[end:], n_stages - 1)) for end in ends)

    stages = balanced_stages(costs, n_stages)
    parts = stage_parts(stages, len(costs), n_stages)
    assert max(sum(costs[k] for k in part) for part in parts) == best(costs, n_stages)


@pytest.mark.parametrize(
    ("stages", "error", "told"),
    [
        ((1, 2), ValueError, "stages must have one number of layers for each of 3 ranks"),
        ((1, 1, 2), ValueError, "stages must be of 3 layers together, got \\(1, 1, 2\\)"),
        ((3, 0, 0), ValueError, "stages must be an int of 1 or more, got 0"),
        ((1, 1, 1.0), TypeError, "stages must be an int of 1 or more, got 1.0"),
    ],
)
def test_stages_that_do_not_fit_are_refused_before_anything_is_sent(stages, error, told):
    chain, requests = deep_mlp(20, 5, 5, 5), requests_of(2, 3)

    def refused(comm):
        with pytest.raises(error, match=told):
            serve_stages(comm, chain, chain.initial_of, requests, stages)

    assert run(refused, workers=3, backend="simulated").trace.n_messages == 0


def test_one_answer_alone_says_nothing_of_how_many_a_second():
    chain = deep_mlp(20, 5)
    values = run(
        serve_replicas, chain, chain.initial_of, requests_of(1, 3), workers=1, backend="simulated"
    ).values
    with pytest.raises(ValueError, match="answers must be of requests that follow others, got 1"):
        service(values)
