"""What of a link's bits is left for a program that sends by TCP over Ethernet."""

__all__ = ["ACKNOWLEDGED", "FRAMING_BYTES", "payload_bytes_per_s", "tcp_share"]

_PAYLOAD_BYTES = 1500 - 20 - 20 - 12
"""Of a packet of 1,500 bytes; the rest are the headers of IP and TCP, and TCP's time stamps."""
_HEADER_BYTES = 14
"""The addresses and the type of an Ethernet frame; the kernel counts them."""
FRAMING_BYTES = 24
"""Of a frame on the wire, too, but nothing that the kernel counts: 8 bytes before it, 4 of checksum
behind it, and a gap of 12. ``tc`` is told to add them."""
_ACK_BYTES = 20 + 20 + 12 + _HEADER_BYTES + FRAMING_BYTES
ACKNOWLEDGED = 2
"""TCP's receiver acknowledges every second packet of a stream."""


def tcp_share(both_ways: bool = False) -> float:
    """Return which part of a link's bits are a program's.

    Parameters
    ----------
    both_ways : bool, default: False
        Whether as much comes back: then acknowledgements of that take room, too.

    Returns
    -------
    float
        Below 1.

    Examples
    --------
    >>> round(tcp_share(), 4), round(tcp_share(both_ways=True), 4)
    (0.9415, 0.9148)
    """
    packet = 1500 + _HEADER_BYTES + FRAMING_BYTES
    beside = _ACK_BYTES / ACKNOWLEDGED if both_ways else 0.0
    return _PAYLOAD_BYTES / (packet + beside)


def payload_bytes_per_s(rate_mbit: float, both_ways: bool = False) -> float:
    """Return what a program can send over a link, in bytes a second.

    Parameters
    ----------
    rate_mbit : float
        The link's rate, in millions of bits a second.
    both_ways : bool, default: False
        Whether as much comes back.

    Returns
    -------
    float
        11.77 million for Fast Ethernet's 100 Mbit/s.
    """
    return tcp_share(both_ways) * rate_mbit * 1e6 / 8
