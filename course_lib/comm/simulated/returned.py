"""What simulated ranks return, as it would arrive from a process.

Apart from ``shipping``, which workers load before they have limited NumPy to one thread.
"""

from typing import Any

import numpy as np

from course_lib.comm.shipping import load_value, pack_value

__all__ = ["travelled"]

_PLAIN = frozenset((bool, int, float, complex, str, bytes))


def travelled(value: Any, rank: int) -> Any:
    """Return what a rank returned as it arrives where it has to travel: a copy.

    Raises
    ------
    SerializationError
        If it cannot travel.
    """
    if value is None or type(value) in _PLAIN:
        return value
    if type(value) is np.ndarray and not value.dtype.hasobject:
        return value.copy(order="K")
    return load_value(pack_value(value, rank), rank)
