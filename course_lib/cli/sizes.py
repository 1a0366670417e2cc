"""Sizes as people write them: "64KB", "1MiB", "4096"."""

import re

__all__ = ["read_size"]

_UNITS = {
    "": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30,
}  # fmt: skip


def read_size(text: str, multiple_of: int = 1) -> int:
    """Read a number of bytes.

    Parameters
    ----------
    text : str
        A whole number, with or without a unit, in any case; KB is 1,000 bytes and KiB 1,024.
    multiple_of : int, default: 1
        The bytes of an element.

    Returns
    -------
    int
        Bytes, above 0.

    Raises
    ------
    ValueError
        If it is no such number.

    Examples
    --------
    >>> read_size("64KB"), read_size("1 MiB"), read_size("4096")
    (64000, 1048576, 4096)
    """
    found = re.fullmatch(r"(\d+)\s*([KMG]?I?B|)", text.strip().upper())
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"sizes are written like 4096, 64KB, 1MB or 1MiB, got {text!r}")
    n_bytes = int(found[1]) * _UNITS[found[2]]
    if n_bytes < 1 or n_bytes % multiple_of:
        raise ValueError(f"sizes must be multiples of {multiple_of} bytes, got {text!r}")
    return n_bytes
