"""What torch or Python keep for a thread or a process: ways to change it, and ways to see it."""

import contextlib
import io
import random
import sys
import warnings
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch

__all__ = ["GENERATORS", "OF_THE_PROCESS", "OF_THE_THREAD", "draw", "enter", "probe", "seed"]

OF_THE_THREAD = (
    "no_grad", "inference_mode", "autocast", "device meta", "saved_tensors_hooks", "errstate",
)  # fmt: skip
OF_THE_PROCESS = ("default_dtype", "ignore warnings", "redirect_stdout")
"""In a real world all threads of a rank share these, so started functions keep away from them."""

GENERATORS = ("random", "numpy", "torch")


@contextlib.contextmanager
def _default_dtype():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def _ignoring_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def enter(mode: str) -> AbstractContextManager[Any]:
    """Return the context manager of a mode."""
    if mode == "ignore warnings":
        return _ignoring_warnings()
    if mode == "redirect_stdout":
        return contextlib.redirect_stdout(io.StringIO())
    if mode == "errstate":
        return np.errstate(divide="ignore")
    return {
        "no_grad": torch.no_grad,
        "inference_mode": torch.inference_mode,
        "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
        "device meta": lambda: torch.device("meta"),
        "saved_tensors_hooks": lambda: torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: 0 * tensor, lambda tensor: tensor
        ),
        "default_dtype": _default_dtype,
    }[mode]()


def probe(whole_process: bool) -> dict[str, Any]:
    """See which modes are on here, as a computation meets them.

    Parameters
    ----------
    whole_process : bool
        Whether to look at what all threads of a rank share, too.
    """
    seen: dict[str, Any] = {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "device": str(torch.empty(0).device),
        "divide": np.geterr()["divide"],
        "gradient": _gradient(),
    }
    if whole_process:
        seen["dtype"] = str(torch.get_default_dtype())
        seen["ignored"] = bool(warnings.filters) and warnings.filters[0][:3] == (
            "ignore", None, Warning,
        )  # fmt: skip
        seen["redirected"] = isinstance(sys.stdout, io.StringIO)
    return seen


def _gradient() -> Any:
    with torch.device("cpu"):
        x = torch.full(
            (2,), 3.0, dtype=torch.float32, requires_grad=not torch.is_inference_mode_enabled()
        )
    y = (x * x).sum()
    if not y.requires_grad:
        return "none"
    y.backward()
    return tuple(x.grad.tolist())


def seed(generator: str, number: int) -> None:
    """Seed a global generator."""
    if generator == "random":
        random.seed(number)
    elif generator == "numpy":
        np.random.seed(number)  # noqa: NPY002  # the global generator is what is tested
    else:
        torch.manual_seed(number)


def draw(generator: str) -> Any:
    """Draw one number from a global generator."""
    if generator == "random":
        return random.random()
    if generator == "numpy":
        return float(np.random.rand())  # noqa: NPY002
    return float(torch.rand(1, device="cpu", dtype=torch.float64))
