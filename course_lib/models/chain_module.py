"""Layers of a chain as a module of PyTorch, for those who bring them to another engine."""

import torch

from course_lib.models.chain import Chain
from course_lib.models.fully_connected import FullyConnected

__all__ = ["as_module"]


def as_module(model: Chain, layers: range, seed: int = 0) -> torch.nn.Sequential:
    """Make PyTorch's module of some layers of a chain, with the same parameters.

    Parameters
    ----------
    model : Chain
        Fully connected layers.
    layers : range
        The numbers of those that are wanted.
    seed : int, default: 0
        Of the first parameters.

    Returns
    -------
    torch.nn.Sequential
        With float64 parameters.

    Raises
    ------
    TypeError
        If one of the layers is no ``FullyConnected``.
    """
    modules: list[torch.nn.Module] = []
    for number in layers:
        part = model.parts[number]
        if not isinstance(part, FullyConnected):
            raise TypeError(
                f"layers must be fully connected, got {part.name!r} ({type(part).__name__})"
            )
        linear = torch.nn.Linear(part.n_in, part.n_out, dtype=torch.float64)
        weights, biases = part.unpack(model.initial_of(number, seed))
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weights))
            linear.bias.copy_(torch.from_numpy(biases))
        modules += [linear, torch.nn.ReLU()] if part.bends else [linear]
    return torch.nn.Sequential(*modules)
