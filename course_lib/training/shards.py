"""Who keeps which part: cut evenly, or whole layers by size or by the hash of their names."""

import zlib
from collections.abc import Sequence
from itertools import accumulate, pairwise

from course_lib.models.model import Array, Layer
from course_lib.words.namespace import namespace
from course_lib.words.split import split_evenly
from course_lib.words.whole import whole

__all__ = [
    "Shard",
    "dealer",
    "length",
    "pack",
    "places",
    "shards_by_layer",
    "shards_by_name",
    "shards_by_size",
    "shards_evenly",
    "split_evenly",
    "unpack",
]

Shard = list[slice]
"""The parts of the flat parameter vector that one server keeps, in their order."""


def shards_by_name(layers: Sequence[Layer], n_shards: int) -> list[Shard]:
    """Give every layer to the shard that its name's hash says.

    Nobody has to keep a table, and a layer stays where it is when others come and go. But layers
    differ in size: one shard may get nearly everything, and others nothing.

    Parameters
    ----------
    layers : sequence of Layer
        A model's layers.
    n_shards : int
        How many shards, 1 or more.

    Returns
    -------
    list of list of slice
        The parts of each shard.

    Examples
    --------
    >>> layers = [Layer("fc1", slice(0, 6)), Layer("fc2", slice(6, 8))]
    >>> sorted(part.stop for shard in shards_by_name(layers, 3) for part in shard)
    [6, 8]
    """
    shards: list[Shard] = [[] for _ in range(whole("n_shards", n_shards, least=1))]
    for layer in layers:
        shards[zlib.crc32(layer.name.encode()) % n_shards].append(layer.part)
    return shards


def shards_by_size(layers: Sequence[Layer], n_shards: int) -> list[Shard]:
    """Give layers, the largest first, to the shard that has least so far.

    Whole layers again, but nobody hashes: a table says who keeps what. The fullest shard gets at
    most 4/3 of what the best table of all would give it, and never less than the largest layer.

    Parameters
    ----------
    layers : sequence of Layer
        A model's layers.
    n_shards : int
        How many shards, 1 or more.

    Returns
    -------
    list of list of slice
        The parts of each shard.

    References
    ----------
    R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied
    Mathematics 17(2), 1969.

    Examples
    --------
    >>> layers = [Layer("a", slice(0, 3)), Layer("b", slice(3, 9)), Layer("c", slice(9, 13))]
    >>> shards_by_size(layers, 2)
    [[slice(3, 9, None)], [slice(9, 13, None), slice(0, 3, None)]]
    """
    shards: list[Shard] = [[] for _ in range(whole("n_shards", n_shards, least=1))]
    loads = [0] * n_shards
    for layer in sorted(layers, key=lambda layer: -layer.n_parameters):
        least = loads.index(min(loads))
        shards[least].append(layer.part)
        loads[least] += layer.n_parameters
    return shards


def shards_evenly(n_parameters: int, n_shards: int) -> list[Shard]:
    """Cut the vector into shards whose lengths differ by one at most, wherever layers end.

    Parameters
    ----------
    n_parameters : int
        The length of the vector.
    n_shards : int
        How many shards, 1 or more.

    Returns
    -------
    list of list of slice
        One part for each shard.

    Examples
    --------
    >>> shards_evenly(10, 3)
    [[slice(0, 3, None)], [slice(3, 6, None)], [slice(6, 10, None)]]
    """
    return [[part] for part in split_evenly(n_parameters, n_shards)]


def shards_by_layer(layers: Sequence[Layer], n_shards: int) -> list[Shard]:
    """Cut every layer into as many parts as there are shards, and give each shard one of each.

    So a layer can be put together, and its gradient be summed and partitioned, without the others.

    Parameters
    ----------
    layers : sequence of Layer
        A model's layers.
    n_shards : int
        How many shards, 1 or more.

    Returns
    -------
    list of list of slice
        For each shard a part of each layer; of a layer they differ by one in length at most.

    Examples
    --------
    >>> layers = [Layer("fc1", slice(0, 6)), Layer("fc2", slice(6, 8))]
    >>> shards_by_layer(layers, 2)
    [[slice(0, 3, None), slice(6, 7, None)], [slice(3, 6, None), slice(7, 8, None)]]
    """
    cuts = [
        [
            slice(layer.part.start + part.start, layer.part.start + part.stop)
            for part in split_evenly(layer.n_parameters, n_shards)
        ]
        for layer in layers
    ]
    return [[cut[number] for cut in cuts] for number in range(n_shards)]


def places(shard: Shard) -> list[slice]:
    """Say where each part of a shard lies in what ``pack`` returns.

    Parameters
    ----------
    shard : list of slice
        Its parts.

    Returns
    -------
    list of slice
        As long, one after another, from 0 on.

    Examples
    --------
    >>> places([slice(3, 6), slice(7, 8)])
    [slice(0, 3, None), slice(3, 4, None)]
    """
    ends = accumulate((part.stop - part.start for part in shard), initial=0)
    return [slice(start, stop) for start, stop in pairwise(ends)]


def dealer(shards: Sequence[Shard]) -> int:
    """Name the server that tells replicas what to compute: the first that has a shard.

    Parameters
    ----------
    shards : sequence of list of slice
        What each server keeps, from rank 0 on.

    Returns
    -------
    int
        Its rank.

    Examples
    --------
    >>> dealer([[], [slice(0, 3)]])
    1
    """
    return next(rank for rank, shard in enumerate(shards) if shard)


def length(shard: Shard) -> int:
    """Count the parameters of a shard.

    Parameters
    ----------
    shard : list of slice
        Its parts.

    Returns
    -------
    int
        How many numbers its server keeps.

    Examples
    --------
    >>> length([slice(0, 3), slice(10, 14)])
    7
    """
    return sum(part.stop - part.start for part in shard)


def pack(vector: Array, shard: Shard) -> Array:
    """Copy a shard's parts out of the vector, one after another.

    Parameters
    ----------
    vector : array, shape (n_parameters,)
        The whole.
    shard : list of slice
        The parts.

    Returns
    -------
    array, shape (length of the shard,)
        A new array.
    """
    xp = namespace(vector)
    return xp.concat([vector[part] for part in shard] or [vector[:0]])


def unpack(packed: Array, shard: Shard, vector: Array) -> None:
    """Put what ``pack`` returned back where it came from.

    Parameters
    ----------
    packed : array, shape (length of the shard,)
        The parts, one after another.
    shard : list of slice
        Where they belong.
    vector : array, shape (n_parameters,)
        The whole; it is modified.
    """
    start = 0
    for part in shard:
        stop = start + part.stop - part.start
        vector[part] = packed[start:stop]
        start = stop
