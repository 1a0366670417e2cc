"""Whether a loss is a mean over the examples: by its numbers, to the last digits of float64.

What is not, such as a penalty on the mean over a batch, may be a small part of the loss, and still
train another model on every number of workers.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn

from course_lib.models.module_checks import has_own_code, is_of_torch, keeps_statistics
from course_lib.models.module_double import InDouble, doubled, others_in, tensors_in, widened
from course_lib.models.module_loss import MEAN, loss_of

__all__ = ["check_alone", "check_whole"]

_MOST_CLASSES = 100
_TIMES = 5  # so often the examples are taken for a larger batch
_MOST_NUMBERS = 1_000_000  # of outputs that are taken so often
# Parts of the loss, and of the largest output, where a loss is a small difference of large numbers:
_ALIKE = 1e-6, 1e-12  # far more than rounding of float64, far less than a penalty that is meant
_ALIKE_IN_FLOAT = 1e-5, 1e-6  # where it must be computed in float32

Forward = Callable[[torch.Tensor], Any]


def check_alone(loss: Callable[..., Any], outputs: Any, one: Any, y: torch.Tensor) -> None:
    """Compare the loss of outputs, of others close by and of every class with the mean of theirs.

    Parameters
    ----------
    loss : callable
        Of outputs and targets.
    outputs : object
        What the module returns for some examples.
    one : object
        What it returns for the first of them: if that is not the first of the outputs, the first
        axis does not count examples, and nothing is compared.
    y : torch.Tensor
        The targets.

    Raises
    ------
    ValueError
        If the loss is no mean.
    """
    parts = tensors_in(outputs)
    firsts = [tuple(tensor[:1].shape) if tensor.dim() else None for tensor in parts]
    if not parts or firsts != [tuple(tensor.shape) for tensor in tensors_in(one)]:
        return
    if not _same(others_in(outputs), others_in(one)):  # how many examples there are, for one
        return
    n_examples = len(y)
    sizes = [range(n) for n in range(n_examples, 1, -1)]
    if sum(tensor.numel() for tensor in parts) <= _MOST_NUMBERS:
        sizes.append(range(_TIMES * n_examples))
    largest = max((float(t.abs().max()) for t in map(widened, parts) if t.numel()), default=0.0)
    for rows in (outputs, _moved(outputs)):
        _check_parts(partial(_told, loss, rows, y), sizes, n_examples, largest)
    if y.dtype == torch.int64 and isinstance(outputs, torch.Tensor):
        _check_classes(loss, outputs, y, largest)


def check_whole(
    loss: Callable[..., Any],
    layers: Sequence[nn.Module],
    forward: Callable[[Sequence[nn.Module], torch.Tensor], Any],
    x: torch.Tensor,
    y: torch.Tensor,
) -> None:
    """Compare the loss of a module's outputs with the mean of those for each example by itself.

    In float64 it is done only if the module has other code than torch's, which could mix examples
    a bit, or if they differ without; of such code in training, too, which may return a penalty.

    Parameters
    ----------
    loss : callable
        Of outputs and targets.
    layers : sequence of torch.nn.Module
        The module's.
    forward : callable
        Computes outputs with layers and examples.
    x, y : torch.Tensor
        Some examples and their targets.

    Raises
    ------
    ValueError
        If the loss is no mean, or cannot be computed.
    """
    whole = loss_of(loss, forward(layers, x), y)
    ones = [loss_of(loss, forward(layers, x[k : k + 1]), y[k : k + 1]) for k in range(len(x))]
    mean = torch.stack(ones).mean()
    seems_right = torch.allclose(whole, mean, rtol=1e-3, atol=1e-5, equal_nan=True)
    if seems_right and not any(map(has_own_code, layers)):
        return
    wide = doubled(layers)
    for layer in wide:
        layer.eval()
    told = partial(_told_by, loss, wide, x, y)
    if not _check_parts(told, [range(len(x))]) and not seems_right:
        raise _no_mean(whole, mean, f"of {len(x)} examples")
    for layer in wide:
        for part in layer.modules():  # Dropout and BatchNorm stay as they are in evaluation
            part.training = not (is_of_torch(part) or keeps_statistics(part))
    if any(part.training for layer in wide for part in layer.modules()):
        _check_parts(told, [range(len(x))], which=", in training,")


def _told_by(
    loss: Callable[..., Any], layers: Sequence[nn.Module], x: Any, y: torch.Tensor, at: torch.Tensor
) -> Any:
    """Return the loss of the examples of these numbers; fail if it is a matter of chance."""
    torch.default_generator.manual_seed(0)
    before = torch.get_rng_state()
    x, y = x[at], y[at]
    for layer in layers:
        x = layer(x)
    if not torch.equal(before, torch.get_rng_state()):
        raise LookupError("it draws")
    return loss(x, y)


def _check_parts(
    told: Forward,
    sizes: Sequence[range],
    n_examples: int | None = None,
    largest: float = 0.0,
    which: str = "",
) -> bool:
    """Compare the loss of some examples with the mean of theirs; say whether that could be done.

    Parameters
    ----------
    told : callable
        Returns the loss of the examples of which the numbers are given. Where it fails in float64,
        it is asked as it is; where it fails then, nothing is compared.
    sizes : sequence of range
        Batches: the numbers of the examples, counted around.
    n_examples : int or None
        How many there are; None: as many as in the longest batch.
    largest : float
        The largest number that the loss may have as a part.
    which : str
        More words about the examples.
    """
    n_examples = n_examples or max(map(len, sizes))
    at = [torch.tensor(size) % n_examples for size in sizes]
    for mode, (of_loss, of_largest) in ((InDouble(), _ALIKE), (nullcontext(), _ALIKE_IN_FLOAT)):
        try:
            with mode:
                ones = torch.stack([told(torch.tensor([k])) for k in range(n_examples)])
                wholes = [told(examples) for examples in at]
        except Exception:  # what it is asked for here is not what it is made for
            continue
        size = ones.abs().nanmean()
        within = float(torch.nan_to_num(of_loss * size + of_largest * largest))
        for examples, whole in zip(at, wholes, strict=True):
            mean = ones[examples].mean()
            if not torch.allclose(whole, mean, rtol=0.0, atol=within, equal_nan=True):
                raise _no_mean(whole, mean, f"of {len(examples)} examples{which}")
        return True
    return False


def _no_mean(whole: torch.Tensor, mean: torch.Tensor, of: str) -> ValueError:
    rough = torch.allclose(whole, mean, rtol=1e-3)
    one, other = (f"{number.item():{'.9g' if rough else '.4g'}}" for number in (whole, mean))
    return ValueError(f"{MEAN}: {of} it is {one}, and the mean of theirs {other}")


def _check_classes(
    loss: Callable[..., Any], outputs: torch.Tensor, y: torch.Tensor, largest: float
) -> None:
    """Compare with targets in which each class occurs, if they seem to be numbers of classes."""
    shape = list(outputs.shape)
    n_classes = next((shape[k] for k in (1, -1) if _without(shape, k) == list(y.shape)), 0)
    classes = torch.arange(min(n_classes, _MOST_CLASSES)).reshape(-1, *[1] * (y.dim() - 1))
    classes = classes.expand(-1, *y.shape[1:]).contiguous()
    if len(classes):
        rows = outputs[torch.arange(len(classes)) % len(outputs)]
        told = partial(_told, loss, rows, classes)
        _check_parts(told, [range(len(classes))], largest=largest, which=", one of each class,")


def _told(loss: Callable[..., Any], rows: Any, y: torch.Tensor, at: torch.Tensor) -> Any:
    return loss(_taken(rows, at), y[at])


def _same(things: list[Any], others: list[Any]) -> bool:
    try:
        return things == others
    except ValueError:  # arrays of several numbers
        return False


def _without(shape: list[int], k: int) -> list[int]:
    """Return the shape without an axis that it has beside the first."""
    return [*shape[: k % len(shape)], *shape[k % len(shape) + 1 :]] if len(shape) > 1 else shape


def _taken(thing: Any, at: torch.Tensor) -> Any:
    """Return the examples of these numbers."""
    if isinstance(thing, torch.Tensor):
        return thing[at]
    if type(thing) in (tuple, list):
        return type(thing)(_taken(one, at) for one in thing)
    if isinstance(thing, tuple):  # with names
        return type(thing)(*(_taken(one, at) for one in thing))
    if isinstance(thing, dict):
        return type(thing)((key, _taken(value, at)) for key, value in thing.items())
    return thing


def _moved(thing: Any) -> Any:
    """Return others close by: a last layer that begins as zeros tells nothing.

    Each is nearer to 0, and 0 is a bit more: signs stay, and probabilities are some still.
    """
    if isinstance(thing, torch.Tensor) and thing.is_floating_point():
        draw = torch.Generator().manual_seed(thing.numel())
        part = 0.1 * torch.rand(thing.shape, generator=draw, dtype=thing.dtype)
        return thing * (1 - part) + (thing == 0) * part
    if type(thing) in (tuple, list):
        return type(thing)(map(_moved, thing))
    if type(thing) is dict:
        return {key: _moved(value) for key, value in thing.items()}
    return thing
