"""Running statistics, as BatchNorm keeps them: of other examples than those of the last batches."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["settle"]


def settle(
    parts: Sequence[nn.Module],
    batches: Sequence[np.ndarray[Any, Any]],
    forward: Callable[[np.ndarray[Any, Any]], Any],
) -> None:
    """Take running statistics anew, as the mean over batches.

    BatchNorm does so with ``momentum=None``. InstanceNorm, which does not count its batches, would
    then take nothing: it is told each time how much the next one weighs.

    Parameters
    ----------
    parts : sequence of torch.nn.Module
        Whose; their momentum is left as it was.
    batches : sequence of numpy.ndarray
        The numbers of the examples of each.
    forward : callable
        Computes with the examples of one batch, the parts in training.
    """
    rates: list[Any] = [part.momentum for part in parts]
    for part in parts:
        part.reset_running_stats()  # type: ignore[operator]
    for number, examples in enumerate(batches):
        for part in parts:
            counts = isinstance(part, nn.modules.batchnorm._BatchNorm)
            part.momentum = None if counts else 1 / (number + 1)  # type: ignore[assignment]
        with torch.no_grad():
            forward(examples)
    for part, rate in zip(parts, rates, strict=True):
        part.momentum = rate
