"""What a worker keeps from step to step, counted in numbers: parameters, gradients, state."""

import math

import numpy as np
from numpy.typing import NDArray

from course_lib.models.model import Array
from course_lib.training.optimizer import Stepper

__all__ = ["numbers_held"]


def numbers_held(w: Array, grad: Array, optimizer: Stepper) -> NDArray[np.int64]:
    """Count what is there when a step is taken.

    Parameters
    ----------
    w : array
        The parameters that this worker keeps.
    grad : array
        The gradient that it keeps until the step.
    optimizer : Stepper
        What takes the step. Its state is counted, and also a copy of the parameters that it steps,
        unless it is ``w`` itself.

    Returns
    -------
    numpy.ndarray of int, shape (3,)
        The lengths of the three.

    Examples
    --------
    >>> from course_lib.training import SGD, Plan
    >>> sgd = SGD(w := np.zeros(3), Plan(momentum=0.9))
    >>> sgd.step(np.ones(3))
    >>> numbers_held(w, np.ones(3), sgd), numbers_held(np.zeros(10), np.ones(3), sgd)
    (array([3, 3, 3]), array([10,  3,  6]))
    """
    kept = list(optimizer.state.values())
    if optimizer.w is not w:
        kept.append(optimizer.w)
    state = sum(math.prod(array.shape) for array in kept)
    return np.array([math.prod(w.shape), math.prod(grad.shape), state])
