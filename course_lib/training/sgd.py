"""Stochastic gradient descent: the step that every scheme takes, once the gradient is there."""

from collections.abc import Mapping

from course_lib.models.model import Array
from course_lib.training.optimizer import Stepper, copied, only
from course_lib.training.plan import Plan

__all__ = ["SGD"]


class SGD(Stepper):
    """Step against the gradient, with the plan's momentum and weight decay.

    Parameters
    ----------
    w : array, shape (n,)
        The parameters, or the part of them, that are stepped in place.
    plan : Plan
        ``weight_decay`` times the parameters is added to the gradient, as the slope of a square.

    Attributes
    ----------
    velocity : array or None
        What is left of the steps so far; None before the first, or without momentum.
    """

    def __init__(self, w: Array, plan: Plan) -> None:
        super().__init__(w, plan)
        self.velocity: Array | None = None

    @property
    def state(self) -> dict[str, Array]:
        """The velocity, if there is one."""
        return {} if self.velocity is None else {"velocity": self.velocity}

    def load(self, state: Mapping[str, Array]) -> None:
        """Take over a velocity, or none."""
        only(state, ("velocity",), "SGD", self.w)
        self.velocity = copied(state["velocity"], self.w) if state else None

    def _go(self, grad: Array, rate: float) -> None:
        if self.plan.weight_decay:
            grad += self.plan.weight_decay * self.w
        if self.plan.momentum:
            if self.velocity is None:
                self.velocity = copied(grad, grad)
            else:
                self.velocity *= self.plan.momentum
                self.velocity += grad
            grad[...] = self.velocity
        grad *= rate
        self.w -= grad
