"""What stands in front of a message in a ring: plain numbers and text, never a pickle.

A header has a fixed part and a description (dtype, shape, tag), each padded to a multiple of 64
bytes, so that the payload behind them is aligned for any number type. Most messages of a run are
described alike, so descriptions are kept.
"""

import struct
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from course_lib.comm.messages import Envelope, Tag

__all__ = [
    "ALIGNMENT",
    "FIXED",
    "FIXED_PART",
    "LARGEST_HEADER",
    "MAGIC",
    "WAITS",
    "Header",
    "aligned",
    "describe",
    "pack_into",
    "understand",
    "unpack",
]

ALIGNMENT = 64
LARGEST_HEADER = 2048
FIXED = 64
"""Bytes of the fixed part."""

MAGIC = 0x434C4D32
FIXED_PART = struct.Struct("<IHHIQqqdQ")
"""Magic number, length of the description, flags, flow, channel, number, bytes, time, stamp."""
_DESCRIPTION = struct.Struct("<BBHHH")
_KINDS = ("numpy", "torch", "device")
_NO_TAG, _INT_TAG, _TEXT_TAG = range(3)
WAITS, _BESIDE = 1, 2


class Header(NamedTuple):
    """The fixed part of a header, as the receiver reads it."""

    n_description: int
    waits: bool
    """Whether the sender waits until the receive is posted."""
    beside: bool
    """Whether the sender has several flows, so that another may want to use the ring meanwhile."""
    flow: int
    """Which flow of the sender waits."""
    channel: int
    """Which communicator the message belongs to."""
    number: int
    """Counts the messages of the sending rank."""
    n_bytes: int
    posted_s: float
    """When the sender put it into the ring, on the run's clock."""
    stamp: int
    """The collective it belongs to; see ``course_lib.comm.collective_order``."""


def aligned(n_bytes: int) -> int:
    """Round up to a multiple of ``ALIGNMENT``."""
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def pack_into(ring: memoryview, start: int, header: Header) -> None:
    """Write the fixed part at its place in a ring, where it never crosses the ring's end."""
    n_description, waits, beside, flow, *rest = header
    flags = waits * WAITS + beside * _BESIDE
    FIXED_PART.pack_into(ring, start, MAGIC, n_description, flags, flow, *rest)


def unpack(ring: memoryview, start: int) -> Header:
    """Read the fixed part at its place in a ring."""
    magic, n_description, flags, flow, *rest = FIXED_PART.unpack_from(ring, start)
    assert magic == MAGIC, "a ring must hold a header where the last message ended"
    return Header(n_description, bool(flags & WAITS), bool(flags & _BESIDE), flow, *rest)


@lru_cache(maxsize=4096)
def describe(sent: Envelope) -> bytes:
    """Write the description of a message."""
    dtype = sent.dtype.encode()
    tag_kind, tag = _pack_tag(sent.tag)
    n_dims = len(sent.shape)
    n_bytes = _DESCRIPTION.size + 8 * n_dims + len(dtype) + len(tag)
    assert FIXED + aligned(n_bytes) <= LARGEST_HEADER, "a tag is short: check_tag has seen to it"
    first = _DESCRIPTION.pack(_KINDS.index(sent.kind), tag_kind, n_dims, len(dtype), len(tag))
    return first + struct.pack(f"<{n_dims}q", *sent.shape) + dtype + tag


@lru_cache(maxsize=4096)
def understand(description: bytes) -> tuple[Envelope, "np.dtype[Any]"]:
    """Read what ``describe`` wrote; return with it the dtype that it names."""
    kind, tag_kind, n_dims, n_dtype, n_tag = _DESCRIPTION.unpack_from(description)
    shape = struct.unpack_from(f"<{n_dims}q", description, _DESCRIPTION.size)
    start = _DESCRIPTION.size + 8 * n_dims
    dtype = description[start : start + n_dtype].decode()
    tag = _unpack_tag(tag_kind, description[start + n_dtype : start + n_dtype + n_tag])
    return Envelope(tag, dtype, shape, _KINDS[kind]), np.dtype(dtype)


def _pack_tag(tag: Tag) -> tuple[int, bytes]:
    if tag is None:
        return _NO_TAG, b""
    if isinstance(tag, str):
        return _TEXT_TAG, tag.encode("utf-8", "surrogatepass")
    return _INT_TAG, tag.to_bytes(tag.bit_length() // 8 + 1, "little", signed=True)


def _unpack_tag(kind: int, data: bytes) -> Tag:
    if kind == _NO_TAG:
        return None
    if kind == _TEXT_TAG:
        return data.decode("utf-8", "surrogatepass")
    return int.from_bytes(data, "little", signed=True)
