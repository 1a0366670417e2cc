"""What ``torch.compile`` must not look into: the verbs, which are no mathematics.

A compiler that traces a send into a graph finds rings, locks and greenlets there, and stops in the
middle. So a function that is marked here ends its graph before the call, and runs as it is, with
all that it calls; the graph goes on behind it. Torch is never imported for that: what it needs is
set when its compiler is loaded, in torch's own table of code.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

__all__ = ["uncompiled", "uncompiled_methods"]

_COMPILER = "torch._dynamo"
_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)


class _Waiting:
    """Wait for the compiler to be loaded, among the finders of modules; it finds none."""

    def __init__(self) -> None:
        self.codes: list[CodeType] = []

    def add(self, code: CodeType) -> None:
        """Have a function's code run as it is."""
        if _COMPILER in sys.modules:
            _keep_out([code])
            return
        self.codes.append(code)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Leave it to the other finders."""
        del path, target
        if name == _COMPILER:
            _keep_out(self.codes)
        return None


def _keep_out(codes: list[CodeType]) -> None:
    """Tell torch to run them, and what they call, without its compiler."""
    with suppress(AttributeError, KeyError, TypeError):  # of a torch that keeps no such table
        table: Any = sys.modules["torch._C"]._dynamo.eval_frame
        skip = table._FrameAction.SKIP
        for code in codes:
            table.set_code_exec_strategy(code, table._FrameExecStrategy(skip, skip))


_WAITING = _Waiting()
sys.meta_path.insert(0, _WAITING)


def uncompiled(fn: _F) -> _F:
    """Mark a function that ``torch.compile`` leaves alone, with all that it calls.

    Parameters
    ----------
    fn : callable
        A function of this library.

    Returns
    -------
    callable
        The same.
    """
    fn._torchdynamo_disable = True  # type: ignore[attr-defined]
    fn._torchdynamo_disable_msg = "messages are no mathematics"  # type: ignore[attr-defined]
    _WAITING.add(fn.__code__)
    return fn


def uncompiled_methods(kind: _C) -> _C:
    """Mark the public methods of a class.

    Parameters
    ----------
    kind : type
        A class of this library.

    Returns
    -------
    type
        The same.
    """
    for name, method in vars(kind).items():
        if isinstance(method, FunctionType) and not name.startswith("_"):
            uncompiled(method)
    return kind
