"""Copies of a module that torch itself refuses to copy, or to send."""

import copy
from collections.abc import Iterator
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn.utils import parametrize

__all__ = ["copied", "needs_packing", "packed", "unpacked"]

T = TypeVar("T")


def copied(module: nn.Module, beside: T = None) -> tuple[nn.Module, T]:  # type: ignore[assignment]
    """Copy a module, and what shares its parts; outputs that it has stored lose their history.

    Parameters
    ----------
    module : torch.nn.Module
        Which; it is not changed.
    beside : object, default: None
        What has parts of it, as its layers do.

    Returns
    -------
    tuple of torch.nn.Module and object
        Copies of both, which share as the two did.
    """
    memo: dict[int, Any] = {id(t): t.detach().clone() for t in _with_history(module)}
    return copy.deepcopy((module, beside), memo)


def needs_packing(module: nn.Module) -> bool:
    """Say whether torch could not pickle it or copy it as it is."""
    computes = any(map(parametrize.is_parametrized, module.modules()))
    return computes or next(_with_history(module), None) is not None


def packed(module: nn.Module, beside: T) -> tuple[nn.Module, T, dict[str, list[str]]]:
    """Copy a module and what shares its parts as something that can be pickled.

    A parametrized part (``torch.nn.utils.parametrizations``) has a class made on the spot, which no
    pickle can name: it gets back its own class, and what was computed is told by name.

    Parameters
    ----------
    module, beside : torch.nn.Module, object
        As for ``copied``.

    Returns
    -------
    tuple of torch.nn.Module, object and dict
        The copies, and for each part the names of its tensors that are computed.
    """
    module, beside = copied(module, beside)
    computed = {
        name: list(part.parametrizations)
        for name, part in module.named_modules()
        if parametrize.is_parametrized(part)
    }
    for name in computed:
        part = module.get_submodule(name)
        part.__class__ = parametrize.type_before_parametrizations(part)
    return module, beside, computed


def unpacked(module: nn.Module, computed: dict[str, list[str]]) -> None:
    """Let the parts of a packed module compute their tensors again, as they did before."""
    for name, tensors in computed.items():
        part = module.get_submodule(name)
        parametrize._inject_new_class(part)
        for tensor in tensors:
            parametrize._inject_property(part, tensor)


def _with_history(module: nn.Module) -> Iterator[torch.Tensor]:
    """Yield the tensors in a module's attributes that autograd has computed."""
    for part in module.modules():
        for value in vars(part).values():
            yield from _computed_in(value)


def _computed_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor) and not value.is_leaf:
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _computed_in(one)
    elif isinstance(value, dict):
        yield from _computed_in(list(value.values()))
