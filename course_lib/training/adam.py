"""Adam and AdamW: every parameter has a step size of its own, from its gradients so far."""

from collections.abc import Mapping

from course_lib.models.model import Array
from course_lib.training.optimizer import Stepper, copied, only
from course_lib.training.plan import Plan

__all__ = ["Adam", "AdamW"]


class Adam(Stepper):
    """Step by the mean of the gradients over the root of the mean of their squares.

    Both means forget: a step's weight is ``1 - beta`` and shrinks by ``beta`` with every later one.
    They begin at 0, and are divided by what their weights add up to so far. The state is two arrays
    as long as the parameters.

    Parameters
    ----------
    w : array, shape (n,)
        The parameters, or the part of them, that are stepped in place.
    plan : Plan
        ``weight_decay`` times the parameters is added to the gradient. Its momentum must be 0.
    betas : tuple of float, default: (0.9, 0.999)
        How much of the mean of the gradients, and of their squares, is kept in a step.
    eps : float, default: 1e-8
        What is added to the root, so that nothing is divided by 0.

    Attributes
    ----------
    mean, square : array, shape (n,)
        The two means, before they are divided.

    Raises
    ------
    ValueError
        If the plan has a momentum, or a beta is not from 0 to below 1.

    References
    ----------
    D. P. Kingma and J. Ba, "Adam: A method for stochastic optimization", ICLR 2015, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> w = np.array([1.0, 1.0])
    >>> Adam(w, Plan(learning_rate=0.1)).step(np.array([5.0, -0.001]))
    >>> [round(float(x), 4) for x in w]  # the first step is as long as the rate, whatever the slope
    [0.9, 1.1]
    """

    def __init__(
        self, w: Array, plan: Plan, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(w, plan)
        if plan.momentum:
            raise ValueError(f"momentum must be 0 for Adam, which has betas, got {plan.momentum}")
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas must be 0 or more and below 1, got {betas}")
        self.betas, self.eps = betas, eps
        self.mean, self.square = w * 0, w * 0

    @property
    def state(self) -> dict[str, Array]:
        """The two means."""
        return {"mean": self.mean, "square": self.square}

    def load(self, state: Mapping[str, Array]) -> None:
        """Take over two means."""
        only(state, ("mean", "square"), "Adam", self.w)
        if state:
            self.mean, self.square = copied(state["mean"], self.w), copied(state["square"], self.w)

    def _go(self, grad: Array, rate: float) -> None:
        self._decay(grad, rate)
        first, second = self.betas
        t = self.n_steps + 1
        self.mean *= first
        self.mean += (1 - first) * grad
        grad *= grad
        self.square *= second
        self.square += (1 - second) * grad
        root = (self.square / (1 - second**t)) ** 0.5
        root += self.eps
        self.w -= rate / (1 - first**t) * self.mean / root

    def _decay(self, grad: Array, rate: float) -> None:
        """Have weights that are not needed shrink: here as the slope of a square would."""
        del rate
        if self.plan.weight_decay:
            grad += self.plan.weight_decay * self.w


class AdamW(Adam):
    """Step as Adam does, and shrink the parameters beside it, not through the gradient.

    In Adam a weight's decay is divided by the root as well: those with steep slopes hardly shrink.
    Here every parameter loses ``rate x weight_decay`` of itself in a step.

    References
    ----------
    I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.
    """

    def _decay(self, grad: Array, rate: float) -> None:
        del grad
        if self.plan.weight_decay:
            self.w *= 1 - rate * self.plan.weight_decay
