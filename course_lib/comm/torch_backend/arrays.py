"""Tensors as messages: those NumPy does not know, and those that lie on a GPU.

A tensor on the CPU travels as the NumPy array that shares its memory. NumPy has no bfloat16, so
such numbers travel as elements of two plain bytes, dtype ``"|V2"``, which nothing else does. A
tensor on a GPU stays a tensor, with a NumPy description.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from course_lib.comm import buffers, messages
from course_lib.comm.messages import OPS, Array
from course_lib.comm.processes.memory import unexpected
from course_lib.comm.tensors import plain_tensor
from course_lib.comm.torch_backend.plain import plainly

__all__ = [
    "BFLOAT16", "Data", "OnDevice", "check_out", "empty", "flat_bytes", "overlap", "store",
    "to_data", "wrap",
]  # fmt: skip

BFLOAT16 = np.dtype("V2")
_TORCH_OPS: dict[str, Callable[..., Any]] = {
    "sum": torch.add,
    "max": torch.maximum,
    "min": torch.minimum,
}


class OnDevice:
    """A tensor that NumPy cannot see, described as NumPy would.

    Parameters
    ----------
    tensor : torch.Tensor
        On a GPU.

    Attributes
    ----------
    dtype, shape, nbytes
        As of an array.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.dtype = to_data(torch.empty(0, dtype=tensor.dtype))[0].dtype
        self.shape = tuple(tensor.shape)
        self.nbytes = tensor.nbytes


Data: TypeAlias = NDArray[Any] | OnDevice


def to_data(array: Array, argument: str = "array") -> tuple[Any, str]:
    """Describe a message's array; see ``messages.to_numpy``, which does it for most."""
    if isinstance(array, torch.Tensor):
        if array.device.type not in ("cpu", "meta"):
            return OnDevice(plain_tensor(array, argument)), "device"
        if array.dtype is torch.bfloat16:
            bits = plain_tensor(array, argument).view(torch.int16)
            return bits.numpy().view(BFLOAT16), "torch"
    return messages.to_numpy(array, argument)


def check_out(out: Any, op: Any) -> Any:
    """Return what to receive into, or say why that cannot be; see ``buffers.check_out``."""
    return buffers.check_out(out, op, to_data)


def wrap(data: Data, kind: str, device: str) -> Array:
    """Return ``data`` as what the sender handed over; what lay on a GPU lies on ``device`` then."""
    if isinstance(data, OnDevice):
        return data.tensor
    if kind == "numpy":
        return data
    return _tensor(data) if kind == "torch" else _tensor(data).to(device)


def overlap(out: Data, data: Data) -> bool:
    """Tell whether two may share memory."""
    if isinstance(out, np.ndarray) and isinstance(data, np.ndarray):
        return np.may_share_memory(out, data)
    if isinstance(out, OnDevice) and isinstance(data, OnDevice):
        (start, end), (from_, to) = _span(out.tensor), _span(data.tensor)
        return start < to and from_ < end
    return False


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    n_elements = 1 + sum((length - 1) * stride for length, stride in steps) if tensor.numel() else 0
    return tensor.data_ptr(), tensor.data_ptr() + n_elements * tensor.element_size()


def empty(dtype: str, shape: tuple[int, ...], device: str) -> OnDevice:
    """Make room on a GPU for a message."""
    kind = _tensor(np.empty(0, dtype)).dtype
    return OnDevice(torch.empty(shape, dtype=kind, device=device))


@plainly
def flat_bytes(data: Data) -> torch.Tensor:
    """View an array as bytes where its elements lie in one run, else copy it."""
    if isinstance(data, OnDevice):
        return data.tensor.contiguous().flatten().view(torch.uint8)
    contiguous = np.ascontiguousarray(data)
    if not contiguous.flags.writeable:  # torch would warn, though nobody writes
        contiguous = contiguous.copy()
    return torch.from_numpy(unexpected.flat_bytes(contiguous))


@plainly
def store(out: Data, op: str | None, message: Data) -> None:
    """Put a message into ``out``, or combine it with what is there."""
    if isinstance(out, OnDevice) or isinstance(message, OnDevice) or out.dtype == BFLOAT16:
        into = _tensor(out)
        incoming = _tensor(message).to(into.device)
        if op is None:
            into.copy_(incoming)
        else:
            _TORCH_OPS[op](into, incoming, out=into)
    elif op is None:
        out[...] = message
    else:
        OPS[op](out, message, out=out)


def _tensor(data: Data) -> torch.Tensor:
    if isinstance(data, OnDevice):
        return data.tensor
    if data.dtype == BFLOAT16:
        return torch.from_numpy(data.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(data)
