"""The cost of one step: virtual seconds and bytes without what frames the steps."""

import numpy as np
import pytest

from course_lib import run
from course_lib.measure.training_step import one_step, real_step_s
from course_lib.models.stand_in import StandIn
from course_lib.schemes import (
    data_parallel,
    parameter_server,
    sharded_parameter_server,
    train,
)
from course_lib.training import Plan
from course_lib.training.shards import shards_evenly

MODEL = StandIn.of({"fc1": 3000, "fc2": 1000}, flops_per_example=1e6)
N_BYTES = 8 * 4000


def test_the_last_fetch_is_not_counted():
    step = one_step(parameter_server, MODEL, workers=3, examples_each=2)
    assert step.into == [3 * N_BYTES] + [N_BYTES] * 3
    assert step.out == [3 * N_BYTES] + [N_BYTES] * 3
    examples = np.zeros((6, 1)), np.zeros(6)
    whole = run(
        parameter_server, MODEL, *examples, Plan(batch_size=6), workers=4, backend="simulated"
    )
    assert whole.trace.bytes_sent()[0] == 2 * step.out[0], "a run of one step fetches twice"
    assert whole.elapsed_s > step.seconds


def test_examples_and_options_reach_the_scheme():
    shards = shards_evenly(4000, 4)
    few, many = (
        one_step(sharded_parameter_server, MODEL, 2, each, shards=shards) for each in (1, 9)
    )
    assert many.seconds - few.seconds == pytest.approx(8 * 1e6 / 1e10, rel=1e-9)
    assert few.into[:4] == [2 * N_BYTES / 4] * 4


def test_a_model_on_paper_goes_through_training_and_learns_nothing():
    examples = np.ones((8, 2)), np.ones(8)
    trained = train(MODEL, *examples, Plan(batch_size=4))
    assert not trained.w.any()
    assert trained.losses == [0.0, 0.0]
    assert MODEL.loss(trained.w, examples) == 0
    assert MODEL.predict(trained.w, examples[0]).tolist() == [0] * 8
    parts = [(layer.name, len(grad)) for layer, grad in MODEL.backward_layers(trained.w, examples)]
    assert parts == [("fc2", 1000), ("fc1", 3000)]


def test_layers_on_paper_cost_their_share_of_the_flops():
    batch = np.ones((8, 2)), np.ones(8)
    flops = MODEL.layer_flops(batch)
    assert sum(part.forward + part.backward for part in flops) == pytest.approx(MODEL.flops(batch))
    assert flops[0].backward == pytest.approx(3 * flops[1].backward)
    passes = MODEL.passes(MODEL.initial(), batch)
    for layer in MODEL.layers:
        passes.forward(layer)
    assert passes.loss() == 0
    assert [len(passes.backward(layer)) for layer in reversed(MODEL.layers)] == [1000, 3000]


@pytest.mark.slow
def test_more_bytes_take_longer_on_real_processes_too():
    small, large = (
        real_step_s(data_parallel, StandIn.of({"all": n}, 0), ranks=2, steps=3)
        for n in (10, 4_000_000)
    )
    print(f"a step of 80 bytes {small * 1e3:.3f} ms, of 32 MB {large * 1e3:.3f} ms")
    assert 0 < small < large
