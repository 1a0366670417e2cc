"""Arrays to receive into, in every layout that ``out`` may have."""

import math
from typing import Any

import numpy as np
import torch

__all__ = ["OUT_LAYOUTS", "empty_like", "filled"]

OUT_LAYOUTS = ("C", "F", "strided", "negative", "unaligned", "torch", "torch strided")


def empty_like(values: np.ndarray, layout: str) -> Any:
    """Return an array of the shape and dtype of ``values``, filled with ones of a kind."""
    return filled(np.ones(values.shape, "i1").astype(values.dtype), layout)


def filled(values: np.ndarray, layout: str) -> Any:
    """Return a writable copy of ``values`` in a layout."""
    if layout.startswith("torch"):
        tensor = torch.from_numpy(np.array(values, order="C"))
        if layout == "torch strided" and values.ndim:
            wide = torch.zeros(
                (2 * values.shape[0], *values.shape[1:]), dtype=tensor.dtype, device="cpu"
            )
            wide[::2] = tensor
            return wide[::2]
        return tensor
    if layout == "F":
        return np.array(values, order="F")
    if layout == "unaligned":
        memory = np.zeros(values.nbytes + 1, "u1")[1:]
        array = np.ndarray(values.shape, values.dtype, memory if math.prod(values.shape) else None)
        array[...] = values
        return array
    if layout in ("strided", "negative") and values.ndim:
        step = 2 if layout == "strided" else -2
        wide = np.zeros((2 * values.shape[0], *values.shape[1:]), values.dtype)
        wide[::step] = values
        return wide[::step]
    return np.array(values, order="C")
