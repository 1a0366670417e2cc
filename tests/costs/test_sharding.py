"""What the stages of ZeRO hold: by formula, as published, and as counted in a training."""

import numpy as np
import pytest

from course_lib import run
from course_lib.costs import bytes_held
from course_lib.models.deep_mlp import deep_mlp
from course_lib.schemes import sharded_data_parallel, sharded_gradients, sharded_parameters
from course_lib.training import Plan

SCHEMES = {1: sharded_data_parallel, 2: sharded_gradients, 3: sharded_parameters}


@pytest.mark.parametrize(
    ("workers", "gigabytes"),
    [
        (4, (120, 52.5, 41.25, 30)),
        (64, (120, 31.41, 16.64, 1.875)),
        (1024, (120, 30.09, 15.10, 0.117)),
    ],
)
def test_the_published_numbers(workers, gigabytes):
    for stage, expected in enumerate(gigabytes):
        found = bytes_held(stage, 7_500_000_000, workers) / 1e9
        assert found == pytest.approx(expected, abs=0.006 if expected > 1 else 0.0006)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("workers", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("stage", SCHEMES)
def test_what_a_worker_holds_is_what_the_formula_says(stage, workers, momentum):
    model = deep_mlp(23, 24, 24, 24)  # layers of 24 n parameters: all shards are equal
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(16, 23)), rng.integers(0, 24, size=16)
    plan = Plan(batch_size=8, momentum=momentum)
    scheme = SCHEMES[stage]
    trace = run(scheme, model, X, y, plan, workers=workers, backend="simulated").trace
    velocity = 8 * (momentum > 0)
    # In stages 1 and 2 the shard that is stepped is a copy of a part of the parameters.
    state_bytes = velocity + 8 * (stage < 3)
    expected = bytes_held(stage, model.n_parameters, workers, 8, 8, state_bytes)
    notes = trace.notes_named("numbers_held")
    assert len(notes) == 2 * workers
    for note in notes:
        assert 8 * sum(note.value) == expected
    forgotten = bytes_held(stage - 1, model.n_parameters, workers, 8, 8, state_bytes)
    assert workers == 1 or forgotten > 1.1 * expected


@pytest.mark.parametrize("stage", [-1, 4, 1.5])
def test_there_are_four_stages(stage):
    with pytest.raises((TypeError, ValueError), match="stage must be"):
        bytes_held(stage, 100, 4)
