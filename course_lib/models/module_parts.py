"""A torch module as a chain of layers, where it is one: only that can be gone through in steps."""

import copy
from typing import Any

import torch
from torch import nn

from course_lib.models.module_checks import trained

__all__ = ["layers_of"]

Parts = list[tuple[str, nn.Module]]


def layers_of(module: nn.Module, x: torch.Tensor | None) -> Parts:
    """Cut a module into layers that are called one after another, or leave it whole.

    A ``Sequential`` is a chain by its type. Of any other module it is found out by a forward pass,
    in training and out of it: a chain hands to each child the very tensor that the one before has
    returned, untouched, and returns the last one's.

    Parameters
    ----------
    module : torch.nn.Module
        The whole network.
    x : torch.Tensor or None
        Examples for it; without them only a ``Sequential`` is cut.

    Returns
    -------
    list of (str, torch.nn.Module)
        The layers by name, each with parameters to train; one, the module itself, where it is no
        chain or two children share a parameter.
    """
    whole = [(type(module).__name__, module)]
    children = [(name, child) for name, child in module._modules.items() if child is not None]
    different = len({id(child) for _, child in children}) == len(children) > 0
    if not different or module._parameters or module._buffers or _has_hooks(module):
        return whole
    if type(module) is not nn.Sequential and (x is None or not _is_chain(module, x)):
        return whole
    layers = _grouped(children)
    seen = [id(p) for _, layer in layers for p in trained(layer).values()]
    return layers if len(set(seen)) == len(seen) else whole


def _grouped(children: Parts) -> Parts:
    """Put children without parameters to train to the layer before, the first ones to the next."""
    groups: list[tuple[str, list[nn.Module]]] = []
    waiting: list[nn.Module] = []
    for name, child in children:
        if trained(child):
            groups.append((name, [*waiting, child]))
            waiting = []
        elif groups:
            groups[-1][1].append(child)
        else:
            waiting.append(child)
    return [(name, own[0] if len(own) == 1 else nn.Sequential(*own)) for name, own in groups]


def _has_hooks(module: nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks)


def _is_chain(module: nn.Module, x: torch.Tensor) -> bool:
    """Watch two forward passes: which tensor every child is given, and which it returns."""
    probe = copy.deepcopy(module)  # BatchNorm counts
    alive: list[Any] = []  # so that no two have the same id
    entered: list[tuple[Any, ...]] = []
    left: list[tuple[Any, ...]] = []

    def enter(child: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        alive.extend(args)
        entered.append((child, *map(_mark, args), *kwargs))

    def leave(child: nn.Module, args: Any, result: Any) -> None:
        del args
        alive.append(result)
        left.append((child, _mark(result)))

    children = list(probe.children())
    for child in children:
        child.register_forward_pre_hook(enter, with_kwargs=True)
        child.register_forward_hook(leave)
    for training in (True, False):
        entered.clear()
        left.clear()
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            start = _mark(x)
            y = probe.train(training)(x)
        given = [start, *(mark for _, mark in left)]
        in_order = [child for child, _ in left] == children
        handed = [(child, mark) for child, mark in zip(children, given[:-1], strict=False)]
        if not in_order or entered != handed or _mark(y) != given[-1]:
            return False
    return True


def _mark(thing: Any) -> tuple[Any, ...]:
    """Name a tensor and its content: writing into it in place changes the second number."""
    if not isinstance(thing, torch.Tensor):
        return (id(thing),)
    return id(thing), thing._version
