"""Something that notices when it is changed: cheaper, for what Python itself keeps, than to look.

A run lets the modules ``sys`` and ``warnings``, the list of filters and the variables of the
environment note every change in one place. To look there is one step; only then is it found out
what has changed, if it still is.
"""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["NOTED", "NotingDict", "NotingList", "note_no_more", "note_variables"]


class Noted:
    """Whether anything has been changed since somebody looked; for the whole process."""

    changed = False


NOTED = Noted()


def _noting(change: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(change)
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        NOTED.changed = True
        return change(self, *args, **kwargs)

    return noted


class _NotingModule(ModuleType):
    """A module that notes when one of its variables is set from outside."""

    def __reduce__(self) -> Any:
        """Let functions travel that use it."""
        return import_module, (self.__name__,)


class NotingDict(dict[Any, Any]):
    """A dict that notes when it is changed."""


class NotingList(list[Any]):
    """A list that notes when it is changed."""


_CHANGES = {
    _NotingModule: ("__setattr__", "__delattr__"),
    NotingDict: ("__setitem__", "__delitem__", "pop", "popitem", "clear", "update", "setdefault"),
    NotingList: (
        "__setitem__", "__delitem__", "__iadd__", "append", "extend", "insert", "remove", "pop",
        "clear", "sort", "reverse",
    ),
}  # fmt: skip
for _kind, _names in _CHANGES.items():
    for _name in _names:
        setattr(_kind, _name, _noting(getattr(_kind, _name)))


def note_variables(module: Any) -> bool:
    """Let a module note changes; return whether it does: it may be of a kind of its own."""
    if type(module) is ModuleType:
        module.__class__ = _NotingModule
    return isinstance(module, _NotingModule)


def note_no_more(module: Any) -> None:
    """Let a module be as before."""
    if isinstance(module, _NotingModule):
        module.__class__ = ModuleType  # type: ignore[assignment]
