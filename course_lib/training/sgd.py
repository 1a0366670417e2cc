"""Stochastic gradient descent: the step that every scheme takes, once the gradient is there."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from course_lib.models.model import Array
from course_lib.training.plan import Plan

__all__ = ["SGD", "Optimizer"]


class SGD:
    """Steps against the gradient, with momentum: the part of training that needs no other worker.

    Parameters
    ----------
    w : array, shape (n,)
        The parameters, or the part of them, that are stepped in place.
    plan : Plan
        Its learning rate, warm-up and momentum are used.

    Attributes
    ----------
    w : array, shape (n,)
        What it was given.
    n_steps : int
        How many steps have been taken.
    velocity : array or None
        What is left of the steps so far; None before the first, or without momentum.
    """

    def __init__(self, w: Array, plan: Plan) -> None:
        self.w, self.plan = w, plan
        self.n_steps = 0
        self.velocity: Array | None = None

    def step(self, grad: Array) -> None:
        """Take one step, in place.

        Parameters
        ----------
        grad : array, shape (n,)
            The gradient of the mean loss; it is modified as well.
        """
        if self.plan.momentum:
            if self.velocity is None:
                self.velocity = grad.copy() if isinstance(grad, np.ndarray) else grad.clone()
            else:
                self.velocity *= self.plan.momentum
                self.velocity += grad
            grad[...] = self.velocity
        grad *= self.plan.rate(self.n_steps)
        self.w -= grad
        self.n_steps += 1


Optimizer: TypeAlias = Callable[[Array, Plan], SGD]
"""What makes the thing that takes the steps: ``SGD``, or what is called and used like it."""
