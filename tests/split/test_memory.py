"""A model that does not fit: four real processes train it, and none of them ever holds it whole."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib import run
from course_lib.models.deep_mlp import deep_mlp
from course_lib.schemes import serial, sharded_parameters, split_weights
from course_lib.training import Plan

WORKERS = 4
MODEL = deep_mlp(64, *[512] * 40, 16)  # 10.3 million parameters, 82 MB
PLAN = Plan(learning_rate=0.01, batch_size=16, momentum=0.9)  # 3 steps

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the highest mark is read from /proc"),
]


def most_bytes():
    """Return the most memory that this process has ever had at a time."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (kib,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return 1024 * int(kib)


def trained(comm, scheme):
    """Train, where there is something to train by; return losses and the highest mark."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(48, 64)), rng.integers(0, 16, size=48)
    X @ X.T  # what a product of matrices takes, everybody has taken
    losses = [] if scheme is None else scheme(comm, MODEL, X, y, PLAN).losses
    comm.barrier()
    return losses, most_bytes()


def above(scheme, workers, empty):
    values = run(trained, scheme, workers=workers, backend="processes", trace=False).values
    losses = np.sum([value[0] for value in values], axis=0)
    return losses, max(value[1] for value in values) - empty


def test_four_processes_train_what_would_not_fit_into_one():
    _, empty = above(None, WORKERS, 0)
    whole_losses, whole = above(serial, 1, empty)
    model_bytes = 8 * MODEL.n_parameters
    assert whole > 2.9 * model_bytes  # parameters, gradient, momentum
    budget = model_bytes - 2**20  # of each worker: not even the parameters would fit
    for scheme in (sharded_parameters, split_weights):
        losses, held = above(scheme, WORKERS, empty)
        np.testing.assert_allclose(losses, whole_losses, rtol=0, atol=1e-12)
        print(scheme.__name__, f"{held / whole:.3f} of the whole, {held / model_bytes:.2f} models")
        assert held <= 0.4 * whole
        assert held <= 0.4 * 3 * model_bytes  # of what nobody could do with less of, unsplit
        assert held < budget
        assert 2.9 * model_bytes / WORKERS < held  # else nothing has been measured
