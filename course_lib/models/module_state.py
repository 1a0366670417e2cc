"""What a module keeps from one call to the next, beside its parameters, and whether it matters.

A training keeps the parameters, and nothing else: what a module counts, remembers or writes for
itself would be other things on every worker, gone in a checkpoint, and there already when the same
module is trained again.
"""

import hashlib
import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from course_lib.models.module_checks import keeps_statistics
from course_lib.models.module_generators import states_in

__all__ = ["Slot", "State", "changed", "is_forgotten", "state_of"]

_OF_TORCH = frozenset(vars(nn.Module()))


class Slot(NamedTuple):
    """A place that was found changed.

    Attributes
    ----------
    name : str
        What to call it.
    part : torch.nn.Module
        Whose attribute it is.
    key : str
        Which.
    may_be_output : bool
        Whether it could be something that the module stores for others to look at: an attribute
        that is no tensor, or another one than before.
    """

    name: str
    part: nn.Module
    key: str
    may_be_output: bool


class State(NamedTuple):
    """What a module's parts had at one moment.

    Attributes
    ----------
    marks : dict
        For each part and key the name, and what tells its content from another.
    alive : list
        The things themselves, so that no two ever have the same ``id``.
    """

    marks: dict[tuple[nn.Module, str], tuple[str, Any]]
    alive: list[Any]


def state_of(module: nn.Module) -> State:
    """Note what a module has: parameters, attributes, and buffers but for running statistics."""
    state = State({}, [])
    for name, part in module.named_modules():
        things = {key: value for key, value in vars(part).items() if key not in _OF_TORCH}
        things |= part._parameters
        if not keeps_statistics(part):
            things |= part._buffers
        for key, value in things.items():
            state.marks[part, key] = f"{name}.{key}".lstrip("."), _mark(value)
            state.alive.append(value)
    return state


def changed(before: State, now: State) -> list[Slot]:
    """List what is not as it was."""
    return [
        Slot(mark[0], part, key, _may_be_output(part, key, before))
        for (part, key), mark in {**before.marks, **now.marks}.items()
        if before.marks.get((part, key)) != mark or (part, key) not in now.marks
    ]


def is_forgotten(slots: Sequence[Slot], compute: Callable[[bool], Any]) -> bool:
    """Say whether what a module has stored is never read again.

    It is spoiled, and the module computes once more: who reads it fails, or finds other numbers.

    Parameters
    ----------
    slots : sequence of Slot
        Where it is; each may be an output.
    compute : callable
        Returns the loss on the same examples, given whether in training.

    Returns
    -------
    bool
        True if the loss is the same, and what is stored anew, in training and out of it.
    """
    try:
        for training in (True, False):
            compute(True)
            first, stored = compute(training), _things(slots)
            spoiled = list(map(_spoiled, stored))
            for slot, thing in zip(slots, spoiled, strict=True):
                setattr(slot.part, slot.key, thing)
            again, restored = compute(training), _things(slots)
            left = [
                old if now is bad else now
                for old, bad, now in zip(stored, spoiled, restored, strict=True)
            ]
            if _content([first, *stored]) != _content([again, *left]):
                return False
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return False
    return True


def _things(slots: Sequence[Slot]) -> list[Any]:
    return [vars(slot.part)[slot.key] for slot in slots]


def _spoiled(thing: Any) -> Any:
    """Return what nobody can take for the thing: other numbers, or an object without a use."""
    if not isinstance(thing, torch.Tensor):
        return object()
    if thing.is_floating_point() or thing.is_complex():
        return torch.full_like(thing, float("nan"))
    return torch.bitwise_not(thing)


def _may_be_output(part: nn.Module, key: str, before: State) -> bool:
    value = vars(part).get(key)
    if not isinstance(value, torch.Tensor):
        return key in vars(part)
    return not any(value is thing for thing in before.alive)


def _mark(value: Any) -> Any:
    """Return what tells a thing from another, and its content from another content."""
    if isinstance(value, torch.Tensor):
        return id(value), value._version, _content(value)
    return _content(value)


def _content(value: Any) -> Any:
    """Return what tells a content from another."""
    if isinstance(value, torch.Tensor):
        return _content_of_tensor(value)
    if callable(value):  # a module, a function: another one is noticed, and that it draws
        return id(value), states_in(value)
    if isinstance(value, (list, tuple)):
        return type(value), [_content(one) for one in value]
    if isinstance(value, dict):
        return type(value), [(key, _content(one)) for key, one in value.items()]
    try:
        written = io.BytesIO()
        _Pickler(written).dump(value)  # numbers, texts, arrays, generators
        return written.getvalue()
    except Exception:  # a lock, a file: as with functions
        return id(value)


class _Pickler(pickle.Pickler):
    """Write of what torch would pickle in other bytes each time what is in it."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, torch.Generator):
            thing = thing.get_state()
        if isinstance(thing, torch.Tensor):
            return tuple, (_content_of_tensor(thing),)
        return NotImplemented


def _content_of_tensor(tensor: torch.Tensor) -> Any:
    if tensor.layout is not torch.strided:
        return None
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return tuple(tensor.shape), hashlib.blake2b(plain.view(torch.uint8).numpy().data).digest()
