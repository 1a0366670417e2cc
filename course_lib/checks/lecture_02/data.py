"""Examples for the checks of this set: small, with shards of any size."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.task import Case

__all__ = ["design", "gradient_sum", "random_examples"]

Array = NDArray[np.float64]


def random_examples(rng: np.random.Generator, n_rows: int, n_features: int) -> tuple[Array, Array]:
    """Draw examples whose features have neither mean 0 nor equal scales."""
    scales = np.arange(1, n_features + 1)
    X = rng.normal(size=(n_rows, n_features)) / scales + 0.3
    return X, X @ (scales - 2.0) + 5 + rng.normal(size=n_rows)


def design(X: Array) -> Array:
    """Put the column of ones for the intercept in front."""
    return np.column_stack([np.ones(len(X)), X])


def gradient_sum(w: Array, X: Array, y: Array) -> Array:
    """Sum ``error * x`` over the examples: the right answer in one line."""
    return np.asarray(design(X).T @ (design(X) @ w - y))


def row_counts(case: Case, rng: np.random.Generator) -> Sequence[int]:
    """Draw how many rows each rank has; with several ranks, some may have none."""
    counts = rng.integers(0, 9, size=case.workers)
    counts[0] += counts.sum() == 0
    return [int(n) for n in counts]
