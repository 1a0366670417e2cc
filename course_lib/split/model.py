"""A whole chain whose fully connected layers are split: in pairs, or unit by unit."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain, ChainLayer
from course_lib.models.fully_connected import FullyConnected
from course_lib.split.columns import Columns
from course_lib.split.rows import Rows
from course_lib.split.split_layer import SplitLayer, Whole
from course_lib.split.units import Units

__all__ = [
    "Divide",
    "check_grid",
    "check_split",
    "count_once",
    "join_model",
    "n_unsplit",
    "seat",
    "split_by_units",
    "split_in_pairs",
]

Divide = Callable[[Communicator, Chain], Chain]
"""``split_in_pairs``, or what is called like it: makes this rank's part of a chain."""


def split_in_pairs(comm: Communicator, model: Chain) -> Chain:
    """Split fully connected layers two by two: the first by columns, the second by rows.

    What the first leaves on a rank is what the second needs there. One that is left over is the
    last, and split by columns that are gathered. Layers before the fully connected ones stay whole.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    model : Chain
        The model; none of its parameters is drawn.

    Returns
    -------
    Chain
        This rank's part of it: a chain of ``SplitLayer``.

    Raises
    ------
    TypeError
        If ``model`` is no ``Chain``.
    ValueError
        If it has no fully connected layer at its end, or one has fewer units than there are ranks.

    Notes
    -----
    Cost of one step: for each pair an all-reduce of m x n_out numbers of its second layer forward,
    and one of m x n_in numbers of its first layer back, which the first layer of the model is
    spared.
    """
    layers = _fully_connected(model)
    fully: list[ChainLayer] = []
    for k in range(0, len(layers), 2):
        pair = layers[k : k + 2]
        if len(pair) == 1:
            fully.append(Columns(comm, pair[0], gathers=True))
        else:
            fully += [one := Columns(comm, pair[0]), Rows(comm, pair[1], one.cut)]
    return _chain(comm, model, fully)


def split_by_units(comm: Communicator, model: Chain, sums: bool = True) -> Chain:
    """Divide the units of every fully connected layer, as DistBelief drew it.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    model : Chain
        The model; none of its parameters is drawn.
    sums : bool, default: True
        Whether the slope in the inputs of the first of them is added up over the ranks. Who has put
        those inputs together may want to add it up otherwise.

    Returns
    -------
    Chain
        This rank's part of it: a chain of ``SplitLayer``.

    Raises
    ------
    TypeError
        If ``model`` is no ``Chain``.
    ValueError
        If it has no fully connected layer at its end, or one has fewer units than there are ranks.

    Notes
    -----
    Cost of one step: for each layer but the first of them, what ``Units`` costs; the last layer's
    outputs are gathered as well, forward only.
    """
    layers = _fully_connected(model)
    fully: list[ChainLayer] = []
    for k, layer in enumerate(layers):
        is_last = k == len(layers) - 1
        if k == 0:
            add_up = allreduce_ring if sums else _leave
            fully.append(Columns(comm, layer, gathers=is_last, allreduce=add_up))
        else:
            n_before = layers[k - 1].n_out
            fully.append(Units(comm, layer, n_before, gathers=is_last))
    return _chain(comm, model, fully)


def n_unsplit(model: Chain) -> int:
    """Count the layers before the fully connected ones at the end of a model.

    Parameters
    ----------
    model : Chain
        The model.

    Returns
    -------
    int
        0 for a multi-layer perceptron, 5 for AlexNet.

    Raises
    ------
    TypeError
        If ``model`` is no ``Chain``.
    ValueError
        If it has none at its end.
    """
    if not isinstance(model, Chain):
        raise TypeError(
            f"model must be a Chain, whose layers can be split, got {type(model).__name__}; "
            "deep_mlp(64, 32, 10) of course_lib.models.deep_mlp makes one"
        )
    kinds = [isinstance(part, FullyConnected) for part in model.parts]
    first = len(kinds) - kinds[::-1].index(False) if False in kinds else 0
    if first == len(kinds):
        raise ValueError(f"model must end with a fully connected layer, got {model.parts[-1].name}")
    return first


def join_model(model: Chain, shards: Sequence[NDArray[Any]], divide: Divide) -> NDArray[Any]:
    """Put the parameters of the whole model together from those of all ranks.

    Parameters
    ----------
    model : Chain
        The whole model.
    shards : sequence of numpy.ndarray
        The flat vector of each rank.
    divide : callable
        How it was split: ``split_in_pairs`` or ``split_by_units``.

    Returns
    -------
    numpy.ndarray, shape (n_parameters,)
        The flat vector of ``model``.
    """
    chains = [divide(seat(rank, len(shards)), model) for rank in range(len(shards))]
    return np.concatenate(
        [
            cast(SplitLayer, part).join(
                [w[chain.layers[k].part] for w, chain in zip(shards, chains, strict=True)]
            )
            for k, part in enumerate(chains[0].parts)
        ]
    )


def _leave(comm: Communicator, array: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """Take the place of an all-reduce: what this rank says of the inputs stays as it is."""
    del comm, array
    return out


def check_split(model: Chain, size: int, divide: Divide) -> None:
    """Refuse a model that cannot be split over so many ranks, before there are any.

    Parameters
    ----------
    model : Chain
        The whole model.
    size : int
        How many ranks there would be.
    divide : callable
        How it would be split.

    Raises
    ------
    TypeError, ValueError
        As ``divide`` raises.
    """
    divide(seat(0, size), model)


def check_grid(model: Chain, size: int, splits: int) -> None:
    """Refuse a grid that so many ranks do not fill, or a model that cannot be divided over a row.

    Parameters
    ----------
    model : Chain
        What is to be trained.
    size : int
        The number of ranks.
    splits : int
        That of a row.

    Raises
    ------
    TypeError, ValueError
        Saying which, and what was given.
    """
    if isinstance(splits, bool) or not isinstance(splits, int):
        raise TypeError(f"splits must be an int, got {splits!r} ({type(splits).__name__})")
    if splits < 1 or size % splits:
        raise ValueError(
            f"splits must divide the number of ranks, so that replicas x splits = {size}; "
            f"got {splits}"
        )
    check_split(model, splits, split_by_units)


def seat(rank: int, size: int) -> Communicator:
    """Return what is enough of a communicator to make a rank's part of a model, wherever one is.

    Parameters
    ----------
    rank, size : int
        Whose part, of how many.

    Returns
    -------
    Communicator
        For ``split_by_units`` and ``split_in_pairs``; nothing can be computed with what they make.
    """
    return cast(Communicator, _Seat(rank, size))


def count_once(chain: Chain, w: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers that a rank counts, so that over the ranks each of the model counts once.

    For sums over a whole model, as the norm of a gradient: some parameters are on every rank.

    Parameters
    ----------
    chain : Chain
        This rank's part of a model.
    w : numpy.ndarray, shape (n_parameters,)
        Its parameters, or their gradient.

    Returns
    -------
    numpy.ndarray
        A part of it, the first rank's all of it.
    """
    parts = zip(chain.parts, chain.layers, strict=True)
    return np.concatenate([cast(SplitLayer, part).once(w[layer.part]) for part, layer in parts])


class _Seat(NamedTuple):
    """All that a split layer asks of its communicator before it computes."""

    rank: int
    size: int


def _fully_connected(model: Chain) -> list[FullyConnected]:
    first = n_unsplit(model)
    return [cast(FullyConnected, part) for part in model.parts[first:]]


def _chain(comm: Communicator, model: Chain, fully: Sequence[ChainLayer]) -> Chain:
    before = [Whole(comm, part) for part in model.parts[: n_unsplit(model)]]
    return Chain([*before, *fully], model.shapes[0], model.dtype.name)
