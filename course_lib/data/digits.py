"""1,797 handwritten digits of 8 x 8 pixels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.data.shipped import file_of_sklearn

__all__ = ["DigitsData", "load_digits"]

N_TRAIN = 1437
_SHUFFLE_SEED = 0


class DigitsData(NamedTuple):
    """The data set, shuffled once and cut in two.

    Attributes
    ----------
    X_train, y_train : numpy.ndarray, shapes (1437, 64) and (1437,)
        The images to train on, a row of 64 pixels between 0 and 1 each, and their digits.
    X_test, y_test : numpy.ndarray, shapes (360, 64) and (360,)
        The images kept for testing.
    """

    X_train: NDArray[np.float64]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


def load_digits() -> DigitsData:
    """Load the digits that scikit-learn brings along; nothing is downloaded.

    Returns
    -------
    DigitsData
        1,437 images to train on and 360 to test with, in a fixed random order.

    References
    ----------
    E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning
    Repository, 1998 (its test set).
    """
    rows = np.loadtxt(file_of_sklearn("digits.csv.gz"), delimiter=",")
    rows = rows[np.random.default_rng(_SHUFFLE_SEED).permutation(len(rows))]
    X, y = rows[:, :-1] / 16.0, rows[:, -1].astype(np.int64)
    return DigitsData(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])
