"""What a worker keeps from step to step, counted in numbers: parameters, gradients, state."""

import math
from typing import Any

from course_lib.models.model import Array

__all__ = ["numbers_held"]


def numbers_held(w: Array, grad: Array, optimizer: Any) -> list[int]:
    """Count what is there when a step is taken.

    Parameters
    ----------
    w : array
        The parameters that this worker keeps.
    grad : array
        The gradient that it keeps until the step.
    optimizer : SGD
        What takes the step. All of its arrays are counted: also a copy of the parameters that it
        steps, unless it is ``w`` itself.

    Returns
    -------
    list of int
        The lengths of the three.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.training import SGD, Plan
    >>> sgd = SGD(w := np.zeros(3), Plan(momentum=0.9))
    >>> sgd.step(np.ones(3))
    >>> numbers_held(w, np.ones(3), sgd), numbers_held(np.zeros(10), np.ones(3), sgd)
    ([3, 3, 3], [10, 3, 6])
    """
    kept = [value for value in vars(optimizer).values() if value is not w]
    state = sum(math.prod(value.shape) for value in kept if hasattr(value, "shape"))
    return [math.prod(w.shape), math.prod(grad.shape), state]
