"""Arrays of every dtype and layout, made from a short description, and what is seen of one.

The elements are small whole numbers, so that a sum is exact in whatever order it is taken; ``odd``
arrays hold in between what a copy must not touch: infinities, a negative zero, a NaN of many bits.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

__all__ = [
    "FLOATS", "NUMPY_DTYPES", "NUMPY_LAYOUTS", "TORCH_DTYPES", "TORCH_LAYOUTS", "Array", "make",
    "observe", "plain_values", "spoil",
]  # fmt: skip

NUMPY_DTYPES = (
    "u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "?",
    ">f8", ">i4", ">u2", "<U3", "S2", "M8[s]", "m8[ms]",
)  # fmt: skip
TORCH_DTYPES = ("u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "?")
FLOATS = ("f2", "f4", "f8", ">f8")

NUMPY_LAYOUTS = ("C", "F", "strided", "negative", "broadcast", "readonly", "unaligned", "scalar")
TORCH_LAYOUTS = ("C", "transposed", "strided", "expanded", "requires_grad", "offset")


@dataclass(frozen=True)
class Array:
    """What an array is like; every rank can make it, the receiver to know what must come.

    Attributes
    ----------
    dtype : str
        As NumPy writes it.
    shape : tuple of int
        Its shape.
    layout : str
        How its elements lie in memory: one of ``NUMPY_LAYOUTS`` or ``TORCH_LAYOUTS``.
    torch : bool
        Whether it is a tensor.
    odd : bool
        Whether it holds what arithmetic would change.
    salt : int
        Arrays of other salts have other elements.
    """

    dtype: str = "f8"
    shape: tuple[int, ...] = (1,)
    layout: str = "C"
    torch: bool = False
    odd: bool = False
    salt: int = 0

    @property
    def n_bytes(self) -> int:
        """Count the bytes of its elements."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


def plain_values(array: Array, rank: int = 0) -> np.ndarray:
    """Return the elements that ``array`` has on a rank, in a plain array in C order."""
    n = math.prod(array.shape)
    numbers = (np.arange(n, dtype="i8") * 7 + 3 * array.salt + 5 * rank) % 11
    if array.layout in ("broadcast", "expanded") and array.shape:
        row = n // array.shape[0] if array.shape[0] else 0
        numbers = np.tile(numbers[:row], array.shape[0])
    kind = np.dtype(array.dtype).kind
    if kind == "b":
        values = numbers % 2 == 1
    elif kind == "c":
        values = (numbers + 1j * (numbers[::-1] % 5)).astype(array.dtype)
    elif kind in "mM":
        values = numbers.astype("i8").astype(array.dtype)
    else:
        values = numbers.astype(array.dtype)
    if array.odd and kind == "f" and n >= 4 and array.layout not in ("broadcast", "expanded"):
        values[1:4] = [np.inf, -0.0, np.nan]
    return values.reshape(array.shape)


def make(array: Array, rank: int = 0) -> Any:
    """Make the array that a rank has."""
    values = plain_values(array, rank)
    if array.torch:
        return _tensor(values, array.layout)
    return _laid_out(values, array.layout)


def _laid_out(values: np.ndarray, layout: str) -> Any:
    if layout == "scalar" and values.shape == () and _keeps_dtype(values):
        return values[()]
    if layout == "F":
        return np.array(values, order="F")
    if layout == "readonly":
        values.flags.writeable = False
        return values
    if layout == "unaligned":
        memory = np.zeros(values.nbytes + 1, "u1")[1:]
        array = memory.view(values.dtype) if values.nbytes else np.zeros(0, values.dtype)
        array[:] = values.reshape(-1)
        return array.reshape(values.shape)
    if not values.shape:
        return values
    if layout == "strided":
        wide = np.zeros((2 * values.shape[0], *values.shape[1:]), values.dtype)
        wide[::2] = values
        return wide[::2]
    if layout == "negative":
        return values[::-1].copy()[::-1]
    if layout == "broadcast" and values.shape[0]:
        return np.broadcast_to(values[:1], values.shape)
    return values


def _keeps_dtype(values: np.ndarray) -> bool:
    """Say whether a NumPy scalar keeps it: it forgets the order of bytes, and a string's length."""
    return values.dtype.isnative and values.dtype.kind not in "SU"


def _tensor(values: np.ndarray, layout: str) -> Any:
    with torch.device("cpu"):  # whatever the mode is
        tensor = torch.from_numpy(values.copy())
    if layout == "requires_grad" and values.dtype.kind in "fc":
        return tensor.requires_grad_()
    if not values.shape:
        return tensor
    if layout == "transposed":
        order = tuple(range(tensor.ndim))[::-1]
        return tensor.permute(order).contiguous().permute(order)
    if layout == "strided":
        return torch.from_numpy(np.repeat(values, 2, axis=0))[::2]
    if layout == "expanded" and values.shape[0]:
        return tensor[:1].expand(tensor.shape)
    if layout == "offset":
        wide = torch.from_numpy(np.concatenate([values[:1], values]))
        return wide[min(1, values.shape[0]) :]
    return tensor


def spoil(array: Any) -> None:
    """Change what has been sent, and may now be changed, where that is possible."""
    if isinstance(array, np.ndarray) and array.flags.writeable:
        array[...] = np.zeros((), array.dtype)


def observe(value: Any) -> tuple[Any, ...]:
    """Describe a received array completely: its type, dtype, shape and the bits of its elements."""
    if isinstance(value, np.ndarray | np.generic):
        writable = bool(getattr(value, "flags", value).writeable)
        return ("numpy", value.dtype.str, value.shape, _digest(np.asarray(value)), writable)
    if value is None:
        return ("nothing",)
    numbers = value.detach().resolve_conj().resolve_neg().cpu().numpy()
    about = (str(value.device), bool(value.requires_grad), bool(value.is_inference()))
    return ("torch", numbers.dtype.str, numbers.shape, _digest(numbers), *about)


def _digest(array: np.ndarray) -> str:
    data = np.ascontiguousarray(array)
    if data.nbytes <= 16:
        return data.tobytes().hex()
    return hashlib.blake2b(data.tobytes(), digest_size=8).hexdigest()
