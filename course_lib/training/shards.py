"""Who keeps which part: cut evenly, or whole layers by size or by the hash of their names."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import array_api_compat

from course_lib.models.model import Array, Layer

__all__ = [
    "Shard",
    "length",
    "pack",
    "shards_by_name",
    "shards_by_size",
    "shards_evenly",
    "split_evenly",
    "unpack",
]

Shard = list[slice]
"""The parts of the flat parameter vector that one server keeps, in their order."""


def split_evenly(n_items: int, n_parts: int) -> list[slice]:
    """Cut ``n_items`` items into ``n_parts`` contiguous slices whose sizes differ by at most one.

    Rows of a data set and chunks of a message are both cut this way. Parts may be empty when there
    are fewer items than parts; no item is lost and none is in two parts.

    Parameters
    ----------
    n_items : int
        How many items there are, 0 or more.
    n_parts : int
        How many parts to make, 1 or more.

    Returns
    -------
    list of slice
        ``n_parts`` slices in order, covering ``0 .. n_items`` exactly once.

    Raises
    ------
    ValueError
        If ``n_items`` is negative or ``n_parts`` is below 1.

    Examples
    --------
    >>> split_evenly(10, 4)
    [slice(0, 2, None), slice(2, 5, None), slice(5, 7, None), slice(7, 10, None)]
    """
    if n_items < 0:
        raise ValueError(f"n_items must be 0 or more, got {n_items}")
    if n_parts < 1:
        raise ValueError(f"n_parts must be 1 or more, got {n_parts}")
    return list(_cut(n_items, n_parts))


@lru_cache(maxsize=1024)  # a training loop cuts the same vector again and again
def _cut(n_items: int, n_parts: int) -> tuple[slice, ...]:
    bounds = [part * n_items // n_parts for part in range(n_parts + 1)]
    return tuple(slice(start, stop) for start, stop in pairwise(bounds))


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
    shards: list[Shard] = [[] for _ in range(n_shards)]
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
    shards: list[Shard] = [[] for _ in range(n_shards)]
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
    xp = array_api_compat.array_namespace(vector)
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
