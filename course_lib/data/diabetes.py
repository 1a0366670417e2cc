"""442 diabetes patients: ten measurements each, and how far the disease was a year later."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.data.shipped import file_of_sklearn

__all__ = ["DiabetesData", "load_diabetes"]

N_TRAIN = 400
_SHUFFLE_SEED = 0


class DiabetesData(NamedTuple):
    """The data set, shuffled once and cut in two.

    Attributes
    ----------
    X_train, y_train : numpy.ndarray, shapes (400, 10) and (400,)
        The examples to train on.
    X_test, y_test : numpy.ndarray, shapes (42, 10) and (42,)
        The examples kept for testing.
    """

    X_train: NDArray[np.float64]
    y_train: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]


def load_diabetes(standardise: bool = True) -> DiabetesData:
    """Load the diabetes data that scikit-learn brings along; nothing is downloaded.

    Parameters
    ----------
    standardise : bool, default: True
        Give every column mean 0 and standard deviation 1 over the training rows. False leaves the
        columns as the package ships them: centred, and so small (each column's squares add up to
        1 over all patients) that gradient descent barely moves.

    Returns
    -------
    DiabetesData
        400 rows to train on and 42 to test with, in a fixed random order.

    References
    ----------
    B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least Angle Regression", Annals of
    Statistics 32(2), 2004.
    """
    X = np.loadtxt(file_of_sklearn("diabetes_data_raw.csv.gz"))
    y = np.loadtxt(file_of_sklearn("diabetes_target.csv.gz"))
    # As load_diabetes of scikit-learn has it, to the bit.
    X = (X - X.mean(axis=0)) / X.std(axis=0) / len(X) ** 0.5
    order = np.random.default_rng(_SHUFFLE_SEED).permutation(len(y))
    X, y = X[order], y[order]
    if standardise:
        X = (X - X[:N_TRAIN].mean(axis=0)) / X[:N_TRAIN].std(axis=0)
    return DiabetesData(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])
