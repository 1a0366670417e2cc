"""For how long other programs had the processor that a function could have used."""

from pathlib import Path

__all__ = ["is_idle", "starved_s"]

_COUNTED = Path("/proc/self/schedstat")
_IDLE = 0.1  # a computer may be so busy that a loop gets no more than a fifth of it


def is_idle(wall_s: float, worked_s: float) -> bool:
    """Tell whether a process has slept or waited for nearly all of the time."""
    return worked_s < _IDLE * wall_s


def starved_s() -> float:
    """Return for how long this process's main thread was ready to run, and had no processor.

    Returns
    -------
    float
        Seconds since it began, as Linux counts them. Other systems do not tell: 0.0 there, so that
        all of the time counts as the function's own.
    """
    try:
        return int(_COUNTED.read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
