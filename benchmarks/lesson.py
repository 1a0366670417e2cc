"""What is trained, the same for every engine: a model, its first parameters, and the batches."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.training import Plan

__all__ = ["BATCH_SIZE", "SIZES", "Lesson", "WrongLoss", "check_losses", "lesson"]

SIZES = 784, 1024, 1024, 10
BATCH_SIZE = 64
"""Of each worker."""

_TOLERANCE = 1e-4
"""Relative: float32 rounds to 6e-8, and dozens of steps pass that on; other batches, parameters or
learning rates change the losses by a hundredth and more."""


class WrongLoss(AssertionError):
    """An engine was fast with something else than what it was to train."""


class Lesson(NamedTuple):
    """Examples, and how to train on them."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    plan: Plan


def lesson(workers: int, n_steps: int) -> Lesson:
    """Make examples for so many steps of all workers: classes that can be told apart."""
    rng = np.random.default_rng(0)
    n_examples = BATCH_SIZE * workers * n_steps
    y = rng.integers(0, SIZES[-1], n_examples)
    X = rng.standard_normal((n_examples, SIZES[0]), dtype=np.float32)
    X[np.arange(n_examples), y] += 3
    return Lesson(X, y, Plan(learning_rate=0.1, batch_size=BATCH_SIZE * workers))


def check_losses(engine: str, found: Any, expected: Any) -> None:
    """Compare the mean losses over each step's batch with those of another engine."""
    found, expected = np.asarray(found), np.asarray(expected)
    apart = np.abs(found - expected) / np.abs(expected)
    if not apart.max() <= _TOLERANCE:  # also where it is NaN
        step = int(np.flatnonzero(~(apart <= _TOLERANCE))[0])
        raise WrongLoss(
            f"WrongLoss: {engine}: the loss of step {step} is {found[step]:.6g}, "
            f"expected {expected[step]:.6g}"
        )
