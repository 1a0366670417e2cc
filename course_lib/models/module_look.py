"""A first look at a network with some of its examples: what no type and no name says."""

import copy
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib.models.module_checks import keeps_statistics, trained

__all__ = ["Look", "drawing", "look_at"]

_MOST_EXAMPLES = 4


class Look(NamedTuple):
    """What was found.

    Attributes
    ----------
    is_random : bool
        Whether a forward pass in training draws random numbers.
    flops : tuple of float
        For each layer, the operations of a forward pass of one example.
    """

    is_random: bool
    flops: tuple[float, ...]


def look_at(
    layers: Sequence[tuple[str, nn.Module]], loss: Callable[..., Any], x: torch.Tensor, y: Any
) -> Look:
    """Compute with copies of the layers, and refuse what would be trained in another sense.

    Parameters
    ----------
    layers : sequence of (str, torch.nn.Module)
        The network.
    loss : callable
        Of its outputs and targets.
    x, y : torch.Tensor
        Some examples and their targets; the first four are taken.

    Returns
    -------
    Look
        What was found.

    Raises
    ------
    TypeError
        If the loss is no single number.
    ValueError
        If the module cannot take one example, a buffer other than running statistics changes in
        training, or the loss is no mean over the examples.
    """
    x, y = x[:_MOST_EXAMPLES], y[:_MOST_EXAMPLES]
    copies = [copy.deepcopy(layer) for _, layer in layers]
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        try:
            flops = tuple(_flops(copies, x[:1]))
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(
                "module must take a batch of any size, of one example too, called with it alone: "
                f"with one of shape {tuple(x[:1].shape)} it ended in {type(error).__name__}: "
                f"{error}"
            ) from error
        draws = _draws(copies, x, False)
        if not draws:
            _check_mean(copies, loss, x, y)
        before = _buffers(copies)
        draws |= _draws(copies, x, True)
    changed = [
        name
        for (name, *kept), (_, *now) in zip(before, _buffers(copies), strict=True)
        if kept[0] is not now[0] or kept[1] != now[1]
    ]
    if changed:
        raise ValueError(
            f"module changes {', '.join(changed)} while it trains, and nothing keeps that: make it "
            "a parameter, or leave it out; only the running statistics of BatchNorm are understood"
        )
    return Look(draws, flops)


@contextmanager
def drawing(contents: list[torch.Tensor] | None) -> Iterator[None]:
    """Draw random numbers that depend on the contents alone, and leave torch's generator alone."""
    if contents is None:
        yield
        return
    seed = 0
    for tensor in contents:
        seed = zlib.crc32(tensor.detach().cpu().numpy().tobytes(), seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def _forward(layers: Sequence[nn.Module], x: Any, training: bool) -> Any:
    for layer in layers:
        x = layer.train(training)(x)
    return x


def _draws(layers: Sequence[nn.Module], x: torch.Tensor, training: bool) -> bool:
    """Say whether a forward pass draws random numbers."""
    before = torch.get_rng_state()
    _forward(layers, x, training)
    return not torch.equal(before, torch.get_rng_state())


def _flops(layers: Sequence[nn.Module], x: Any) -> list[float]:
    """Count the products of a forward pass; a layer without any has 2 for each parameter."""
    from torch.utils.flop_counter import FlopCounterMode  # takes a third of a second to load

    found = []
    for layer in layers:
        counter = FlopCounterMode(display=False)
        # Other ways of computing attention are not counted, nor is what it does without gradients.
        with counter, torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
            x = layer.eval()(x)
        n_parameters = sum(p.numel() for p in trained(layer).values())
        found.append(float(counter.get_total_flops() or 2 * n_parameters))
    return found


def _check_mean(
    layers: Sequence[nn.Module], loss: Callable[..., Any], x: torch.Tensor, y: torch.Tensor
) -> None:
    whole = loss(_forward(layers, x, False), y)
    if not isinstance(whole, torch.Tensor) or whole.shape != ():
        got = tuple(whole.shape) if isinstance(whole, torch.Tensor) else type(whole).__name__
        raise TypeError(f"loss must return a tensor of one number, of shape (), got {got}")
    ones = [loss(_forward(layers, x[k : k + 1], False), y[k : k + 1]) for k in range(len(x))]
    mean = torch.stack(ones).mean()
    if not torch.allclose(whole, mean, rtol=1e-3, atol=1e-5, equal_nan=True):
        raise ValueError(
            "loss must be a mean over the examples, so that the parts of a batch add up to it: of "
            f"{len(x)} examples it is {whole.item():.4g}, and the mean of theirs {mean.item():.4g}"
        )


def _buffers(layers: Sequence[nn.Module]) -> list[tuple[str, torch.Tensor, int]]:
    """List what modules keep beside parameters, but for running statistics, and its version."""
    return [
        (f"{name}.{buffer}".lstrip("."), tensor, tensor._version)
        for layer in layers
        for name, part in layer.named_modules()
        if not keeps_statistics(part)
        for buffer, tensor in part._buffers.items()
        if tensor is not None
    ]
