"""A torch module as a chain of layers, where it is one: only that can be gone through in steps."""

from collections.abc import Callable
from typing import Any
from warnings import catch_warnings

import torch
from torch import nn

from course_lib.models.module_checks import trained
from course_lib.models.module_copies import copied

__all__ = ["layers_of"]

Parts = list[tuple[str, nn.Module]]

_MOST_EXAMPLES = 64
_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


def layers_of(
    module: nn.Module, loss: Callable[..., Any], batch: tuple[torch.Tensor, torch.Tensor] | None
) -> Parts:
    """Cut a module into layers that are called one after another, or leave it whole.

    A ``Sequential`` is a chain by its type. Of any other module it is found out by a forward pass,
    in training and out of it: a chain hands to each child the very tensor that the one before has
    returned, untouched, and returns the last one's. That says nothing about the way back, which
    may be cut or bent between two children: so a chain must have the gradients that torch finds
    for the module itself.

    Parameters
    ----------
    module : torch.nn.Module
        The whole network.
    loss : callable
        Of its outputs and targets.
    batch : tuple of torch.Tensor or None
        Examples for it and their targets; without them only a ``Sequential`` is cut.

    Returns
    -------
    list of (str, torch.nn.Module)
        The layers by name, each with parameters to train; one, the module itself, where it is no
        chain or two children share a parameter.
    """
    whole = [(type(module).__name__, module)]
    children = _children(module)
    different = len({id(child) for _, child in children}) == len(children) > 0
    if not different or module._parameters or module._buffers or _does_more(module):
        return whole
    layers = _grouped(children)
    seen = [id(p) for _, layer in layers for p in trained(layer).values()]
    if len(set(seen)) != len(seen):
        return whole
    if batch is None:
        return layers if type(module) is nn.Sequential else whole
    x, y = (tensor[:_MOST_EXAMPLES] for tensor in batch)
    try:
        is_chain = _is_chain(module, x) and _has_the_same_gradients(module, loss, x, y)
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
        return whole  # what it cannot do with them is told by who looks at it next
    return layers if is_chain else whole


def _children(module: nn.Module) -> Parts:
    return [(name, child) for name, child in module._modules.items() if child is not None]


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


def _does_more(module: nn.Module) -> bool:
    """Say whether a call of it does more than its class says."""
    return "forward" in vars(module) or any(getattr(module, kind) for kind in _HOOKS)


def _is_chain(module: nn.Module, x: torch.Tensor) -> bool:
    """Watch two forward passes: which tensor every child is given, and which it returns."""
    probe, _ = copied(module)  # BatchNorm counts
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
            given_x = x.clone()  # what is written into it is nobody else's
            start = _mark(given_x)
            y = probe.train(training)(given_x)
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


def _has_the_same_gradients(
    module: nn.Module, loss: Callable[..., Any], x: torch.Tensor, y: torch.Tensor
) -> bool:
    """Compare what torch finds for the module and for its children one after another."""
    probe, _ = copied(module)
    chain = [layer for _, layer in _grouped(_children(probe))]
    own = list(trained(probe).values())
    # Torch warns of hooks and losses in its own way where they are used for good.
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), catch_warnings(action="ignore"):
        for parameter in own:  # a layer of zeros would hide what is before it
            torch.default_generator.manual_seed(parameter.numel())
            noise = torch.randn(parameter.shape, dtype=parameter.dtype)
            parameter.data = parameter.data + 0.1 * noise
        for training in (False, True):
            found = []
            for network in ([probe], chain):
                torch.default_generator.manual_seed(0)
                outputs = x.clone()
                for layer in network:
                    outputs = layer.train(training)(outputs)
                value = loss(outputs, y)
                found.append(torch.autograd.grad(value, own, allow_unused=True))
            if not all(map(_are_close, *found)):
                return False
    return True


def _are_close(first: torch.Tensor | None, second: torch.Tensor | None) -> bool:
    """Compare two gradients to rounding; none at all is another thing than zeros."""
    if first is None or second is None:
        return first is second
    if torch.equal(first, second):  # as they mostly are, and faster to see
        return True
    within = 1e3 * torch.finfo(first.dtype).eps
    largest = float(first.abs().max()) if first.numel() else 0.0
    return torch.allclose(first, second, rtol=within, atol=within * largest, equal_nan=True)
