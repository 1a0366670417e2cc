"""What a torch module may be so that a flat vector stands for it: the rest is refused by name."""

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import nn

__all__ = [
    "check_layers",
    "check_loss",
    "check_module",
    "check_no_old_norm",
    "has_own_code",
    "is_of_torch",
    "keeps_statistics",
    "trained",
]

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")

_WRAPPERS = {
    "DataParallel": "the module in it, .module",
    "DistributedDataParallel": "the module in it, .module",
    "OptimizedModule": "the module that torch.compile was given",
}


def trained(module: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters that are to be trained by name; a tied one once, by its first name."""
    return {name: p for name, p in module.named_parameters() if p.requires_grad}


def keeps_statistics(module: nn.Module) -> bool:
    """Say whether it keeps running statistics, as BatchNorm does."""
    return getattr(module, "running_mean", None) is not None


def has_own_code(module: nn.Module) -> bool:
    """Say whether a module has parts that are not torch's own, or hooks."""
    return any(
        not type(part).__module__.startswith("torch.nn.modules.")
        or any(getattr(part, hooks) for hooks in _HOOKS)
        for part in module.modules()
    )


def is_of_torch(loss: Any) -> bool:
    """Say whether a loss is one of torch's own, which computes with what it is given alone."""
    while isinstance(loss, partial):
        loss = loss.func
    if isinstance(loss, nn.Module):
        return not has_own_code(loss)
    return getattr(loss, "__module__", None) == nn.functional.__name__


def check_module(module: Any) -> None:
    """Refuse a module that cannot be trained as a flat vector, or would be so in another sense.

    Parameters
    ----------
    module : torch.nn.Module
        The whole network.

    Raises
    ------
    TypeError
        If it is no module, or one that is put around another.
    ValueError
        If it has a part that is not supported; the text names it and says what to do instead.
    """
    if isinstance(module, type):
        raise TypeError(f"module must be a torch.nn.Module, got the class {module.__name__}")
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    for name, part in module.named_modules():
        kind = type(part).__name__
        if kind in _WRAPPERS:
            raise TypeError(f"module holds a {kind}: give {_WRAPPERS[kind]}")
        if isinstance(part, torch.jit.ScriptModule):
            raise TypeError(f"module holds {kind}, a compiled one: give what it was made from")
        if isinstance(part, nn.SyncBatchNorm):
            raise ValueError(
                f"{name!r} sends messages of its own: make it a BatchNorm, which takes the "
                "statistics of the examples that its worker has"
            )
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and not keeps_statistics(part):
            raise ValueError(
                f"{name!r} has track_running_stats=False, so that a prediction would depend on "
                "the other examples of its batch: make it with track_running_stats=True"
            )
        _check_part(name or kind, part)
    _check_parameters(module)


def check_loss(loss: Any) -> None:
    """Refuse what is no loss, and a loss with parameters of its own, which nobody would train.

    Parameters
    ----------
    loss : callable
        Of outputs and targets.

    Raises
    ------
    TypeError
        If it cannot be called, or is compiled.
    ValueError
        If it is a module, or belongs to one, with a parameter to train; the text names it.
    """
    if not callable(loss):
        raise TypeError(f"loss must be called with outputs and targets, got {loss!r}")
    while isinstance(loss, partial):
        loss = loss.func
    if isinstance(loss, torch.jit.ScriptModule):
        raise TypeError(
            "loss is a compiled module, which torch cannot copy: give what it was made of"
        )
    owner = getattr(loss, "__self__", loss)
    own = trained(owner) if isinstance(owner, nn.Module) else {}
    if own:
        raise ValueError(
            f"loss has parameters of its own, {', '.join(own)}, which nobody would train: make "
            "them a part of module, whose outputs the loss is called with, or freeze them "
            "(requires_grad_(False))"
        )


def _check_part(name: str, part: nn.Module) -> None:
    if isinstance(part, (nn.Embedding, nn.EmbeddingBag)):
        if part.max_norm is not None:
            raise ValueError(
                f"{name!r} has max_norm={part.max_norm}, with which it writes into its weights as "
                "it is called, on every worker for the words that it has: make it without"
            )
        if part.sparse:
            raise ValueError(
                f"{name!r} has sparse=True, but gradients are one flat vector here: make it "
                "with sparse=False"
            )
    forward = vars(part).get("forward")
    if forward is not None and getattr(forward, "__self__", None) is not part:
        raise ValueError(
            f"{name!r} has a forward that was put into the object, and computes with the "
            "parameters of the original in every copy: put it into a class"
        )
    check_no_old_norm(name, part)


def check_no_old_norm(name: str, part: nn.Module) -> None:
    """Refuse a part whose weight is computed in the old way of torch, which it cannot copy.

    Parameters
    ----------
    name : str
        What to call it.
    part : torch.nn.Module
        Which.

    Raises
    ------
    ValueError
        If it is one.
    """
    if any(type(hook).__name__ == "WeightNorm" for hook in part._forward_pre_hooks.values()):
        raise ValueError(
            f"{name!r} has torch.nn.utils.weight_norm, which torch has given up: take that of "
            "torch.nn.utils.parametrizations, which works"
        )


def _check_parameters(module: nn.Module) -> None:
    for name, parameter in module.named_parameters():
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            raise ValueError(f"{name!r} has no shape yet: call the module once on an example")
        if parameter.is_meta:
            raise ValueError(
                f"{name!r} is on the device meta and has no numbers: module.to_empty(device='cpu') "
                "gives it room, and its layers' reset_parameters() draw them"
            )
        if parameter._backward_hooks or parameter._post_accumulate_grad_hooks:
            raise ValueError(
                f"{name!r} has a hook of its own, which torch does not call where other numbers "
                "stand for it: change the gradient in an optimizer, or in a hook of the module"
            )
    own = trained(module)
    if not own:
        raise ValueError("module must have a parameter with requires_grad=True, but has none")
    kinds = {str(p.dtype).removeprefix("torch.") for p in own.values()}
    if kinds not in ({"float32"}, {"float64"}):
        raise ValueError(
            "the trained parameters of module must all be float32 or all float64, not "
            f"{' and '.join(sorted(kinds))}: module.float() makes them float32"
        )
    places = sorted(
        (p.data_ptr(), p.data_ptr() + p.numel() * p.element_size(), name)
        for name, p in module.named_parameters()
        if p.numel()
    )
    for (_, stop, first), (start, _, second) in pairwise(places):
        if start < stop:
            raise ValueError(
                f"{first!r} and {second!r} share their memory, but are two parameters: to tie "
                f"them, let both modules hold the same one, as in a.weight = b.weight"
            )


def check_layers(layers: Iterable[tuple[str, nn.Module]]) -> None:
    """Refuse layers that ``TorchModel`` would train in another sense than who made them means.

    Parameters
    ----------
    layers : iterable of (str, torch.nn.Module)
        The layers by name.

    Raises
    ------
    ValueError
        Naming the layer, and what is in it that ``from_module`` can do.
    """
    how = "course_lib.models.from_module takes modules with that"
    owner: dict[int, str] = {}
    for name, layer in layers:
        for part in layer.modules():
            if isinstance(part, nn.modules.dropout._DropoutNd):
                raise ValueError(
                    f"layer {name!r} has a Dropout, which would draw in predict, too: {how}"
                )
            if keeps_statistics(part):
                raise ValueError(f"layer {name!r} keeps running statistics: {how}")
        for own, parameter in layer.named_parameters():
            if not parameter.requires_grad:
                raise ValueError(f"{own!r} of layer {name!r} is frozen: {how}")
            if owner.setdefault(id(parameter), name) != name:
                other = owner[id(parameter)]
                raise ValueError(f"layers {other!r} and {name!r} share {own!r}: {how}")
