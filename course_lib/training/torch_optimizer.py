"""Optimizers of ``torch.optim`` behind the face of our own."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from course_lib.models.model import Array
from course_lib.training.optimizer import Optimizer, Stepper
from course_lib.training.plan import Plan
from course_lib.words.namespace import as_numpy

__all__ = ["TorchStepper", "from_torch"]

_NOT_FLAT = {
    "LBFGS": "it computes gradients itself, several in a step",
    "SparseAdam": "it takes sparse gradients only",
    "Adafactor": "it keeps rows and columns of matrices, and here all is one vector",
    "Muon": "it takes matrices, and here all is one vector",
}


def from_torch(kind: type[Any], **options: Any) -> Optimizer:
    """Let an optimizer of torch take the steps, as ``optimizer=from_torch(torch.optim.RMSprop)``.

    It sees one flat vector, on each rank the part that the rank steps: so it must treat every
    number alike. The learning rate, the weight decay and a momentum are the plan's.

    Parameters
    ----------
    kind : type
        A class of ``torch.optim``, or one that is called and used like it.
    **options
        Its other options.

    Returns
    -------
    callable
        What schemes take as ``optimizer``.

    Raises
    ------
    TypeError
        If ``kind`` is no class, or has no such option.
    ValueError
        If it does not treat every number alike, or an option is the plan's.
    """
    if not isinstance(kind, type):
        raise TypeError(f"kind must be a class, as torch.optim.RMSprop, got {kind!r}")
    if kind.__name__ in _NOT_FLAT:
        raise ValueError(f"kind cannot be {kind.__name__}: {_NOT_FLAT[kind.__name__]}")
    for own, field in (("lr", "learning_rate"), ("weight_decay", "weight_decay")):
        if own in options:
            raise ValueError(f"{own} is the plan's: Plan({field}={options[own]!r})")
    known = inspect.signature(kind).parameters
    if unknown := [name for name in options if name not in known]:
        raise TypeError(f"{kind.__name__} has no option {unknown[0]!r}")
    return _Maker(kind, options)


class _Maker:
    """Make a stepper; an object, so that it travels to other processes."""

    def __init__(self, kind: type[Any], options: Mapping[str, Any]) -> None:
        self.kind, self.options = kind, dict(options)

    def __repr__(self) -> str:
        """Say what it makes, for a checkpoint."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"from_torch({self.kind.__name__}{options})"

    def __call__(self, w: Array, plan: Plan) -> "TorchStepper":
        options = self.options | {"lr": plan.learning_rate}
        for name in ("weight_decay", "momentum"):
            value, kind = getattr(plan, name), self.kind.__name__
            if name in inspect.signature(self.kind).parameters and name not in self.options:
                if value < 0:
                    raise ValueError(f"{name} must be 0 or more for torch's {kind}, got {value}")
                options[name] = value
            elif value:
                raise ValueError(f"{name} must be 0 for {kind}, got {value}")
        return TorchStepper(w, plan, self.kind, options)


class TorchStepper(Stepper):
    """An optimizer of torch that steps the memory of ``w``.

    Parameters
    ----------
    w : array, shape (n,)
        The parameters.
    plan : Plan
        Its rate is set before every step.
    kind : type
        The class of the optimizer.
    options : dict
        What it is made with.
    """

    def __init__(self, w: Array, plan: Plan, kind: type[Any], options: dict[str, Any]) -> None:
        import torch

        super().__init__(w, plan)
        self._as_tensor = torch.as_tensor  # shares the memory of an array
        self._parameter = torch.nn.Parameter(torch.as_tensor(w))
        self._optimizer = kind([self._parameter], **options)

    @property
    def state(self) -> dict[str, Array]:
        """What torch's optimizer keeps of the parameters, as arrays by its own names."""
        kept = self._optimizer.state.get(self._parameter, {})
        return {name: as_numpy(value) for name, value in kept.items() if value is not None}

    def load(self, state: Mapping[str, Array]) -> None:
        """Take over a state: floats of 32 bits and vectors as tensors, other numbers as such."""
        self._optimizer.state[self._parameter] = {
            name: self._as_tensor(np.array(value)).to(self._parameter.device)
            if value.shape or value.dtype == np.float32
            else value.item()
            for name, value in state.items()
        }

    def _go(self, grad: Array, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._parameter.grad = self._as_tensor(grad)
        self._optimizer.step()
        self._parameter.grad = None
