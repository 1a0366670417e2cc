"""Seconds and bytes as people read them."""

__all__ = ["format_bytes", "format_time", "time_unit"]

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def time_unit(end_s: float) -> tuple[float, str]:
    """Choose the unit in which times up to ``end_s`` are easy to read.

    Parameters
    ----------
    end_s : float
        The longest time that will be shown, in seconds.

    Returns
    -------
    seconds : float
        How many seconds the unit has.
    name : {"s", "ms", "µs"}
        What it is called.
    """
    for seconds, name in _UNITS:
        if end_s >= seconds:
            return seconds, name
    return _UNITS[-1]


def format_time(time_s: float, unit_s: float, unit: str) -> str:
    """Write a time in a given unit, with two decimals.

    Parameters
    ----------
    time_s : float
        The time, in seconds.
    unit_s : float
        How many seconds the unit has.
    unit : str
        What it is called.

    Returns
    -------
    str
        The time with its unit.
    """
    return f"{time_s / unit_s:.2f} {unit}"


def format_bytes(n_bytes: int) -> str:
    """Write a number of bytes with at most three digits; 1 KB is 1,000 B.

    Parameters
    ----------
    n_bytes : int
        How many bytes.

    Returns
    -------
    str
        The number with its unit.

    Examples
    --------
    >>> format_bytes(88), format_bytes(16384), format_bytes(4_000_000)
    ('88 B', '16.4 KB', '4 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} B"
    value = float(n_bytes)
    for unit in ("KB", "MB", "GB"):
        value /= 1000
        # 999.5 would be written with four digits, so it goes to the next unit.
        if value < 999.5 or unit == "GB":
            break
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value:,.0f} {unit}"
