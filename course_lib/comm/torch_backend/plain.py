"""The library's own work with tensors, out of reach of what a rank's function has switched on.

A message's bytes are a tensor on its way through ``torch.distributed``. A mode that the function
is in, or a transform such as ``torch.func.grad``, would see that work, count it, or refuse it.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils._python_dispatch import _disable_current_modes

__all__ = ["plainly"]

_Fn = TypeVar("_Fn", bound=Callable[..., Any])
_transform = torch._C._functorch.peek_interpreter_stack
_n_dispatch_modes = torch._C._len_torch_dispatch_stack
_n_function_modes = torch._C._len_torch_function_stack


def plainly(fn: _Fn) -> _Fn:
    """Have a function work with tensors as if no mode and no transform were there.

    Parameters
    ----------
    fn : callable
        Which works with bytes that no mode is to see.

    Returns
    -------
    callable
        As before; where nothing is switched on it costs three questions.
    """

    @wraps(fn)
    def outside(*args: Any, **kwargs: Any) -> Any:
        if _transform() is None and not (_n_dispatch_modes() or _n_function_modes()):
            return fn(*args, **kwargs)
        with (
            _disable_current_modes(),
            torch._C.DisableTorchFunction(),
            temporarily_clear_interpreter_stack(),
        ):
            return fn(*args, **kwargs)

    return cast("_Fn", outside)
