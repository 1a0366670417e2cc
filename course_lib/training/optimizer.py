"""What takes the steps: one small face, behind which every optimizer looks the same."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TypeAlias

from course_lib.models.model import Array
from course_lib.training.clipping import clip
from course_lib.training.plan import Plan
from course_lib.words.namespace import namespace

__all__ = ["Optimizer", "Stepper"]


class Stepper(ABC):
    """Step one array of parameters, in place: the part of training that needs no other worker.

    Parameters
    ----------
    w : array, shape (n,)
        The parameters, or the part of them, that are stepped in place.
    plan : Plan
        Its rate, clipping and weight decay are used.

    Attributes
    ----------
    w : array, shape (n,)
        What it was given.
    n_steps : int
        How many steps have been taken.
    """

    def __init__(self, w: Array, plan: Plan) -> None:
        self.w, self.plan = w, plan
        self.n_steps = 0

    def step(self, grad: Array, norm: float | None = None) -> None:
        """Take one step, in place.

        Parameters
        ----------
        grad : array, shape (n,)
            The gradient of the mean loss; it is modified as well.
        norm : float or None, default: None
            The length of the whole gradient, for clipping, where ``grad`` is a part of it.
        """
        clip(grad, self.plan.clip, norm)
        self._go(grad, self.plan.rate(self.n_steps))
        self.n_steps += 1

    @property
    @abstractmethod
    def state(self) -> dict[str, Array]:
        """What it goes on from beside ``w`` and ``n_steps``: arrays by name, as long as w or ()."""

    @abstractmethod
    def load(self, state: Mapping[str, Array]) -> None:
        """Take over a ``state``; arrays are copied, names that are not its own refused."""

    @abstractmethod
    def _go(self, grad: Array, rate: float) -> None:
        """Take one step with the clipped gradient, which may be modified."""


def copied(array: Array, like: Array) -> Array:
    """Copy an array as the kind of array that another one is, to where that lies.

    Parameters
    ----------
    array : array
        NumPy's, or of that kind already.
    like : array
        Of the kind that is wanted.

    Returns
    -------
    array
        A new one.
    """
    return namespace(like).asarray(array, copy=True, device=like.device)


def only(state: Mapping[str, Array], names: tuple[str, ...], of: str, w: Array) -> None:
    """Refuse a state of another optimizer, or of other parameters.

    Parameters
    ----------
    state : mapping of str to array
        What was kept.
    names : tuple of str
        What this one keeps; none of it before the first step.
    of : str
        The optimizer's name, for the error.
    w : array, shape (n,)
        What it steps.

    Raises
    ------
    ValueError
        If it has other names, or an array that is not as long as ``w``.
    """
    if set(state) not in (set(), set(names)):
        raise ValueError(f"state must be one of {of}, with {names}, got {sorted(state)}")
    for name, array in state.items():
        if array.shape != w.shape:
            raise ValueError(f"state must be of shape {w.shape}, but {name} is {array.shape}")


Optimizer: TypeAlias = Callable[[Array, Plan], Stepper]
"""What makes the thing that takes the steps: ``SGD``, ``Adam``, ``AdamW``, ``from_torch(...)``."""
