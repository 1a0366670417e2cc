"""What may stand in a note on the trace: plain values, as JSON knows them."""

from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Return a note's value as numbers, texts and lists, or say what a note may hold."""
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "detach"):
        return np.asarray(value).tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"a note's value must be a number, a text, an array or lists of them, got {type(value)}"
    )
