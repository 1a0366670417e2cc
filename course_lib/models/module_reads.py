"""Whether a module reads its parameters where other numbers can stand for them.

A training hands a module its parameters, and torch puts them in the place of the registered ones
for as long as a forward pass lasts. What reaches a parameter another way, or reads it again while
autograd goes back, finds the module's own numbers, which nobody trains.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from course_lib.models.module_checks import has_own_code, trained
from course_lib.models.module_copies import copied
from course_lib.models.module_draws import KEPT
from course_lib.models.module_generators import states, that_went_on
from course_lib.models.module_weights import places_of

__all__ = ["check_reads"]

_MOVED = 0.01  # of each number: what is read in the old place shows, and nothing leaves its range
_ALIKE = 1e-4  # of the largest slope: far more than rounding, far less than what the move changes

Slopes = list[torch.Tensor]


def check_reads(
    layers: Sequence[nn.Module], x: torch.Tensor, told: Callable[[Any], torch.Tensor], what: str
) -> None:
    """Compare two ways of training: with the parameters themselves changed, and handed over.

    Parameters
    ----------
    layers : sequence of torch.nn.Module
        Each is called with what the one before has returned; they are copied, unless all of them
        are torch's own, which read nothing aside.
    x : torch.Tensor
        Some examples; if they require a gradient, that is compared, too.
    told : callable
        Makes one number of what the last layer returns.
    what : str
        How to call the module in an error.

    Raises
    ------
    ValueError
        If a parameter is reached beside its name, the gradients differ, or something is drawn on
        the way back.
    """
    if not any(map(has_own_code, layers)):
        return
    _, layers = copied(nn.Sequential(*layers), [*layers])
    for layer in layers:
        layer.train()
    names = {id(p): name for layer in layers for name, p in trained(layer).items()}
    handed = [
        [_moved(p, number).requires_grad_() for number, p in enumerate(trained(layer).values())]
        for layer in layers
    ]
    found = told(_run(layers, handed, x))
    if (aside := next(_parameters_behind(found), None)) is not None:
        name = repr(names[id(aside)]) if id(aside) in names else "a parameter"
        raise ValueError(
            f"{what} reads {name} beside the name under which it "
            "is registered, through a list, a closure or the like, where it stays as it is: have "
            "the part that reads it hold it, or the part it belongs to, as an attribute of its own"
        )
    leaves = [leaf for of_layer in handed for leaf in of_layer]
    own = [p for layer in layers for p in trained(layer).values()]
    inputs = [x] if x.requires_grad else []
    ours = _slopes(found, [*leaves, *inputs])
    for parameter, leaf in zip(own, leaves, strict=True):
        parameter.detach().copy_(leaf.detach())
    theirs = [_drawn_slopes(told(_run(layers, None, x)), [*own, *inputs], what) for _ in range(2)]
    if _differ(theirs[0], theirs[1]) is not None:
        raise ValueError(
            f"{what} finds another gradient when it is called again with the same parameters, "
            f"examples and seed of torch: {KEPT}"
        )
    if (at := _differ(ours, theirs[0])) is not None:
        of = repr(names[id(own[at])]) if at < len(own) else "its inputs"
        raise ValueError(
            f"{what} reads its own parameters while autograd goes back, so that the gradient of "
            f"{of} is wrong where others are trained in their place, as with "
            "torch.utils.checkpoint, or an autograd.Function or a hook that reads the module: "
            "compute it without"
        )


def _moved(parameter: torch.Tensor, seed: int) -> torch.Tensor:
    """Return other numbers close by, of the same signs."""
    draw = torch.Generator().manual_seed(seed)
    part = torch.rand(parameter.shape, generator=draw, dtype=parameter.dtype) * _MOVED
    return parameter.detach() * (1 + part) + (parameter.detach() == 0) * part / 10


def _run(layers: Sequence[nn.Module], handed: Sequence[Slopes] | None, x: torch.Tensor) -> Any:
    """Call layers one after another, with their own parameters or with others."""
    torch.default_generator.manual_seed(0)
    x = x.clone()  # which may be written into
    for number, layer in enumerate(layers):
        if handed is None:
            x = layer(x)
        else:
            named = {name: handed[number][at] for name, at in places_of(layer).items()}
            x = functional_call(layer, named, (x,), tie_weights=False)
    return x


def _slopes(told: torch.Tensor, leaves: Sequence[torch.Tensor]) -> Slopes:
    torch.default_generator.manual_seed(1)  # of what is computed once more
    return list(torch.autograd.grad(told, leaves, materialize_grads=True))


def _drawn_slopes(told: torch.Tensor, leaves: Sequence[torch.Tensor], what: str) -> Slopes:
    """Return the slopes, and refuse what is drawn for them."""
    torch.default_generator.manual_seed(1)
    before = states()
    found = _slopes(told, leaves)
    if (name := that_went_on(before)) is not None:
        raise ValueError(
            f"{what} draws from {name} while autograd goes back, for which nothing is seeded: "
            f"{KEPT}; draw on the way forward"
        )
    return found


def _differ(one: Slopes, other: Slopes) -> int | None:
    """Return the number of the first parameter of which slopes differ by more than rounding."""
    largest = max((float(g.abs().max()) for g in one if g.numel()), default=0.0)
    for number, (a, b) in enumerate(zip(one, other, strict=True)):
        if not torch.allclose(a, b, rtol=0.0, atol=_ALIKE * largest, equal_nan=True):
            return number
    return None


def _parameters_behind(told: torch.Tensor) -> Iterator[nn.Parameter]:
    """Yield the parameters that autograd would reach from a number."""
    left, met = [told.grad_fn], set()
    while left:
        node = left.pop()
        if node is None or node in met:
            continue
        met.add(node)
        variable = getattr(node, "variable", None)
        if isinstance(variable, nn.Parameter):
            yield variable
        left += [before for before, _ in node.next_functions]
