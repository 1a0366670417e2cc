"""Adagrad: a parameter that has had steep slopes takes shorter steps from then on."""

from collections.abc import Mapping

from course_lib.models.model import Array
from course_lib.training.optimizer import Stepper, copied, only
from course_lib.training.plan import Plan

__all__ = ["Adagrad"]


class Adagrad(Stepper):
    """Divide each number of the gradient by the root of the sum of its squares so far.

    Rarely used parameters keep long steps, much used ones get short ones. Only a parameter's own
    gradients are needed, so a shard of a server can do it alone. The state is one array as long as
    the parameters.

    Parameters
    ----------
    w : array, shape (n,)
        The parameters, or the part of them, that are stepped in place.
    plan : Plan
        ``weight_decay`` times the parameters is added to the gradient. Its momentum must be 0.
    eps : float, default: 1e-10
        What is added to the root, so that nothing is divided by 0.

    Attributes
    ----------
    squares : array, shape (n,)
        The sums.

    Raises
    ------
    ValueError
        If the plan has a momentum.

    References
    ----------
    J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods for online learning and
    stochastic optimization", Journal of Machine Learning Research 12, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> w = np.zeros(1)
    >>> adagrad = Adagrad(w, Plan(learning_rate=1.0))
    >>> for grad in (3.0, 4.0):  # 3/3, then 4/5
    ...     adagrad.step(np.array([grad]))
    >>> [round(float(x), 6) for x in w]
    [-1.8]
    """

    def __init__(self, w: Array, plan: Plan, eps: float = 1e-10) -> None:
        super().__init__(w, plan)
        if plan.momentum:
            raise ValueError(f"momentum must be 0 for Adagrad, got {plan.momentum}")
        self.eps = eps
        self.squares = w * 0

    @property
    def state(self) -> dict[str, Array]:
        """The sums of squares."""
        return {"squares": self.squares}

    def load(self, state: Mapping[str, Array]) -> None:
        """Take over sums of squares."""
        only(state, ("squares",), "Adagrad", self.w)
        if state:
            self.squares = copied(state["squares"], self.w)

    def _go(self, grad: Array, rate: float) -> None:
        if self.plan.weight_decay:
            grad += self.plan.weight_decay * self.w
        self.squares += grad * grad
        self.w -= rate * grad / (self.squares**0.5 + self.eps)
