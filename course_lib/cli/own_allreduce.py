"""An all-reduce of one's own for ``bench`` and ``train``: loaded, called, tried before a run."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives.arguments import copy_into
from course_lib.comm.communicator import Array, Communicator
from course_lib.comm.errors import RunError, UnreceivedMessagesWarning
from course_lib.comm.launch import run
from course_lib.console.own_file import load_function, name_of
from course_lib.measure.allreduce import weight

__all__ = ["OwnAllreduce", "load_allreduce", "try_allreduce"]

_OPTION = "--allreduce"
_TRIED_S = 60.0
_AT_LEAST = 8  # numbers for each rank
_AT_MOST = 2**16  # numbers


@dataclass(frozen=True)
class OwnAllreduce:
    """A function that is called as the library's all-reduces are.

    Attributes
    ----------
    text : str
        What ``--allreduce`` was given.
    fn : callable
        ``fn(comm, array)``, perhaps with ``out``.
    takes_out : bool
        Whether it has an ``out``. If not, what it returns is copied.
    """

    text: str
    fn: Callable[..., Any]
    takes_out: bool

    @property
    def __name__(self) -> str:
        """The function's own."""
        return self.text.rpartition(":")[2]

    @property
    def kept(self) -> str:
        """What a checkpoint keeps of it: the names, without folders."""
        return name_of(_OPTION, self.text, modules=True)

    def __call__(
        self, comm: Communicator, array: Array, op: str = "sum", out: Array | None = None
    ) -> Array:
        """Give every rank the sum, in ``out`` where that is given; nobody asks for another op."""
        assert op == "sum"
        if self.takes_out:
            found: Array = self.fn(comm, array, out=out)
            return found
        found = self.fn(comm, array)
        if out is None:
            return found
        _check_kind(comm.rank, found, out, "returns")
        return copy_into(found, out)


def load_allreduce(text: str) -> OwnAllreduce:
    """Load the function that ``--allreduce`` names.

    Parameters
    ----------
    text : str
        ``FILE.py:FUNCTION`` or ``MODULE:FUNCTION``.

    Returns
    -------
    OwnAllreduce
        To be called with a communicator and an array.

    Raises
    ------
    ValueError
        If there is none, its file cannot be run, or it cannot be called so.
    """
    fn = load_function(_OPTION, text, modules=True)
    name = text.rpartition(":")[2]
    try:
        signature = inspect.signature(fn)
        signature.bind("comm", "array")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{_OPTION} {text}: it must be a function {name}(comm, array), which may have more "
            f"arguments if they have defaults; calling it so: {error}"
        ) from None
    return OwnAllreduce(text, fn, "out" in signature.parameters)


class _WrongSumError(Exception):
    """What an all-reduce returned is not what it should be."""


def try_allreduce(
    own: OwnAllreduce, lengths: Iterable[int], dtype: Any, workers: int,
    time_limit_s: float = _TRIED_S,
) -> None:  # fmt: skip
    """Let an all-reduce add up numbers on the simulator, before a training relies on it.

    Parameters
    ----------
    own : OwnAllreduce
        Which.
    lengths : iterable of int
        How long the arrays of the training are. Those of more than 65,536 numbers are tried with as
        many, and with what is left over where each rank takes the same number.
    dtype : numpy.dtype
        Of their elements.
    workers : int
        How many ranks.
    time_limit_s : float, default: 60
        How long it may take, a minute at most.

    Raises
    ------
    ValueError
        If it fails, or ranks have no sum, or another, or sums that differ in a bit: saying what was
        expected and found.
    """
    most = workers * max(_AT_LEAST, _AT_MOST // workers)
    tried = sorted({n if n < most else most + n % workers for n in lengths if n})
    begin = f"{_OPTION} {own.text}, tried on {workers} simulated rank{'s' * (workers > 1)}: "
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnreceivedMessagesWarning)  # told below
            result = run(
                _sums_of_fractions, own, tried, np.dtype(dtype), workers=workers,
                backend="simulated", time_limit_s=min(time_limit_s, _TRIED_S),
            )  # fmt: skip
    except RunError as error:
        original = getattr(error, "original", None)
        why = original if isinstance(original, _WrongSumError) else error
        raise ValueError(f"{begin}{why}") from None
    if left := result.trace.unreceived():
        raise ValueError(f"{begin}rank {left[0].dst} never receives what rank {left[0].src} sends")
    for rank, bits in enumerate(result.values):
        if bits != result.values[0]:
            raise ValueError(
                f"{begin}the sums of ranks 0 and {rank} differ in their last bits, for they add up "
                "in another order: from step to step their models would drift apart"
            )


def _sums_of_fractions(
    comm: Communicator, own: OwnAllreduce, lengths: Sequence[int], dtype: Any
) -> bytes:
    """Check sums of whole numbers, which are exact; return the bits of those of fractions."""
    bits = b""
    for length in lengths:
        numbers = np.resize(np.arange(1, 98, dtype=dtype), length)  # prime, so that a shift shows
        mine = numbers * weight(comm.rank)
        expected = numbers * sum(map(weight, range(comm.size)))
        array = mine.copy()
        _check(comm.rank, own(comm, array), expected, "returns")
        if not np.array_equal(array, mine):
            raise _WrongSumError(
                f"rank {comm.rank} has changed its array of {length}, which only out=array allows"
            )
        others = np.asarray(98, dtype) - numbers  # or what it remembers would do
        array = others * weight(comm.rank)
        own(comm, array, out=array)
        expected = others * sum(map(weight, range(comm.size)))
        _check(comm.rank, array, expected, "has with out=array")
        bits += np.asarray(own(comm, np.sqrt(mine))).tobytes()
    return bits


def _check(rank: int, found: Any, expected: NDArray[Any], how: str) -> None:
    _check_kind(rank, found, expected, how)
    if not np.array_equal(found, expected):
        place = int(np.flatnonzero(np.asarray(found) != expected)[0])
        raise _WrongSumError(
            f"in place {place} of {len(expected)} rank {rank} {how} {found[place]:g}, "
            f"expected {expected[place]:g}"
        )


def _check_kind(rank: int, found: Any, expected: Any, how: str) -> None:
    """Raise if it is no array, or one of another shape or dtype."""
    shape, dtype = tuple(expected.shape), expected.dtype
    if not hasattr(found, "shape") or not hasattr(found, "dtype"):
        told = type(found).__name__
    elif tuple(found.shape) != shape or found.dtype != dtype:
        told = f"one of shape {tuple(found.shape)} and dtype {found.dtype}"
    else:
        return
    raise _WrongSumError(
        f"rank {rank} {how} {told}, expected an array of shape {shape} and dtype {dtype}"
    )
