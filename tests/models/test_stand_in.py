"""A model on paper goes where every model goes, and learns nothing."""

import numpy as np
import pytest

from course_lib.models.stand_in import StandIn
from course_lib.schemes import train
from course_lib.training import Plan

MODEL = StandIn.of({"fc1": 3000, "fc2": 1000}, flops_per_example=1e6)


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
