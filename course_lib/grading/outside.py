"""Attributes by which an answer could leave its process, or find what it is compared with."""

from collections.abc import Callable
from typing import Any

from course_lib.grading.house import HouseRuleError

__all__ = ["ATTRIBUTES", "guarded", "leads_outside"]

ATTRIBUTES = {
    "__base__", "__bases__", "__builtins__", "__closure__", "__code__", "__dict__", "__func__",
    "__getattribute__", "__globals__", "__import__", "__loader__", "__mro__", "__reduce__",
    "__reduce_ex__", "__self__", "__spec__", "__subclasses__", "__traceback__", "__wrapped__",
    "ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame",
    "tb_frame", "tb_next",
    "_os", "_sys", "_io", "builtins", "ctypes", "ctypeslib", "f2py", "gc", "importlib", "inspect",
    "modules", "os", "pickle", "subprocess", "sys",
    "fromfile", "genfromtxt", "loadtxt", "memmap", "savetxt", "tofile",
    "_C", "FileStore", "TCPStore", "TypedStorage", "UntypedStorage", "distributed",
    "export_chrome_trace", "export_memory_timeline", "export_stacks", "from_file", "hub",
    "init_process_group", "jit", "multiprocessing", "onnx", "profiler", "save", "serialization",
}  # fmt: skip


def leads_outside(key: object) -> bool:
    """Tell whether an attribute of this name is not for an answer, or this is no name.

    Parameters
    ----------
    key : object
        Of an attribute, perhaps.

    Returns
    -------
    bool
        True of all that begin with two underscores, too.
    """
    return type(key) is not str or key in ATTRIBUTES or key.startswith("__")


def _getattr(owner: Any, name: str, *default: Any) -> Any:
    _refuse(name)
    return getattr(owner, name, *default)


def _hasattr(owner: Any, name: str) -> bool:
    _refuse(name)
    return hasattr(owner, name)


def _setattr(owner: Any, name: str, value: Any) -> None:
    _refuse(name)
    setattr(owner, name, value)


guarded: dict[str, Callable[..., Any]] = {
    "getattr": _getattr, "hasattr": _hasattr, "setattr": _setattr,
}  # fmt: skip
"""What an answer has in place of built-in functions: which name it is, is known only then."""


def _refuse(name: object) -> None:
    if leads_outside(name):
        raise HouseRuleError(f"the attribute {name!r} is not for an answer to an exercise")
