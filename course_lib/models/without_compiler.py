"""Keep torch's compiler out where nothing is compiled: it takes each worker a second to load."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

__all__ = ["step_without_compiler", "without_compiler"]

_COMPILER = "torch._dynamo"
_ASKED = "__dynamo_disable"  # for this torch asks a function first, before it loads its compiler


@contextmanager
def without_compiler(*functions: Any) -> Iterator[None]:
    """Let functions of torch be called that would load its compiler only to be left alone by it.

    Parameters
    ----------
    *functions : callable
        Such as torch decorates with ``_disable_dynamo``; others stay as they are.

    Yields
    ------
    None
        Once; nothing is left behind.
    """
    plain = [getattr(function, "__wrapped__", None) for function in functions]
    wrapped = [] if _COMPILER in sys.modules else [one for one in plain if one is not None]
    for function in wrapped:
        setattr(function, _ASKED, function)
    try:
        yield
    finally:
        for function in wrapped:
            vars(function).pop(_ASKED, None)


def step_without_compiler(optimizer: Any) -> Callable[[], Any]:
    """Return an optimizer's ``step`` as it is without a compiler, hooks included.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        Around the steps of torch's own lies a function that loads the compiler, to end its graphs.

    Returns
    -------
    callable
        Called without arguments, it takes a step.
    """
    ends_graphs: Any = getattr(type(optimizer).step, "__wrapped__", None)
    if _COMPILER in sys.modules or not _is_torchs(ends_graphs) or "step" in vars(optimizer):
        return optimizer.step  # type: ignore[no-any-return]
    import torch

    plain: Any = ends_graphs.__wrapped__

    @wraps(plain)
    def step(self: Any) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return plain(self)

    return partial(torch.optim.Optimizer.profile_hook_step(step), optimizer)


def _is_torchs(function: Any) -> bool:
    """Say whether it is what torch puts around a step to end graphs and set the mode."""
    place = getattr(function, "__globals__", {}).get("__name__")
    return place == "torch.optim.optimizer" and function.__code__.co_name == "_use_grad"
