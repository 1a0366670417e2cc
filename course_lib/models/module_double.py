"""Compute in float64, whatever a function asks for: what is then no sum is none by its formula."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from course_lib.models.module_copies import copied

__all__ = ["InDouble", "doubled", "others_in", "tensors_in", "widened"]


class InDouble(TorchFunctionMode):
    """While it is entered, torch's functions take and return float64 in place of other floats.

    Examples
    --------
    >>> with InDouble():
    ...     found = torch.tensor(0.5).float() * torch.ones(2, dtype=torch.float16)
    >>> found.dtype
    torch.float64
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function of torch with wider numbers."""
        return widened(func(*widened(args), **widened(kwargs or {})))


def widened(thing: Any) -> Any:
    """Return tensors as float64, also those in tuples, lists and dicts; all else as it is."""
    if isinstance(thing, torch.Tensor):
        if thing.is_complex():
            return thing.to(torch.complex128)
        return thing.double() if thing.is_floating_point() else thing
    if type(thing) in (tuple, list):
        return type(thing)(map(widened, thing))
    if type(thing) is dict:
        return {key: widened(value) for key, value in thing.items()}
    return thing


def doubled(layers: Sequence[nn.Module]) -> list[nn.Module]:
    """Return copies of layers in float64, which share what the layers share."""
    _, copies = copied(nn.Sequential(*layers), [*layers])
    return [layer.double() for layer in copies]


def tensors_in(thing: Any) -> list[torch.Tensor]:
    """List the tensors in what a module returns: in tuples, lists and dicts, too."""
    return [leaf for leaf in _leaves(thing) if isinstance(leaf, torch.Tensor)]


def others_in(thing: Any) -> list[Any]:
    """List what else is in it."""
    return [leaf for leaf in _leaves(thing) if not isinstance(leaf, torch.Tensor)]


def _leaves(thing: Any) -> Iterator[Any]:
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, (list, tuple)):
        for one in thing:
            yield from _leaves(one)
    else:
        yield thing
