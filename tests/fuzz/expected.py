"""What a step must give, where that takes more than a line: groups, receives that do not fit."""

from typing import Any

import numpy as np

from tests.fuzz import program as p
from tests.fuzz.arrays import plain_values

__all__ = ["place_in_group", "wrong_receive"]


def place_in_group(step: p.Split, rank: int, size: int) -> tuple[int, int]:
    """Return which rank it is in its group, and how many there are."""
    colors, keys = step.colors, step.keys
    mine = colors[rank % len(colors)]
    others = [each for each in range(size) if colors[each % len(colors)] == mine]
    others.sort(key=lambda each: (keys[each % len(keys)], each))
    return others.index(rank), len(others)


def wrong_receive(step: p.Refused) -> dict[str, Any]:
    """Return arguments of a ``recv`` that do not fit what is sent."""
    values = plain_values(step.array)
    if step.wrong == "tag":
        return {"tag": 2}
    if step.wrong == "dtype":
        return {"out": np.zeros(values.shape, "i8" if values.dtype != np.dtype("i8") else "f8")}
    if step.wrong == "shape":
        return {"out": np.zeros((*values.shape, 2), values.dtype)}
    return {"out": np.zeros(values.shape, values.dtype), "op": "max"}
