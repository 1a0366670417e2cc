"""Torch tensors as messages: which ones NumPy can see, and what is said of the others."""

from sys import modules
from typing import Any

from numpy.typing import NDArray

__all__ = ["is_tensor", "overwritten", "plain_tensor", "seen_by_numpy"]


def is_tensor(value: Any) -> bool:
    """Tell whether a value is a torch tensor, without loading torch: who has one has loaded it."""
    torch: Any = modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def overwritten(tensor: Any) -> None:
    """Have autograd know that a message is put into a tensor, as it knows of torch's operations.

    Going back through what was computed from the old numbers is an error then. Without this, the
    gradient would be one of the old graph with the new numbers, without a word.
    """
    modules["torch"].autograd.graph.increment_version(tensor)


def plain_tensor(tensor: Any, argument: str) -> Any:
    """Return a tensor without its graph, as numbers that lie in memory one by one.

    That is mostly the tensor itself, or shares its memory. A view that is conjugated or negated
    only when it is read (``x.conj()``) is written out, which cannot be done to ``out``.

    Raises
    ------
    TypeError
        If it is sparse, nested, quantized, or has no memory; it says what makes a plain one.
    """
    problem, way_out = _problem(tensor, argument)
    if problem:
        raise TypeError(f"{argument} is {problem}, not a plain array of numbers; {way_out}")
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        if argument == "out":
            raise TypeError(
                "out is a view that is conjugated or negated when it is read, and cannot be "
                "written number by number; pass a plain tensor, and conjugate what has arrived"
            )
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor


def _problem(tensor: Any, argument: str) -> tuple[str, str]:
    if hasattr(tensor, "get_mask"):
        return "a masked tensor, whose mask would be lost", f"{argument}.to_tensor(value) is one"
    if tensor.is_nested:
        return "a nested tensor", f"take its parts one by one: for part in {argument}.unbind(): ..."
    if tensor.layout is not modules["torch"].strided:
        layout = str(tensor.layout).removeprefix("torch.")
        kind = "sparse " if layout.startswith("sparse") else ""
        return f"a {kind}tensor of layout {layout}", f"{argument}.to_dense() is one"
    if tensor.is_quantized:
        return "a quantized tensor", f"{argument}.dequantize() is one"
    if tensor.device.type == "meta":
        return "a tensor on device meta, which has a shape and no numbers", "make it on the CPU"
    return "", ""


def seen_by_numpy(tensor: Any, argument: str) -> NDArray[Any]:
    """View a tensor on the CPU as the NumPy array that shares its memory.

    Raises
    ------
    TypeError
        If there is none; it says why, and what can be sent.
    """
    if hasattr(tensor, "get_mask"):  # which would be lost
        plain_tensor(tensor, argument)
    try:
        array: NDArray[Any] = tensor.detach().numpy()
    except (TypeError, RuntimeError):
        return _explained(plain_tensor(tensor, argument), argument)
    return array


def _explained(tensor: Any, argument: str) -> NDArray[Any]:
    """View a tensor after all, now that it is plain, or say why NumPy cannot."""
    if tensor.device.type != "cpu":
        raise TypeError(
            f"{argument} lies on device {tensor.device}; this backend moves CPU memory: "
            f"send {argument}.cpu()"
        )
    try:
        array: NDArray[Any] = tensor.numpy()
    except (TypeError, RuntimeError) as error:
        if "ScalarType" not in str(error):
            raise TypeError(
                f"{argument} is a {type(tensor).__name__} that NumPy cannot see ({error}); "
                "a plain tensor can be sent"
            ) from error
        kind = "to(torch.complex64)" if tensor.is_complex() else "float()"
        raise TypeError(
            f"{argument} has torch dtype {tensor.dtype}, which NumPy does not know; "
            f"send {argument}.{kind}"
        ) from error
    return array
