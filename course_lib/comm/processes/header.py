"""What stands in front of a message in a ring: plain numbers and text, never a pickle.

A header has a fixed part, then the shape, the dtype and the tag. Its length is a multiple of 64
bytes, so that the payload behind it is aligned for any number type.
"""

import struct
from typing import NamedTuple

from course_lib.comm.messages import Envelope, Tag

__all__ = ["ALIGNMENT", "LARGEST_HEADER", "Header", "aligned", "pack", "unpack"]

ALIGNMENT = 64
LARGEST_HEADER = 2048
_MAGIC = 0x434C4D31
_FIXED = struct.Struct("<IIqqdBBBBHH")
_KINDS = ("numpy", "torch")
_NO_TAG, _INT_TAG, _TEXT_TAG = range(3)


class Header(NamedTuple):
    """A header as the receiver reads it."""

    sent: Envelope
    number: int
    """Counts the messages of this ring from 1."""
    n_bytes: int
    waits: bool
    """Whether the sender waits until the receive is posted."""
    posted_s: float
    """When the sender put it into the ring, on the run's clock."""
    length: int
    """Of the header itself, in bytes."""


def aligned(n_bytes: int) -> int:
    """Round up to a multiple of ``ALIGNMENT``."""
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def pack(sent: Envelope, number: int, n_bytes: int, waits: bool, posted_s: float) -> bytes:
    """Write a header.

    Raises
    ------
    ValueError
        If tag and dtype are so long that no ring could hold them.
    """
    dtype = sent.dtype.encode()
    tag_kind, tag = _pack_tag(sent.tag)
    length = aligned(_FIXED.size + 8 * len(sent.shape) + len(dtype) + len(tag))
    if length > LARGEST_HEADER:
        raise ValueError(
            f"tag must be at most about 1,000 bytes long, got one of {len(tag):,} bytes; "
            "a tag is a label: send long data as an array"
        )
    fixed = _FIXED.pack(
        _MAGIC, length, number, n_bytes, posted_s, waits, _KINDS.index(sent.kind), tag_kind,
        len(sent.shape), len(dtype), len(tag),
    )  # fmt: skip
    shape = struct.pack(f"<{len(sent.shape)}q", *sent.shape)
    return (fixed + shape + dtype + tag).ljust(length, b"\0")


def unpack(data: bytes | memoryview) -> Header:
    """Read a header from the bytes at its place; ``data`` may be longer than it."""
    (magic, length, number, n_bytes, posted_s, waits, kind, tag_kind, n_dims, n_dtype, n_tag) = (
        _FIXED.unpack_from(data)
    )
    assert magic == _MAGIC, "a ring must hold a header where the last message ended"
    shape = struct.unpack_from(f"<{n_dims}q", data, _FIXED.size)
    start = _FIXED.size + 8 * n_dims
    dtype = bytes(data[start : start + n_dtype]).decode()
    tag = _unpack_tag(tag_kind, bytes(data[start + n_dtype : start + n_dtype + n_tag]))
    sent = Envelope(tag, dtype, shape, _KINDS[kind])
    return Header(sent, number, n_bytes, bool(waits), posted_s, length)


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
