"""What crosses between the parts of a model: activations and their slopes, never weights."""

from functools import partial

import numpy as np
import pytest

from course_lib import run
from course_lib.models.alexnet import alexnet
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.published import PUBLISHED
from course_lib.schemes import data_parallel, hybrid, split_weights
from course_lib.split import split_by_units
from course_lib.training import Plan


def traced(scheme, model, m, workers):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(m, *model.shapes[0])), rng.integers(0, model.shapes[-1][0], size=m)
    plan = Plan(batch_size=m)
    return run(scheme, model, X, y, plan, workers=workers, backend="simulated").trace


def test_two_halves_of_an_mlp_exchange_the_activations_of_units_and_no_weight():
    """Drawn unit by unit, only what the edges carry crosses; sizes tell what each message is."""
    m, units = 5, (12, 8, 6)
    model = deep_mlp(20, *units)
    halves = partial(split_weights, divide=split_by_units)
    trace = traced(halves, model, m, workers=2)
    # Forward what each half has of every layer, and back the slopes of all but the last.
    expected = [(m, n // 2) for n in (*units, *units[:-1]) for _ in range(2)]
    assert sorted(message.shape for message in trace.messages) == sorted(expected)
    # Ten times the weights, and not a byte more: only examples and units count.
    assert traced(halves, deep_mlp(200, *units), m, 2).n_bytes == trace.n_bytes
    assert traced(halves, model, 2 * m, 2).n_bytes == 2 * trace.n_bytes


@pytest.mark.slow
def test_convolutions_by_examples_and_the_rest_by_units_beat_either_way_alone():
    """A small AlexNet on four ranks: bytes that are sent, and operations of the busiest rank."""
    model, m, workers = alexnet(channels=4, units=256, n_classes=8), 16, 4
    sent, busiest = {}, {}
    for scheme in (data_parallel, split_weights, hybrid):
        trace = traced(scheme, model, m, workers)
        sent[scheme] = sum(c.n_bytes for c in trace.messages if c.tag != "w")
        flops = np.zeros(workers)
        for block in trace.computes:
            flops[block.rank] += block.flops
        busiest[scheme] = flops.max()
    assert sent[hybrid] < 0.5 * sent[data_parallel]  # gradients of many weights are not sent
    assert busiest[hybrid] < 0.7 * busiest[split_weights]  # convolutions are not computed 4 times
    # The reason, in the published net: few weights do most of the work, and the rest the other way.
    convs, all_ = PUBLISHED["AlexNet"][:5], PUBLISHED["AlexNet"]
    share = {
        what: sum(getattr(layer, what) for layer in convs) / sum(getattr(n, what) for n in all_)
        for what in ("n_parameters", "flops")
    }
    assert share["n_parameters"] == pytest.approx(0.038, abs=5e-4)
    assert share["flops"] == pytest.approx(0.919, abs=5e-4)
