"""Seconds and bytes as people read them."""

__all__ = ["format_time", "in_bytes", "in_seconds", "three_digits", "time_unit"]

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


def in_seconds(seconds: float | None) -> str:
    """Write seconds with three digits and their unit: "41.5 µs", "-1.5 s"; "–" for None.

    Parameters
    ----------
    seconds : float or None
        How long.

    Returns
    -------
    str
        The number with its unit.

    Examples
    --------
    >>> in_seconds(41.5e-6), in_seconds(0.9996), in_seconds(-1.5)
    ('41.5 µs', '1 s', '-1.5 s')
    """
    if seconds is None:
        return "–"
    if abs(seconds) >= 0.9995:  # three digits of less would be 1,000 of the next unit
        return f"{three_digits(seconds)} s"
    if abs(seconds) >= 0.9995e-3:
        return f"{three_digits(seconds * 1e3)} ms"
    return f"{three_digits(seconds * 1e6)} µs"


def in_bytes(n_bytes: float) -> str:
    """Write bytes with three digits and their unit; 1 KB is 1,000 bytes.

    Parameters
    ----------
    n_bytes : float
        How many.

    Returns
    -------
    str
        The number with its unit.

    Examples
    --------
    >>> in_bytes(88), in_bytes(16384), in_bytes(4_000_000)
    ('88 B', '16.4 KB', '4 MB')
    """
    value, unit = float(n_bytes), "B"
    for larger in ("KB", "MB", "GB"):
        if abs(value) < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{three_digits(value)} {unit}"


def three_digits(value: float) -> str:
    """Write a number with three digits; of a large one all before the point, in groups.

    So a column has one way of writing them: no exponent for what is large.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    str
        As people read it.

    Examples
    --------
    >>> [three_digits(value) for value in (0.4321, 47.924, 1338.2, 121_619.0)]
    ['0.432', '47.9', '1,338', '121,619']
    """
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"
