"""What may travel in a message, and how both sides of it are compared.

Every world uses these functions, so that a wrong dtype or shape gives the same sentence everywhere.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.errors import MessageMismatchError
from course_lib.comm.tensors import is_tensor, seen_by_numpy
from course_lib.words.plain import check_plain
from course_lib.words.whole import as_int

__all__ = [
    "ALLOWED_KINDS",
    "COMBINED_KINDS",
    "MOST_TAG_BYTES",
    "OPS",
    "Array",
    "Envelope",
    "Tag",
    "check_carried",
    "check_match",
    "check_op",
    "check_peer",
    "check_tag",
    "envelope",
    "mismatch_of",
    "no_array",
    "on",
    "to_numpy",
    "unknown_op",
    "wrap_like",
]

Array: TypeAlias = Any
"""A NumPy array or a torch tensor."""

Tag: TypeAlias = int | str | None
"""A label that travels with a message."""

OPS: dict[str, Callable[..., Any]] = {"sum": np.add, "max": np.maximum, "min": np.minimum}
"""How a message may be combined into ``out`` while it arrives."""

MOST_TAG_BYTES = 1_000
"""How long a tag may be, as UTF-8 if it is a text; a header has room for no more."""

ALLOWED_KINDS = "biufcmMSU"
"""What may travel, in NumPy's letters for kinds of dtypes."""

COMBINED_KINDS = {"sum": "iufcmV", "max": "biufmMV", "min": "biufmMV"}
"""What may be combined on arrival, and how; "V" is the bfloat16 of torch, which NumPy has not."""

_OTHERWISE = {
    "b": "that would be a logical or; to count, convert the array to int64 first (op='max' is the "
    "logical or, op='min' the logical and)",
    "c": "complex numbers have no order",
    "M": "a sum of dates is no date",
}


class Envelope(NamedTuple):
    """What a message says about itself."""

    tag: Tag
    dtype: str
    shape: tuple[int, ...]
    kind: str
    """What the sender handed over, and so what the receiver gets: ``"numpy"``, ``"torch"``, or
    ``"device"`` for a tensor on a GPU, where messages can carry one."""


@lru_cache(maxsize=4096)  # most messages of a run are described alike
def envelope(tag: Tag, dtype: "np.dtype[Any]", shape: tuple[int, ...], kind: str) -> Envelope:
    """Return what a message with such an array says about itself."""
    return Envelope(tag, dtype.str, shape, kind)


def check_peer(argument: str, peer: Any, rank: int, size: int) -> int:
    """Return ``peer`` as an int, or say why it is not another rank of this run."""
    if type(peer) is int and 0 <= peer < size and peer != rank:
        return peer
    number = as_int(peer)
    if number is None:
        raise TypeError(
            f"{argument} must be a rank, an int from 0 to {size - 1}, "
            f"got {peer!r} of type {type(peer).__name__} (on rank {rank})"
        )
    if not 0 <= number < size:
        raise ValueError(
            f"{argument} must be a rank from 0 to {size - 1}, got {number} (on rank {rank})"
        )
    if number == rank:
        raise ValueError(
            f"{argument} must be another rank, got {number}, which is this rank itself: "
            "a rank keeps its own data in a variable instead of sending it to itself"
        )
    return number


def check_tag(tag: Any) -> Tag:
    """Return ``tag``, or say what a tag may be."""
    if tag is None or (type(tag) is int and tag.bit_length() < 64):
        return tag
    if isinstance(tag, str):
        tag = str(tag)
        n_bytes = len(tag) if len(tag) < MOST_TAG_BYTES // 4 else len(_encoded(tag))
    else:
        given, tag = tag, as_int(tag)
        if tag is None:
            raise TypeError(
                f"tag must be None, an int or a str, got {given!r} ({type(given).__name__})"
            )
        n_bytes = tag.bit_length() // 8 + 1
    if n_bytes > MOST_TAG_BYTES:
        raise ValueError(
            f"tag must be at most {MOST_TAG_BYTES:,} bytes long, got one of {n_bytes:,} bytes; "
            "a tag is a label: send long data as an array"
        )
    checked: Tag = tag
    return checked


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def check_op(op: str, kind: str, dtype: Any) -> None:
    """Refuse an operation that there is not, or that the elements lack, before anything is sent.

    Parameters
    ----------
    op : {"sum", "max", "min"}
        How two elements become one.
    kind : str
        One letter for what they are, as NumPy's dtypes have.
    dtype : numpy or torch dtype
        Their dtype, for the error.

    Raises
    ------
    ValueError
        If there is no such operation.
    TypeError
        If such elements cannot be combined so; it names both.
    """
    if op not in OPS:
        raise unknown_op(op)
    if kind in COMBINED_KINDS[op]:
        return
    raise TypeError(
        f"op={op!r} cannot combine arrays of dtype {str(dtype).removeprefix('torch.')}: "
        + _OTHERWISE.get(kind, "only numbers and times can be combined")
    )


def unknown_op(op: Any, besides: str = "") -> ValueError:
    """Return the error for an operation that there is not; ``besides`` is what else is allowed."""
    advice = ": divide the sum by comm.size" if op in ("mean", "avg") else ""
    return ValueError(f"op must be one of {', '.join(map(repr, OPS))}{besides}, got {op!r}{advice}")


def to_numpy(array: Any, argument: str = "array") -> tuple[NDArray[Any], str]:
    """View a message's array as a plain NumPy array.

    Parameters
    ----------
    array : numpy.ndarray or numpy scalar or torch.Tensor on the CPU
        What the caller wants to send, or the buffer it wants to receive into.
    argument : str, default: "array"
        The name to use in an error.

    Returns
    -------
    data : numpy.ndarray
        A base-class array that shares the memory of ``array``.
    kind : {"numpy", "torch"}
        What ``array`` was.

    Raises
    ------
    TypeError
        If it is no array, or its dtype cannot travel as plain bytes.
    """
    kind = "numpy"
    if type(array) is not np.ndarray:
        if is_tensor(array):
            array, kind = seen_by_numpy(array, argument), "torch"
        elif isinstance(array, np.ma.MaskedArray):
            check_plain(array, argument)
        elif isinstance(array, np.ndarray | np.generic):
            array = np.asarray(array)
        else:
            raise no_array(array, argument)
    if array.dtype.kind not in ALLOWED_KINDS:
        raise TypeError(
            f"{argument} has dtype {array.dtype}, which cannot travel as plain bytes; allowed are "
            "bool, int, uint, float, complex, datetime64, timedelta64 and fixed-length strings"
        )
    if not array.dtype.itemsize:
        raise TypeError(
            f"{argument} has dtype {array.dtype}, strings of length 0, which NumPy does not keep "
            f"when it makes an array; send {argument}.astype({array.dtype.kind + '1'!r})"
        )
    return array, kind


def check_carried(array: Any, argument: str = "array") -> None:
    """Refuse what no message could carry; of tensors, each world has its own to say.

    Raises
    ------
    TypeError
        As ``to_numpy`` says it.
    """
    if not is_tensor(array):
        to_numpy(array, argument)


def no_array(value: Any, argument: str = "array") -> TypeError:
    """Say that something else stands where an array belongs, and what makes one of it."""
    is_sparse = hasattr(value, "toarray")  # of which np.asarray makes a single Python object
    way_out = f"{argument}.toarray()" if is_sparse else f"np.asarray({argument})"
    return TypeError(
        f"{argument} must be a NumPy array or a torch tensor, got {type(value).__name__}; "
        f"{way_out} makes one"
    )


def wrap_like(data: NDArray[Any], kind: str) -> Array:
    """Return ``data`` as what the sender handed over: a NumPy array or a torch tensor."""
    if kind == "torch":
        import torch  # loaded already: the sender's argument was a tensor

        return torch.from_numpy(data)
    return data


def check_match(
    sent: Envelope, src: int, rank: int, tag: Tag, out: NDArray[Any] | None, comm: str = "world"
) -> None:
    """Raise what ``mismatch_of`` returns, if that is an error."""
    error = mismatch_of(sent, src, rank, tag, out, comm)
    if error is None:
        return
    try:
        raise error
    finally:
        del error  # else it and this frame would hold each other


def mismatch_of(
    sent: Envelope, src: int, rank: int, tag: Tag, out: NDArray[Any] | None, comm: str = "world"
) -> MessageMismatchError | None:
    """Compare what ``src`` sent with what ``rank`` is ready to take, on the communicator ``comm``.

    Returns
    -------
    MessageMismatchError or None
        Naming both sides, when the tag, the dtype or the shape differ.
    """
    if tag is not None and tag != sent.tag:
        return MessageMismatchError(
            f"the tags do not match{on(comm)}: rank {src} sent {_describe(sent)} with "
            f"tag={sent.tag!r}, rank {rank} receives with tag={tag!r}; messages between two ranks "
            "arrive in the order they were sent, and a tag never reorders them",
            rank=rank,
        )
    if out is not None and (out.dtype.str != sent.dtype or out.shape != sent.shape):
        return MessageMismatchError(
            f"the arrays do not match{on(comm)}: rank {src} sent {_describe(sent)} "
            f"(tag={sent.tag!r}), rank {rank} receives into out of dtype {_name(out.dtype)} and "
            f"shape {out.shape}",
            rank=rank,
        )
    return None


def _describe(sent: Envelope) -> str:
    return f"dtype {_name(np.dtype(sent.dtype))} and shape {sent.shape}"


def _name(dtype: "np.dtype[Any]") -> str:
    # NumPy has no bfloat16; where such numbers may travel, it is as elements of two plain bytes.
    return "bfloat16" if dtype.str == "|V2" else str(dtype)


def on(comm: str) -> str:
    """Write on which communicator something is, if not on the whole run's."""
    return "" if comm == "world" else f" on {comm!r}"
