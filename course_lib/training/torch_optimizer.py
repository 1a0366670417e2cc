"""Optimizers of ``torch.optim`` behind the face of our own."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from course_lib.models.model import Array
from course_lib.models.without_compiler import step_without_compiler, without_compiler
from course_lib.training.optimizer import Optimizer, Stepper
from course_lib.training.plan import Plan
from course_lib.training.torch_trial import KEPT_NAME, Kinds, try_out
from course_lib.words.namespace import as_numpy

__all__ = ["TorchStepper", "from_torch"]

_NOT_FLAT = {
    "LBFGS": "it computes gradients itself, several in a step",
    "SparseAdam": "it takes sparse gradients only",
    "Adafactor": "it keeps rows and columns of matrices, and here all is one vector",
    "Muon": "it takes matrices, and here all is one vector",
}
# Where an optimizer keeps more than its state of the parameters, and how names of that begin.
_PLACES: dict[str, Callable[[Any], dict[Any, Any]]] = {
    "group__": lambda optimizer: optimizer.param_groups[0],
    "itself__": lambda optimizer: getattr(optimizer, "__dict__", {}),
    "shared__": lambda optimizer: optimizer.state,
}
_NOT_BESIDE = {
    "group__": ("params", "param_names", "lr", "initial_lr"),
    "itself__": (
        "defaults", "state", "param_groups", "_warned_capturable_if_run_uncaptured",
        "_zero_grad_profile_name",
    ),
}  # fmt: skip
_IN_WORDS = {"group": "its param_groups", "itself": "itself", "shared": "its state"}
_HOOKS = "_optimizer_"
_CONSTANTS = (type(None), str, tuple, type, FunctionType)


def from_torch(kind: type[Any], **options: Any) -> Optimizer:
    """Let an optimizer of torch take the steps, as ``optimizer=from_torch(torch.optim.RMSprop)``.

    It sees one flat vector, on each rank the part that the rank steps: so it must treat every
    number alike. The learning rate, the weight decay and a momentum are the plan's. It is tried at
    once, with a few numbers: whether their parts go where the whole goes, and whether one goes on
    from a checkpoint to the bit. There it keeps its ``state``, and the numbers, and tensors as long
    as the parameters, that change in its ``param_groups`` and in itself.

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
        If it cannot be used so, does not treat every number alike, or goes on from a checkpoint
        otherwise than without; or an option is the plan's.
    """
    if not isinstance(kind, type):
        raise TypeError(f"kind must be a class, as torch.optim.RMSprop, got {kind!r}")
    if kind.__name__ in _NOT_FLAT:
        raise ValueError(f"kind cannot be {kind.__name__}: {_NOT_FLAT[kind.__name__]}")
    for own, field in (("lr", "learning_rate"), ("weight_decay", "weight_decay")):
        if own in options:
            raise ValueError(f"{own} is the plan's: Plan({field}={options[own]!r})")
    if options.get("capturable"):
        raise ValueError("capturable is for graphs of CUDA, and none is made here: leave it out")
    known = inspect.signature(kind).parameters
    if unknown := [name for name in options if name not in known]:
        raise TypeError(f"{kind.__name__} has no option {unknown[0]!r}")
    return _Maker(kind, options)


class _Maker:
    """Make a stepper; an object, so that it travels to other processes."""

    def __init__(self, kind: type[Any], options: Mapping[str, Any]) -> None:
        self.kind, self.options = kind, dict(options)
        self.kinds: Kinds = {}
        try_out(self)

    def __repr__(self) -> str:
        """Say what it makes, for a checkpoint."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"from_torch({self.kind.__name__}{options})"

    def takes(self, name: str) -> bool:
        """Say whether an option is there for the plan to say."""
        return name in inspect.signature(self.kind).parameters and name not in self.options

    def __call__(self, w: Array, plan: Plan) -> "TorchStepper":
        options = self.options | {"lr": plan.learning_rate}
        for name in ("weight_decay", "momentum"):
            value, kind = getattr(plan, name), self.kind.__name__
            if self.takes(name):
                if value < 0:
                    raise ValueError(f"{name} must be 0 or more for torch's {kind}, got {value}")
                options[name] = value
            elif value:
                raise ValueError(f"{name} must be 0 for {kind}, got {value}")
        return TorchStepper(w, plan, self.kind, options, self.kinds)


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
    kinds : mapping
        For each dtype of parameters, of what kind the parts of the state are, by name.
    """

    def __init__(
        self, w: Array, plan: Plan, kind: type[Any], options: dict[str, Any], kinds: Kinds
    ) -> None:
        import torch

        super().__init__(w, plan)
        self._as_tensor = torch.as_tensor  # shares the memory of an array
        self._parameter = torch.nn.Parameter(torch.as_tensor(w))
        with without_compiler(torch.optim.Optimizer.add_param_group):
            self._optimizer = kind([self._parameter], **options)
        self._step = step_without_compiler(self._optimizer)
        self._kinds = kinds.get(str(w.dtype).removeprefix("torch."), {})
        self._at_first = {name: _copy(value) for name, value in self._beside()}

    @property
    def kept(self) -> dict[str, Any]:
        """What it goes on from, as it is there: of the parameters, and what has changed beside."""
        of_parameters = self._optimizer.state.get(self._parameter, {})
        kept = {name: value for name, value in of_parameters.items() if value is not None}
        for name, value in self._beside():
            if self._can_be_kept(name, value) and not _are_equal(self._at_first.get(name), value):
                kept[name] = value
        return kept

    @property
    def lost(self) -> list[str]:
        """What may be something to go on from and cannot be kept, for an error."""
        found = []
        for name, value in self._beside():
            is_constant = isinstance(value, _CONSTANTS) and self._at_first.get(name) is value
            if not (is_constant or self._can_be_kept(name, value)):
                place, _, key = name.partition("__")
                found.append(f"{key!r} in {_IN_WORDS[place]}")
        return found

    @property
    def state(self) -> dict[str, Array]:
        """What it goes on from, as arrays by torch's own names."""
        return {name: self._as_array(value) for name, value in self.kept.items()}

    def load(self, state: Mapping[str, Array]) -> None:
        """Take over a state, each number and vector as what it was."""
        of_parameters = {}
        for name, array in state.items():
            value = self._as_it_was(name, array)
            places = [begin for begin in _PLACES if name.startswith(begin)]
            for begin in places:
                _PLACES[begin](self._optimizer)[name.removeprefix(begin)] = value
            if not places:
                of_parameters[name] = value
        if of_parameters:
            self._optimizer.state[self._parameter] = of_parameters

    def _go(self, grad: Array, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._parameter.grad = self._as_tensor(grad)
        self._step()
        self._parameter.grad = None

    def _beside(self) -> Iterator[tuple[str, Any]]:
        """List what is in the group of parameters, in the optimizer itself, and in its state."""
        for begin, place in _PLACES.items():
            for key, value in place(self._optimizer).items():
                is_named = isinstance(key, str) and not key.startswith(_HOOKS)
                if is_named and key not in _NOT_BESIDE.get(begin, ()):
                    yield f"{begin}{key}", value

    def _can_be_kept(self, name: str, value: Any) -> bool:
        """Say whether it is a number, or as long as the parameters, and has a name for a file."""
        if not KEPT_NAME.fullmatch(name):
            return False
        if hasattr(value, "detach"):
            return value.shape in ((), self._parameter.shape) and value is not self._parameter
        return isinstance(value, int | float | np.number)

    def _as_array(self, value: Any) -> Array:
        if hasattr(value, "detach") and value.shape == self._parameter.shape:
            return as_numpy(value.to(self._parameter.dtype))
        array = as_numpy(value)
        return array.astype(np.int64) if array.dtype.kind in "bui" and not array.shape else array

    def _as_it_was(self, name: str, array: Array) -> Any:
        kind = self._kinds.get(name)
        if isinstance(kind, type):
            return kind(array.item())
        if kind is None and not array.shape and array.dtype != np.float32:
            return array.item()
        return self._as_tensor(np.array(array)).to(self._parameter.device, kind)


def _copy(value: Any) -> Any:
    return value.clone() if hasattr(value, "detach") else value


def _are_equal(then: Any, now: Any) -> bool:
    if hasattr(now, "detach"):
        is_tensor = hasattr(then, "detach") and then.shape == now.shape
        return is_tensor and bool((then == now).all())
    return type(then) is type(now) and bool(then == now)
