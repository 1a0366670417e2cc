"""What ranks write to each other: one short packet for everything, a small message's data in it.

A packet has a fixed part and, for a message, what ``processes`` puts in front of one too: its
dtype, shape and tag, as plain numbers and text.
"""

import struct
from typing import NamedTuple

from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.messages import Envelope
from course_lib.comm.processes.memory.header import LARGEST_HEADER, describe, understand

__all__ = ["LONGEST", "Packet", "PacketKind", "note", "pack", "unpack"]

_FIXED = struct.Struct("<BBHiqQQQ")
LONGEST = _FIXED.size + LARGEST_HEADER + EAGER_BYTES
"""Bytes of the longest packet."""

_WAITS, _ON_DEVICE = 1, 2


class PacketKind:
    """What a packet is about."""

    MESSAGE = 0
    """There is a message; the packet holds it, or its sender waits until it is asked for it."""
    ACCEPT = 1
    """The message ``number`` is being received: send it."""
    FINISHED = 2
    """The last one: the sender has returned, and writes no more."""
    FAILED = 3
    """The sender has failed; the packet holds how."""
    RETURNED = 4
    """Its function has returned; under torchrun it still reports that."""
    ASKED = 5
    """The sender has waited long for a function, and wants to know when it has returned."""
    OVER = 6
    """It has; the packet holds its name, and that of the one that would have had to start it."""


class Packet(NamedTuple):
    """A packet as the receiver reads it."""

    kind: int
    src: int
    number: int
    """Of the message, among those of the rank that sends it."""
    channel: int
    """Which communicator it belongs to."""
    n_bytes: int
    waits: bool
    """Whether the data comes later, when it has been asked for."""
    on_device: bool
    """Whether it comes from one GPU to another."""
    stamp: int
    """The collective it belongs to; see ``course_lib.comm.collective_order``."""
    sent: Envelope | None
    data: bytes = b""
    """All of a message that does not wait."""


def pack(packet: Packet) -> bytearray:
    """Write a packet; one that announces a message says what that is (``sent``)."""
    kind, src, number, channel, n_bytes, waits, on_device, stamp, sent, data = packet
    description = b"" if sent is None else describe(sent)
    flags = waits * _WAITS + on_device * _ON_DEVICE
    fixed = _FIXED.pack(kind, flags, len(description), src, number, channel, n_bytes, stamp)
    return bytearray(b"".join((fixed, description, data)))


def note(kind: int, src: int, number: int = 0, data: bytes = b"") -> bytearray:
    """Write a packet that announces nothing."""
    return bytearray(_FIXED.pack(kind, 0, 0, src, number, 0, len(data), 0) + data)


def unpack(view: memoryview) -> Packet:
    """Read a packet."""
    kind, flags, n_description, src, number, channel, n_bytes, stamp = _FIXED.unpack_from(view)
    start = _FIXED.size + n_description
    sent = understand(bytes(view[_FIXED.size : start]))[0] if n_description else None
    waits = bool(flags & _WAITS)
    data = b"" if waits else bytes(view[start : start + n_bytes])
    return Packet(
        kind, src, number, channel, n_bytes, waits, bool(flags & _ON_DEVICE), stamp, sent, data
    )  # fmt: skip
