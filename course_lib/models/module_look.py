"""A first look at a network with some of its examples: what no type and no name says."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib.models.module_checks import trained
from course_lib.models.module_copies import copied
from course_lib.models.module_draws import check_draws
from course_lib.models.module_loss import check_number, check_options, left_out_by, loss_of
from course_lib.models.module_mean import check_alone, check_whole
from course_lib.models.module_reads import check_reads
from course_lib.models.module_state import Slot, changed, is_forgotten, state_of
from course_lib.models.without_compiler import without_compiler

__all__ = ["Look", "drawing", "look_at"]

_MOST_EXAMPLES = 4
_NONE = (
    "returns has none: is it computed under torch.no_grad(), or with detach(), argmax() or other "
    "whole numbers, or without the parameters?"
)


class Look(NamedTuple):
    """What was found.

    Attributes
    ----------
    is_random : bool
        Whether a forward pass in training draws random numbers.
    flops : tuple of float
        For each layer, the operations of a forward pass of one example; none if not asked for.
    left_out : int or None
        A target that the loss leaves out, and that no example may have.
    """

    is_random: bool
    flops: tuple[float, ...]
    left_out: int | None


def look_at(
    whole: nn.Module,
    layers: Sequence[tuple[str, nn.Module]],
    loss: Callable[..., Any],
    x: torch.Tensor,
    y: torch.Tensor,
    counts: bool = True,
) -> Look:
    """Compute with copies of the layers, and refuse what would be trained in another sense.

    Parameters
    ----------
    whole : torch.nn.Module
        The network.
    layers : sequence of (str, torch.nn.Module)
        Its layers.
    loss : callable
        Of its outputs and targets.
    x, y : torch.Tensor
        Some examples and their targets; the first four are taken.
    counts : bool, default: True
        Whether to count operations.

    Returns
    -------
    Look
        What was found.

    Raises
    ------
    TypeError
        If the loss is no single number.
    ValueError
        If the module cannot take one example, something in it other than running statistics changes
        in training, it or the loss draws from another generator than torch's, or the loss is no
        mean over the examples, cannot be computed, or has no gradient.
    """
    x, y = x[:_MOST_EXAMPLES], y[:_MOST_EXAMPLES]
    left_out = check_options(loss, y)
    whole, copies = copied(whole, [layer for _, layer in layers])
    if isinstance(loss, nn.Module):
        loss, _ = copied(loss)
    watched = {"module": whole} | ({"loss": loss} if isinstance(loss, nn.Module) else {})
    before = {what: state_of(thing) for what, thing in watched.items()}
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        one = x[:1]
        try:
            with torch.enable_grad():
                _forward(copies, one)
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(
                "module must take a batch of any size, of one example too, called with it alone: "
                f"with one of shape {tuple(one.shape)} it ended in {type(error).__name__}: {error}"
            ) from error
        flops = tuple(_flops(copies, one.clone())) if counts else ()
        is_random = [_draws(copies, x, training) for training in (False, True)]
        for training in (False, True):
            _told(copies, loss, x, y, training)
        check_draws(copies, loss, x, y)
        for what, thing in watched.items():
            found = changed(before[what], state_of(thing))
            _check_state(what, found, lambda training: _told(copies, loss, x, y, training))
        outputs = _forward(copies, x)
        check_number(loss, outputs, y)
        check_alone(loss, outputs, _forward(copies, x[:1]), y)
        if not is_random[0]:
            check_whole(loss, copies, _forward, x, y)
        _check_slope(layers, copies, loss, x, y)
        with torch.enable_grad():
            check_reads(copies, x, lambda outputs: loss_of(loss, outputs, y), "module")
        if left_out is None:
            left_out = left_out_by(loss, _forward(copies, x[:1], False), y[:1])
    return Look(any(is_random), flops, left_out)


@contextmanager
def drawing(contents: list[torch.Tensor] | None) -> Iterator[None]:
    """Draw random numbers that depend on the contents alone, and leave torch's generator alone."""
    if contents is None:
        yield
        return
    seed = 0
    for tensor in contents:
        seed = zlib.crc32(tensor.detach().cpu().numpy().tobytes(), seed)
    gpus = {tensor.device for tensor in contents if tensor.device.type == "cuda"}
    with torch.random.fork_rng(devices=gpus):
        # torch.manual_seed would seed those of all GPUs, and nobody would put them back.
        torch.default_generator.manual_seed(seed)
        for gpu in gpus:
            torch.cuda.default_generators[gpu.index].manual_seed(seed)
        yield


def _forward(layers: Sequence[nn.Module], x: Any, training: bool = False) -> Any:
    x = x.clone()  # which may be written into
    for layer in layers:
        x = layer.train(training)(x)
    return x


def _draws(layers: Sequence[nn.Module], x: torch.Tensor, training: bool) -> bool:
    """Say whether a forward pass draws random numbers."""
    before = torch.get_rng_state()
    try:
        _forward(layers, x, training)
    except RuntimeError as error:
        raise ValueError(
            f"module must compute with {len(x)} examples under torch.no_grad(), as it is evaluated "
            f"(a derivative in its forward needs torch.enable_grad()): it ended in {error}"
        ) from error
    return not torch.equal(before, torch.get_rng_state())


def _check_slope(
    layers: Sequence[tuple[str, nn.Module]], copies: Sequence[nn.Module], loss: Callable[..., Any],
    x: Any, y: torch.Tensor,
) -> None:  # fmt: skip
    """Refuse what torch finds no gradient of."""
    x = x.clone()
    with torch.enable_grad():
        for (name, _), layer in zip(layers, copies, strict=True):
            x = layer.train()(x)
            if trained(layer) and isinstance(x, torch.Tensor) and not x.requires_grad:
                what = f"its layer {name!r}" if len(copies) > 1 else "it"
                raise ValueError(f"module must have a gradient, but what {what} {_NONE}")
        told = loss_of(loss, x, y)
    if isinstance(told, torch.Tensor) and not told.requires_grad:
        raise ValueError(f"loss must have a gradient, but what it {_NONE}")


def _flops(layers: Sequence[nn.Module], x: Any) -> list[float]:
    """Count the products of a forward pass; a layer without any has 2 for each parameter."""
    # It takes a third of a second to load.
    from torch.utils.flop_counter import FlopCounterMode, _FlopCounterMode

    found = []
    for layer in layers:
        counter: Any = FlopCounterMode(display=False)
        counter.mod_tracker = _AllTogether()
        # Other ways of computing attention are not counted, nor is what it does without gradients.
        quick = without_compiler(_FlopCounterMode.__torch_dispatch__)
        with quick, counter, torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
            x = _counted(layer.eval(), x)
        n_parameters = sum(p.numel() for p in trained(layer).values())
        found.append(float(counter.get_total_flops() or 2 * n_parameters))
    return found


class _AllTogether(nullcontext[None]):
    """Count nothing part by part, for which torch goes into autograd.grad, and fails."""

    parents = frozenset({"Global"})


def _counted(layer: nn.Module, x: Any) -> Any:
    try:
        return layer(x)
    except Exception as error:
        raise ValueError(
            "the operations of module cannot be counted (it computes, but while torch counts it "
            f"ends in {type(error).__name__}: {error}): give from_module(..., flops=), those of a "
            "gradient of one example"
        ) from error


def _told(
    layers: Sequence[nn.Module], loss: Callable[..., Any], x: torch.Tensor, y: torch.Tensor,
    training: bool,
) -> Any:  # fmt: skip
    """Return the loss, whatever else has been drawn before."""
    torch.default_generator.manual_seed(0)
    return loss_of(loss, _forward(layers, x, training), y)


def _check_state(what: str, found: Sequence[Slot], compute: Callable[[bool], Any]) -> None:
    """Refuse what a forward pass leaves behind, but for outputs that are stored to be looked at."""
    kept = [slot.name for slot in found if not slot.may_be_output]
    if not kept and found and not is_forgotten(found, compute):
        kept = [slot.name for slot in found]
    if kept:
        raise ValueError(
            f"{what} changes {', '.join(kept)} while it trains, each worker for itself, and nothing"
            " keeps that: make it a parameter that the optimizer trains, or compute it in __init__ "
            "if it stays the same, or leave it out; only the running statistics of BatchNorm are "
            "understood"
        )
