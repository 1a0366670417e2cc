"""A module's weights as one flat vector, and back."""

import hashlib
from typing import Any

import numpy as np
import torch
from torch import nn

from course_lib.models.model import Array
from course_lib.models.module_checks import trained
from course_lib.models.module_copies import copied
from course_lib.words.namespace import as_numpy

__all__ = ["digest", "drawn_weights", "flat_weights", "places_of", "with_weights"]


def flat_weights(module: nn.Module, order: list[str]) -> np.ndarray[Any, Any]:
    """Copy the parameters of these names one after another."""
    parts = [module.get_parameter(name).detach().cpu().reshape(-1) for name in order]
    return torch.cat(parts).numpy()


def drawn_weights(module: nn.Module, order: list[str], seed: int) -> np.ndarray[Any, Any]:
    """Draw parameters anew from a seed, as the parts of the module do it.

    Parameters
    ----------
    module : torch.nn.Module
        Whose; it is not changed.
    order : list of str
        The names of the parameters.
    seed : int
        The same seed gives the same parameters.

    Returns
    -------
    numpy.ndarray, one-dimensional
        The parameters one after another.

    Raises
    ------
    ValueError
        If a part that has parameters has no method ``reset_parameters``.
    """
    drawn, _ = copied(module)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        for name, part in drawn.named_modules():
            reset = getattr(part, "reset_parameters", getattr(part, "_reset_parameters", None))
            if reset is not None:
                reset()
            elif any(p is not None and p.requires_grad for p in part._parameters.values()):
                raise ValueError(
                    f"{name or type(part).__name__!r} cannot be drawn anew: give its class a "
                    "method reset_parameters(), or keep the weights"
                )
    return flat_weights(drawn, order)


def with_weights(module: nn.Module, order: list[str], vector: torch.Tensor) -> nn.Module:
    """Return a copy of a module, in its mode, with the parameters of these names set."""
    filled, _ = copied(module)
    own = [filled.get_parameter(name) for name in order]
    pieces = torch.split(vector.detach().cpu(), [p.numel() for p in own])
    with torch.no_grad():
        for parameter, piece in zip(own, pieces, strict=True):
            parameter.copy_(piece.view(parameter.shape))
    return filled.train(module.training)


def places_of(layer: nn.Module) -> dict[str, int]:
    """Say where the parameters to train are, and which of them it is: a tied one in all places.

    A part that is called twice is named once: torch would put its parameters back as it found them,
    at the second name those that it had put there at the first.
    """
    numbers = {id(p): number for number, p in enumerate(trained(layer).values())}
    return {
        f"{name}.{key}".lstrip("."): numbers[id(parameter)]
        for name, part in layer.named_modules()
        for key, parameter in part._parameters.items()
        if id(parameter) in numbers
    }


def digest(w: Array) -> bytes:
    """Return what tells two vectors apart."""
    return hashlib.blake2b(as_numpy(w).tobytes()).digest()
