"""What a training draws must come from torch's generators: these are seeded for each pass.

Python's and NumPy's own go on from where they were, in every process from somewhere else, and so
does a generator that a program has made: no checkpoint has their state, so that a training that
goes on would be another one than the same training at once.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from course_lib.models.module_checks import has_own_code, is_of_torch
from course_lib.models.module_copies import copied
from course_lib.models.module_double import tensors_in
from course_lib.models.module_generators import OF_TORCH, generators_of, states
from course_lib.models.module_loss import loss_of

__all__ = ["KEPT", "check_draws"]

_ROUNDING = 100  # of the last digit of the largest number
KEPT = (
    "no checkpoint keeps that, so that a training that goes on would be another, and every worker "
    "has its own"
)
_INSTEAD = "draw in the module with torch, as torch.rand(()) does, without a generator of your own"


def check_draws(
    layers: Sequence[nn.Module], loss: Callable[..., Any], x: torch.Tensor, y: torch.Tensor
) -> None:
    """Run a module and a loss twice from the same seed of torch, and refuse what else they draw.

    Parameters
    ----------
    layers : sequence of torch.nn.Module
        Each is called with what the one before has returned; they are copied for each run, unless
        all of them, and the loss, are torch's own, which draw nothing else.
    loss : callable
        Of what the last one returns and targets.
    x, y : torch.Tensor
        Some examples and their targets.

    Raises
    ------
    ValueError
        If the outputs or the loss differ, or a generator goes on; the text says which.
    """
    if not any(map(has_own_code, layers)) and is_of_torch(loss):
        return
    others = generators_of([*layers, loss])
    for training in (True, False):
        runs = [_run(layers, loss, x, y, training, others) for _ in range(2)]
        for number, what in enumerate(("module", "loss")):
            first, second = (run[number] for run in runs)
            _compare(what, first, second)


class _Result(NamedTuple):
    """What one run has made, and the generators' states before and after it."""

    tensors: list[torch.Tensor]
    before: dict[str, bytes]
    after: dict[str, bytes]


def _run(
    layers: Sequence[nn.Module],
    loss: Callable[..., Any],
    x: Any,
    y: torch.Tensor,
    training: bool,
    others: dict[str, Any],
) -> tuple[_Result, _Result]:
    """Run copies of a module and a loss."""
    _, layers = copied(nn.Sequential(*layers), [*layers])
    if isinstance(loss, nn.Module):
        loss, _ = copied(loss)
    x = x.clone()
    torch.default_generator.manual_seed(0)
    before = states(others)
    for layer in layers:
        x = layer.train(training)(x)
    between = states(others)
    told = loss_of(loss, x, y)
    after = states(others)
    return _Result(tensors_in(x), before, between), _Result(tensors_in(told), between, after)


def _compare(what: str, first: _Result, second: _Result) -> None:
    for name, state in first.after.items():
        went_on = state != first.before[name]
        if name == OF_TORCH:
            if went_on and what == "loss":
                raise ValueError(
                    f"loss draws from {name}, which is seeded for the module alone: {KEPT}; "
                    "draw in the module, and return what is drawn beside the outputs"
                )
        elif went_on and state != second.after[name]:  # not so where it is seeded right before
            raise ValueError(f"{what} draws from {name}: {KEPT}; {_INSTEAD}")
    same = len(first.tensors) == len(second.tensors)
    if not same or not all(map(_are_alike, first.tensors, second.tensors)):
        raise ValueError(
            f"{what} gives something else when it is called again with the same parameters, "
            "examples and seed of torch: it draws from a generator of its own, or reads something "
            f"that changes, a clock or a counter. {KEPT[0].upper()}{KEPT[1:]}; {_INSTEAD}"
        )


def _are_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point() or not one.numel():
        return torch.equal(one, other)
    within = _ROUNDING * torch.finfo(one.dtype).eps * float(one.abs().nan_to_num(0, 0, 0).max())
    return torch.allclose(one, other, rtol=0.0, atol=within, equal_nan=True)
