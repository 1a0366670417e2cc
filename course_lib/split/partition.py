"""Where in the whole parameter vector the parts of a split model lie, and which server is near."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from course_lib.models.chain import Chain
from course_lib.split.model import n_unsplit, seat, split_by_units
from course_lib.split.split_layer import SplitLayer
from course_lib.training.shards import Shard, places
from course_lib.training.whole_shards import check_shards
from course_lib.words.split import split_evenly
from course_lib.words.whole import whole

__all__ = ["overlap", "parts_by_units", "pieces_of", "shards_by_partition"]


def parts_by_units(model: Chain, n_parts: int) -> list[Shard]:
    """Say which parameters each rank has of a model that ``split_by_units`` splits.

    Parameters
    ----------
    model : Chain
        The whole model, of fully connected layers alone.
    n_parts : int
        Over how many ranks it is split.

    Returns
    -------
    list of list of slice
        For each rank its parts of the whole vector, in the order in which they follow one another
        in its own; every parameter is in one of them.

    Raises
    ------
    TypeError
        If ``model`` is no ``Chain``.
    ValueError
        If a layer is not fully connected, or has fewer units than there are ranks.

    Examples
    --------
    >>> from course_lib.models.deep_mlp import deep_mlp
    >>> parts_by_units(deep_mlp(3, 2), 2)  # the weights of one unit, and its bias
    [[slice(0, 3, None), slice(6, 7, None)], [slice(3, 6, None), slice(7, 8, None)]]
    """
    whole("n_parts", n_parts, least=1)
    if n_unsplit(model):
        raise ValueError(
            "model must have fully connected layers alone, so that every parameter is on one rank; "
            f"got {model.parts[0].name} first"
        )
    chains = [split_by_units(seat(rank, n_parts), model) for rank in range(n_parts)]
    return [
        [
            slice(layer.part.start + int(run[0]), layer.part.start + int(run[-1]) + 1)
            for layer, part in zip(model.layers, chain.parts, strict=True)
            for run in _runs(cast(SplitLayer, part).share(np.arange(layer.n_parameters)))
        ]
        for chain in chains
    ]


def shards_by_partition(model: Chain, n_parts: int, n_shards: int) -> list[Shard]:
    """Cut the vector so that a shard's parameters are those of as few ranks as can be.

    With as many shards as parts, each shard is one part: whoever computes with it needs no other.
    With more, the shards of a part are even; with fewer, a shard has several parts.

    Parameters
    ----------
    model : Chain
        The whole model, of fully connected layers alone.
    n_parts : int
        Over how many ranks it is split.
    n_shards : int
        How many shards.

    Returns
    -------
    list of list of slice
        The parts of each shard.

    Raises
    ------
    TypeError, ValueError
        As ``parts_by_units`` raises.

    Examples
    --------
    >>> from course_lib.models.deep_mlp import deep_mlp
    >>> shards_by_partition(deep_mlp(3, 2), 2, 1)
    [[slice(0, 3, None), slice(6, 7, None), slice(3, 6, None), slice(7, 8, None)]]
    """
    parts = parts_by_units(model, n_parts)
    if whole("n_shards", n_shards, least=1) < n_parts:
        groups = split_evenly(n_parts, n_shards)
        return [[cut for part in parts[group] for cut in part] for group in groups]
    return [
        _cut_out(part, cut)
        for part, servers in zip(parts, split_evenly(n_shards, n_parts), strict=True)
        for cut in split_evenly(places(part)[-1].stop, servers.stop - servers.start)
    ]


def overlap(held: Shard, kept: Shard) -> Shard:
    """Say where in ``pack(w, held)`` those parameters lie that are in another shard as well.

    Parameters
    ----------
    held, kept : list of slice
        Two selections of parts of one vector ``w``.

    Returns
    -------
    list of slice
        In the order of ``held``, and inside each of its parts in that of ``kept``.

    Examples
    --------
    >>> overlap(held=[slice(0, 4), slice(8, 10)], kept=[slice(2, 9)])
    [slice(2, 4, None), slice(4, 5, None)]
    """
    return [
        slice(start - part.start + place.start, stop - part.start + place.start)
        for part, place in zip(held, places(held), strict=True)
        for other in kept
        if (start := max(part.start, other.start)) < (stop := min(part.stop, other.stop))
    ]


def pieces_of(size: int, model: Chain, splits: int, shards: Sequence[Shard]) -> list[list[Shard]]:
    """Say which piece of each part of a model each server keeps; refuse what cannot be done.

    Parameters
    ----------
    size : int
        The number of ranks: the servers, and replicas of ``splits`` ranks each.
    model : Chain
        The whole model, of fully connected layers alone.
    splits : int
        Over how many ranks a replica is split.
    shards : sequence of list of slice
        What each server keeps of the whole vector.

    Returns
    -------
    list of list of list of slice
        By part, then by server: where in the vector of that part the piece lies, perhaps nowhere.

    Raises
    ------
    TypeError, ValueError
        If the ranks are no such grid, the model cannot be split, or the shards do not keep every
        parameter once.
    """
    parts = parts_by_units(model, whole("splits", splits, least=1))
    check_shards(shards, model.n_parameters, size)
    n_workers = size - len(shards)
    if n_workers % splits:
        raise ValueError(
            f"splits must divide the {n_workers} ranks beside {len(shards)} servers, so that "
            f"replicas x splits + servers = {size}; got {splits}"
        )
    return [[overlap(part, shard) for shard in shards] for part in parts]


def _cut_out(shard: Shard, cut: slice) -> Shard:
    """Return the parts of a shard that ``pack`` puts into one stretch."""
    return [
        slice(start - place.start + part.start, stop - place.start + part.start)
        for part, place in zip(shard, places(shard), strict=True)
        if (start := max(place.start, cut.start)) < (stop := min(place.stop, cut.stop))
    ]


def _runs(numbers: NDArray[Any]) -> list[NDArray[Any]]:
    """Cut numbers where the next is not one more."""
    return np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
