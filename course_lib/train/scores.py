"""An accuracy, of answers and targets that can be compared: of one shape, and numbers of classes.

``==`` alone would compare n answers of shape (n, 1) with n targets each, and say of real numbers
how many hit another one to the last bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.train.errors import ScoreError
from course_lib.words.namespace import as_numpy

__all__ = ["accuracy"]

_HOW = (
    "; answer= of from_module says what predict makes of outputs, such as "
    "answer=lambda z: z.argmax(dim=1) where each class has one, or answer=lambda z: z > 0 for one "
    'logit (docs/own_model.md); without classes take score="test loss"'
)


def accuracy(answers: Any, targets: Any) -> float:
    """Return which part of the answers are right; of targets that are one-hot, a row is one.

    Parameters
    ----------
    answers : array
        What a model's ``predict`` returns.
    targets : array of the same shape
        What it should be.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ScoreError
        If the shapes differ, or one of them holds other than whole numbers, or truths are to be
        compared with more than 0 and 1.
    """
    found, right = as_numpy(answers), as_numpy(targets)
    for what, array in (("predict answers", found), ("y_test has", right)):
        if array.dtype.kind not in "biuf":
            raise ScoreError(f"an accuracy compares numbers of classes, and {what} {array.dtype}")
        if array.dtype.kind == "f" and not _are_whole(array):
            raise ScoreError(
                f"an accuracy compares numbers of classes, and {what} real numbers, of shape "
                f"{array.shape}{_HOW}"
            )
    if found.shape != right.shape:
        raise ScoreError(
            f"an accuracy compares answers with as many targets, and predict answers in shape "
            f"{found.shape}, where y_test has {right.shape}{_HOW}"
        )
    if found.dtype == np.bool_ and not np.isin(right, (0, 1)).all():
        raise ScoreError(
            "an accuracy compares answers with targets, and predict answers True or False, where "
            f"y_test has other numbers than 0 and 1{_HOW}"
        )
    is_right = found == right
    if _is_one_hot(right):
        is_right = is_right.all(axis=1)
    return float(np.mean(is_right))


def _are_whole(array: NDArray[Any]) -> bool:
    """Say whether all are whole but for those of a training that has diverged."""
    finite = array[np.isfinite(array)]
    return bool(np.all(finite == np.rint(finite)))


def _is_one_hot(targets: NDArray[Any]) -> bool:
    if targets.ndim != 2 or targets.shape[1] < 2:
        return False
    return bool(np.isin(targets, (0, 1)).all() and (targets.sum(axis=1) == 1).all())
