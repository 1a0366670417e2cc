"""What may travel in a message, and how both sides of it are compared.

Every world uses these functions, so that a wrong dtype or shape gives the same sentence everywhere.
"""

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.errors import MessageMismatchError

__all__ = [
    "OPS",
    "Array",
    "Envelope",
    "Tag",
    "check_match",
    "check_out",
    "check_peer",
    "check_tag",
    "envelope",
    "no_array",
    "to_numpy",
    "wrap_like",
]

Array: TypeAlias = Any
"""A NumPy array or a torch tensor."""

Tag: TypeAlias = int | str | None
"""A label that travels with a message."""

OPS: dict[str, Callable[..., Any]] = {"add": np.add, "max": np.maximum, "min": np.minimum}
"""How a message may be combined into ``out`` while it arrives."""

_ALLOWED_KINDS = "biufcmMSU"


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
    if isinstance(peer, bool | np.bool_) or not hasattr(peer, "__index__"):
        raise TypeError(
            f"{argument} must be a rank, an int from 0 to {size - 1}, "
            f"got {peer!r} of type {type(peer).__name__} (on rank {rank})"
        )
    peer = operator.index(peer)
    if not 0 <= peer < size:
        raise ValueError(
            f"{argument} must be a rank from 0 to {size - 1}, got {peer} (on rank {rank})"
        )
    if peer == rank:
        raise ValueError(
            f"{argument} must be another rank, got {peer}, which is this rank itself: "
            "a rank keeps its own data in a variable instead of sending it to itself"
        )
    return int(peer)


def check_tag(tag: Any) -> Tag:
    """Return ``tag``, or say what a tag may be."""
    if tag is None or type(tag) is int or isinstance(tag, str):
        return tag
    if isinstance(tag, bool) or not hasattr(tag, "__index__"):
        raise TypeError(f"tag must be None, an int or a str, got {tag!r} ({type(tag).__name__})")
    return operator.index(tag)


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
        if type(array).__module__.split(".")[0] == "torch" and hasattr(array, "detach"):
            array, kind = _torch_to_numpy(array, argument), "torch"
        elif isinstance(array, np.ma.MaskedArray):
            raise TypeError(
                f"{argument} must be a plain array, got a masked array, whose mask would be lost; "
                "send array.filled(value), or the mask as a message of its own"
            )
        elif isinstance(array, np.ndarray | np.generic):
            array = np.asarray(array)
        else:
            raise no_array(array, argument)
    if array.dtype.kind not in _ALLOWED_KINDS:
        raise TypeError(
            f"{argument} has dtype {array.dtype}, which cannot travel as plain bytes; allowed are "
            "bool, int, uint, float, complex, datetime64, timedelta64 and fixed-length strings"
        )
    return array, kind


def no_array(value: Any, argument: str = "array") -> TypeError:
    """Say that something else stands where an array belongs, and what makes one of it."""
    return TypeError(
        f"{argument} must be a NumPy array or a torch tensor, got {type(value).__name__}; "
        f"np.asarray({argument}) makes one"
    )


def _torch_to_numpy(tensor: Any, argument: str) -> NDArray[Any]:
    if tensor.device.type != "cpu":
        raise TypeError(
            f"{argument} lies on device {tensor.device}; this backend moves CPU memory: "
            f"send {argument}.cpu()"
        )
    try:
        array: NDArray[Any] = tensor.detach().numpy()
    except TypeError as error:
        raise TypeError(
            f"{argument} has torch dtype {tensor.dtype}, which NumPy does not know; "
            f"send {argument}.float()"
        ) from error
    return array


def wrap_like(data: NDArray[Any], kind: str) -> Array:
    """Return ``data`` as what the sender handed over: a NumPy array or a torch tensor."""
    if kind == "torch":
        import torch  # loaded already: the sender's argument was a tensor

        return torch.from_numpy(data)
    return data


def check_out(out: Any, op: Any) -> NDArray[Any] | None:
    """Return ``out`` as a writable NumPy array (or None), or say why it cannot be received into."""
    if op is not None and op not in OPS:
        raise ValueError(f"op must be one of {', '.join(map(repr, OPS))} or None, got {op!r}")
    if out is None:
        if op is not None:
            raise ValueError(f"op={op!r} combines a message into out, but out was not given")
        return None
    data, _ = to_numpy(out, "out")
    if not data.flags.writeable:
        raise ValueError("out must be writable, got a read-only array; pass out=array.copy()")
    return data


def check_match(
    sent: Envelope, src: int, rank: int, tag: Tag, out: NDArray[Any] | None, comm: str = "world"
) -> None:
    """Compare what ``src`` sent with what ``rank`` is ready to take, on the communicator ``comm``.

    Raises
    ------
    MessageMismatchError
        Naming both sides, when the tag, the dtype or the shape differ.
    """
    if tag is not None and tag != sent.tag:
        raise MessageMismatchError(
            f"the tags do not match{_on(comm)}: rank {src} sent {_describe(sent)} with "
            f"tag={sent.tag!r}, rank {rank} receives with tag={tag!r}; messages between two ranks "
            "arrive in the order they were sent, and a tag never reorders them",
            rank=rank,
        )
    if out is not None and (out.dtype.str != sent.dtype or out.shape != sent.shape):
        raise MessageMismatchError(
            f"the arrays do not match{_on(comm)}: rank {src} sent {_describe(sent)} "
            f"(tag={sent.tag!r}), rank {rank} receives into out of dtype {_name(out.dtype)} and "
            f"shape {out.shape}",
            rank=rank,
        )


def _describe(sent: Envelope) -> str:
    return f"dtype {_name(np.dtype(sent.dtype))} and shape {sent.shape}"


def _name(dtype: "np.dtype[Any]") -> str:
    # NumPy has no bfloat16; where such numbers may travel, it is as elements of two plain bytes.
    return "bfloat16" if dtype.str == "|V2" else str(dtype)


def _on(comm: str) -> str:
    return "" if comm == "world" else f" on {comm!r}"
