"""Schemes that send less: what the command line and checkpoints have to know of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.compression import Compressor, PowerSGD, Sign, TopK
from course_lib.models.model import Array, Model
from course_lib.schemes.compressed import compressed as by_compressor
from course_lib.schemes.gossip import check_graph as check_neighbours
from course_lib.train.states import State
from course_lib.training import Optimizer, Plan, Training

__all__ = [
    "COMPRESSORS",
    "check_compressor",
    "check_graph",
    "check_outer",
    "compressed",
    "mean_model",
    "of_first",
]

COMPRESSORS = ("topk", "sign", "powersgd")
"""What ``--compressor`` may be."""


def compressed(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, *,
    compressor: str, k: int = 1, rank: int = 1, optimizer: Optimizer,
) -> Training:  # fmt: skip
    """Train with one of ``COMPRESSORS``."""
    chosen = _compressor(compressor, k, rank)
    return by_compressor(comm, model, X, y, plan, chosen, optimizer=optimizer)


def check_compressor(
    model: Model, workers: int, compressor: str, **numbers: int | None
) -> dict[str, Any]:
    """Find a k that is left out; refuse one that is too large, and a rank that no matrix can have.

    Parameters
    ----------
    model : Model
        What is trained.
    workers : int
        How many ranks.
    compressor : str
        One of ``COMPRESSORS``.
    **numbers : int or None
        What it takes, by name.

    Returns
    -------
    dict
        The options by name.

    Raises
    ------
    ValueError
        Beginning with the option.
    """
    del workers
    usual = {"k": max(1, model.n_parameters // 100)}
    found = {name: usual[name] if n is None else n for name, n in numbers.items()}
    try:
        _compressor(compressor, **found).check(model)
    except ValueError as error:  # it begins with the name of the number
        raise ValueError(f"--{error}") from None
    return {"compressor": compressor, **found}


def check_graph(model: Model, workers: int, graph: str) -> dict[str, Any]:
    """Refuse a hypercube that the workers do not fill.

    Parameters
    ----------
    model : Model
        What is trained.
    workers : int
        How many ranks.
    graph : str
        Who is whose neighbour.

    Returns
    -------
    dict
        The options by name.

    Raises
    ------
    ValueError
        Beginning with the option.
    """
    del model
    try:
        check_neighbours(graph, workers)
    except ValueError as error:
        raise ValueError(f"--{error}") from None
    return {"graph": graph}


def mean_model(states: Sequence[Sequence[State]], **_: Any) -> Array:
    """Return the mean of the models that the ranks' first optimizers step."""
    return np.mean([own[0].w for own in states], axis=0)


def of_first(states: Sequence[Sequence[State]], **_: Any) -> Array:
    """Return the model of the first rank, which the others have, too: they keep more than that."""
    return states[0][0].w


def _compressor(name: str, k: int = 1, rank: int = 1) -> Compressor:
    known: dict[str, Compressor] = {"topk": TopK(k), "sign": Sign(), "powersgd": PowerSGD(rank)}
    return known[name]


def check_outer(
    model: Model, workers: int, outer_rate: float, outer_momentum: float, **others: Any
) -> dict[str, Any]:
    """Refuse outer steps that lead nowhere, or away.

    Parameters
    ----------
    model : Model
        What is trained.
    workers : int
        How many ranks.
    outer_rate, outer_momentum : float
        Of ``diloco``.
    **others : Any
        Its other options.

    Returns
    -------
    dict
        The options by name.

    Raises
    ------
    ValueError
        Beginning with the option.
    """
    del model, workers
    if outer_rate <= 0:
        raise ValueError(f"--outer-rate must be above 0, got {outer_rate:g}")
    if not 0 <= outer_momentum < 1:
        raise ValueError(f"--outer-momentum must be 0 or more and below 1, got {outer_momentum:g}")
    return {**others, "outer_rate": outer_rate, "outer_momentum": outer_momentum}
