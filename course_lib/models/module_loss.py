"""A loss must be a mean over the examples: then the parts of a batch add up to it.

Classes of different weights are divided by the weights that a batch happens to have, and targets
that are left out by how many are left: every number of workers would train another model.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

__all__ = ["MEAN", "check_number", "check_options", "check_targets", "left_out_by", "loss_of"]

MEAN = "loss must be a mean over the examples, so that the parts of a batch add up to it"
_OF_CLASSES = (functional.cross_entropy, functional.nll_loss)
_FORWARD_OF_CLASSES = (nn.CrossEntropyLoss.forward, nn.NLLLoss.forward)
_LEFT_OUT = -100
"""The target that torch leaves out unless it is told another."""


def loss_of(loss: Callable[..., Any], outputs: Any, y: torch.Tensor) -> Any:
    """Return the loss, or raise ``ValueError`` that says with what it cannot be computed."""
    try:
        return loss(outputs, y)
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
        of = f" of shape {tuple(outputs.shape)}" if isinstance(outputs, torch.Tensor) else ""
        raise ValueError(
            f"loss must take what the module gives, here{of}, and targets y, here of shape "
            f"{tuple(y.shape)} and dtype {str(y.dtype).removeprefix('torch.')} ({_other_kind(y)}); "
            f"it ended in {type(error).__name__}: {error}"
        ) from error


def check_options(loss: Callable[..., Any], y: torch.Tensor) -> int | None:
    """Refuse one of torch's losses that says itself that it is no mean over the examples.

    Parameters
    ----------
    loss : callable
        A module or a function; what other losses are is found with numbers alone.
    y : torch.Tensor
        The first targets.

    Returns
    -------
    int or None
        The target that it leaves out, if it does so; no example may have it.

    Raises
    ------
    ValueError
        If it adds up, leaves out a class or one of these targets, or weighs classes; the text names
        the option.
    """
    options, of_classes = _options(loss)
    reduction = options.get("reduction", "mean")
    if reduction not in ("mean", "batchmean"):
        raise ValueError(f'{MEAN}, but has reduction={reduction!r}: make it with "mean"')
    if not of_classes or y.is_floating_point():  # of probabilities all are weighed, none left out
        return None
    weight = options.get("weight")
    if weight is not None and not torch.all(weight == weight.flatten()[0]):
        raise ValueError(
            f"{MEAN}, but with weight= it is divided by the weights of the classes that a batch "
            "has: give a function that weighs each example, such as lambda z, y: (weight[y] * "
            'F.cross_entropy(z, y, reduction="none")).mean()'
        )
    left_out = int(options.get("ignore_index", _LEFT_OUT))
    if left_out >= 0:
        raise ValueError(
            f"{MEAN}, but with ignore_index={left_out} it leaves out a class: make it without, "
            "and train on examples of the other classes"
        )
    check_targets(left_out, y)
    return left_out


def check_targets(left_out: int | None, y: Any) -> None:
    """Refuse targets that the loss leaves out.

    Parameters
    ----------
    left_out : int or None
        What ``check_options`` has returned.
    y : numpy.ndarray or torch.Tensor
        The targets of a batch.

    Raises
    ------
    ValueError
        If one of them is that.
    """
    if left_out is None:
        return
    if ((y if isinstance(y, torch.Tensor) else np.asarray(y)) == left_out).any():
        raise ValueError(
            f"{MEAN}, but leaves out targets that are {left_out} (ignore_index), and y has such: "
            "train on examples without"
        )


def check_number(loss: Callable[..., Any], outputs: Any, y: torch.Tensor) -> None:
    """Refuse a loss that is no single number, or cannot be computed.

    Parameters
    ----------
    loss : callable
        Of outputs and targets.
    outputs, y : object, torch.Tensor
        Of some examples.

    Raises
    ------
    TypeError
        If the loss is no single number.
    ValueError
        If it cannot be computed.
    """
    found = loss_of(loss, outputs, y)
    if not isinstance(found, torch.Tensor) or found.shape != ():
        got = tuple(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
        raise TypeError(f"loss must return a tensor of one number, of shape (), got {got}")


def left_out_by(loss: Callable[..., Any], outputs: Any, y: torch.Tensor) -> int | None:
    """Return the target that torch leaves out if a loss does so, too: of nothing it is no number.

    Parameters
    ----------
    loss : callable
        Of outputs and targets.
    outputs, y : torch.Tensor
        Of one example.

    Returns
    -------
    int or None
        That, or None.
    """
    if y.dtype != torch.int64:
        return None
    try:
        return _LEFT_OUT if torch.isnan(loss(outputs, torch.full_like(y, _LEFT_OUT))) else None
    except Exception:  # it takes it for a class, and there is none
        return None


def _other_kind(y: torch.Tensor) -> str:
    """Say how to make targets of the other kind, which the loss may want."""
    real = 'y.astype("f4") makes the real numbers that losses of probabilities want'
    classes = "y.astype(int) makes class numbers"
    if y.dtype == torch.bool:  # it may be either
        return f"{real}, {classes}"
    return classes if y.is_floating_point() else real


def _options(loss: Any) -> tuple[dict[str, Any], bool]:
    """Return how one of torch's losses is set, and whether targets are numbers of classes."""
    options: dict[str, Any] = {}
    while isinstance(loss, partial):
        options = loss.keywords | options
        loss = loss.func
    if isinstance(loss, nn.Module):
        of_classes = type(loss).forward in _FORWARD_OF_CLASSES
        is_theirs = of_classes or type(loss).__module__ == nn.modules.loss.__name__
        names = ("reduction", "weight", "ignore_index") if is_theirs else ()
        return {name: getattr(loss, name) for name in names if hasattr(loss, name)}, of_classes
    is_theirs = getattr(loss, "__module__", None) == functional.__name__
    return options if is_theirs else {}, loss in _OF_CLASSES
