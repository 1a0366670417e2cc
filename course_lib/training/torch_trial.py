"""An optimizer of torch is tried with a few numbers before a training relies on it."""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from course_lib.models.model import Array
from course_lib.training.plan import Plan

__all__ = ["KEPT_NAME", "Kinds", "try_out"]

Kinds: TypeAlias = dict[str, dict[str, Any]]
"""By the dtype of the parameters and a part's name: a type of numbers, or a tensor's dtype."""

KEPT_NAME = re.compile("[a-z][a-z0-9_]{0,39}")
"""What a checkpoint can call a part of a state."""

_N, _CUT = 24, 11  # how many numbers, and where two parts meet that are not as long
_FIRST, _ALL = 7, 20  # steps before a checkpoint, and all; some begin in another way for five
_MOST = 6  # arrays as long as the parameters, in a checkpoint


def try_out(make: Any) -> None:
    """Step a few numbers whole, in two parts, and from what is kept; refuse what differs.

    Parameters
    ----------
    make : callable
        What ``from_torch`` returns; the optimizer's class is its ``kind``, and ``takes(name)`` says
        whether a number of the plan is an option. Its ``kinds`` are filled.

    Raises
    ------
    ValueError
        If it cannot be made or stepped, does not treat every number alike, keeps what a checkpoint
        cannot hold, or goes on otherwise than it would have without a checkpoint.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        try:
            plan = _plan(make, momentum=0.9, weight_decay=0.1)
            _stepped(make, plan, np.float64)
        except Exception:
            plan = _plan(make)  # some need one of these to be 0
        for dtype in (np.float64, np.float32):
            _check_going_on(make, plan, dtype)
        _check_parts(make, plan)


def _plan(make: Any, **numbers: Any) -> Plan:
    """Return a plan with such of the numbers as it takes, and several rates."""
    known = {name: value for name, value in numbers.items() if make.takes(name)}
    return Plan(0.01, warmup_steps=_FIRST + 2, schedule=lambda step: 0.9**step, **known)


def _numbers(kind: type) -> tuple[Array, Array]:
    """Return parameters, and the gradients of all steps: long ones and short ones."""
    rng = np.random.default_rng(0)
    grads = rng.normal(size=(_ALL, _N)) * np.resize([1.0, 0.01, 10.0], (_ALL, 1))
    return rng.normal(size=_N).astype(kind), grads.astype(kind)


def _stepped(
    make: Any, plan: Plan, kind: type, part: slice = slice(None), steps: int = _ALL
) -> Any:
    """Make one and take steps; return it."""
    w, grads = _numbers(kind)
    stepper = _told(make, "is made", make, w[part].copy(), plan)
    for grad in grads[:steps]:
        _told(make, "takes a step", stepper.step, grad[part].copy())
    return stepper


def _check_going_on(make: Any, plan: Plan, dtype: type) -> None:
    """Refuse what cannot be kept, or is not enough; note of what kind it is."""
    name = make.kind.__name__
    first = _stepped(make, plan, dtype, steps=_FIRST)
    make.kinds[np.dtype(dtype).name] = {
        part: _kind_of(name, part, one, dtype) for part, one in first.kept.items()
    }
    state = {part: array.copy() for part, array in first.state.items()}
    if (n_arrays := sum(array.shape != () for array in state.values())) > _MOST:
        raise ValueError(f"kind cannot be {name}: it keeps {n_arrays} arrays, {_MOST} can be kept")
    second = make(first.w.copy(), plan)
    second.n_steps = first.n_steps
    _told(make, "goes on from its state", second.load, state)
    for grad in _numbers(dtype)[1][_FIRST:]:
        _told(make, "takes a step", first.step, grad.copy())
    for grad in _numbers(dtype)[1][_FIRST:]:
        _told(make, "goes on from its state", second.step, grad.copy())
    if first.w.tobytes() != second.w.tobytes():
        lost = ", ".join(first.lost) or "a variable of its module, or random numbers, or a closure"
        raise ValueError(
            f"kind cannot be {name}: one that goes on from what a checkpoint keeps takes other "
            "steps than without it. Its state is kept, and what changes of its param_groups and "
            "attributes, if it is numbers or tensors as long as the parameters; it must use no "
            f"more, such as {lost}"
        )


def _check_parts(make: Any, plan: Plan) -> None:
    """Refuse one whose steps of parts are no parts of its steps."""
    whole = _stepped(make, plan, np.float64).w
    parts = [_stepped(make, plan, np.float64, part).w for part in (slice(_CUT), slice(_CUT, None))]
    # What is left over of a vector in registers may be rounded otherwise.
    if not np.allclose(np.concatenate(parts), whole, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise ValueError(
            f"kind cannot be {make.kind.__name__}: it does not treat every number alike: two that "
            "step a part of a vector each come to something else than one that steps it whole, "
            "and here each rank may step a part"
        )


def _kind_of(name: str, part: str, value: Any, dtype: type) -> Any:
    """Return the type of a number, or a tensor's dtype; refuse what no checkpoint holds."""
    begin = f"kind cannot be {name}: its state has {part!r}, "
    if not KEPT_NAME.fullmatch(part) or part in ("w", "n_steps"):
        raise ValueError(f"{begin}and names must be as 'exp_avg' for a checkpoint")
    if not hasattr(value, "detach"):
        if isinstance(value, int | float | np.number):
            return type(value)
        raise ValueError(
            f"{begin}of type {type(value).__name__}: it must be a number, or a tensor as long as "
            "the parameters"
        )
    import torch

    if value.shape not in ((), (_N,)):
        raise ValueError(
            f"{begin}of shape {tuple(value.shape)} for {_N} parameters: it must be a number, or as "
            "long as they are, of which each rank steps a part"
        )
    own = torch.as_tensor(np.empty(0, dtype)).dtype
    if value.shape and torch.promote_types(value.dtype, own) != own:
        raise ValueError(f"{begin}of {value.dtype}, which is no part of {own} as its parameters")
    return value.dtype


def _told(make: Any, what: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Call something, and say of what ends it that it was the trial of an optimizer."""
    try:
        return call(*arguments)
    except Exception as error:
        raise ValueError(
            f"kind cannot be {make.kind.__name__}: tried with {_N} numbers, where it {what} it "
            f"ends in {type(error).__name__}: {error}"
        ) from error
