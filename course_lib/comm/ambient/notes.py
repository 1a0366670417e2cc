"""Something that notices when it is changed: cheaper, for what Python itself keeps, than to look.

A run lets the modules ``sys`` and ``warnings``, the list of filters and the variables of the
environment note every change in one place. To look there is one step; only then is it found out
what has changed, if it still is.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = [
    "NOTED",
    "NotedCalls",
    "NotingDict",
    "NotingList",
    "Variables",
    "note_no_more",
    "note_variables",
    "noting",
]


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


class Variables(dict[Any, Any]):
    """What ``os.environ`` keeps during a run: it notes what ranks change, and nobody else.

    Parameters
    ----------
    callers : dict
        What it keeps otherwise; what other threads change is changed there, too.

    Attributes
    ----------
    usual : dict
        What it would keep if no rank had changed anything.
    lock : threading.Lock
        Held while another thread changes something: here and there, or not yet.
    """

    def __init__(self, callers: dict[Any, Any]) -> None:
        super().__init__(callers)
        self.usual = dict(callers)
        self._callers = callers
        self.begin_anew()

    def begin_anew(self) -> None:
        """Have ranks be in this thread, and no other one hold the lock."""
        self.lock = threading.Lock()
        self._thread_of_ranks = threading.get_ident()

    def follow(self) -> None:
        """Be what the caller's is now."""
        super().clear()
        super().update(self._callers)
        self.usual = dict(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set a variable."""
        if threading.get_ident() == self._thread_of_ranks:
            NOTED.changed = True
            super().__setitem__(key, value)
            return
        with self.lock:
            self.usual[key] = self._callers[key] = value
            super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        """Remove a variable."""
        if threading.get_ident() == self._thread_of_ranks:
            NOTED.changed = True
            super().__delitem__(key)
            return
        with self.lock:
            for kept in (self.usual, self._callers):
                kept.pop(key, None)
            super().__delitem__(key)


class NotingList(list[Any]):
    """A list that notes when it is changed."""

    def __reduce__(self) -> Any:
        """Travel as a list: elsewhere nobody asks."""
        return list, (list(self),)


class NotingDict(OrderedDict[Any, Any]):
    """A dict that notes when something is put into it or removed."""

    def __reduce__(self) -> Any:
        """Travel as what it is for all others."""
        return OrderedDict, (dict(self),)


_CHANGES = {
    _NotingModule: ("__setattr__", "__delattr__"),
    NotingList: (
        "__setitem__", "__delitem__", "__iadd__", "append", "extend", "insert", "remove", "pop",
        "clear", "sort", "reverse",
    ),
    NotingDict: ("__setitem__", "__delitem__", "pop", "popitem", "clear", "move_to_end"),
}  # fmt: skip
for _kind, _names in _CHANGES.items():
    for _name in _names:
        setattr(_kind, _name, _noting(getattr(_kind, _name)))


def noting(kind: type) -> type:
    """Return a class whose objects are of another, too, and note when a variable of them is set."""
    return type(kind.__name__, (kind,), {"__setattr__": _noting(kind.__setattr__)})


def note_variables(module: Any) -> bool:
    """Let a module note changes; return whether it does: it may be of a kind of its own."""
    if type(module) is ModuleType:
        module.__class__ = _NotingModule
    return isinstance(module, _NotingModule)


def note_no_more(module: Any) -> None:
    """Let a module be as before."""
    if isinstance(module, _NotingModule):
        module.__class__ = ModuleType  # type: ignore[assignment]


class NotedCalls:
    """Functions that note, for the time of a run, that they are called.

    What replaces them is made once and kept, for the next run: hence one such object lives on.

    Parameters
    ----------
    before : callable or None, default: None
        Called with their first argument before they are.

    Attributes
    ----------
    touched : bool
        Whether one of them may have been called since somebody has set this to false.
    """

    def __init__(self, before: Callable[[Any], None] | None = None) -> None:
        self.touched = True
        self._before = before
        self._made: dict[Any, Callable[..., Any]] = {}
        self._undo: list[tuple[Any, ...]] = []

    def begin(self, owner: Any, name: str) -> None:
        """Have a function of a module, or of a class, note its calls."""
        change = getattr(owner, name)
        if change not in self._made:
            self._made[change] = self._noted(change)
        is_its_own = name in vars(owner)
        self._undo.append((setattr, owner, name, change) if is_its_own else (delattr, owner, name))
        setattr(owner, name, self._made[change])

    def end(self) -> None:
        """Have all of them be as before; nobody notes their calls any more."""
        self.touched = True
        while self._undo:
            undo, *what = self._undo.pop()
            undo(*what)

    def _noted(self, change: Callable[..., Any]) -> Callable[..., Any]:
        before = self._before

        @wraps(change)
        def noted(*args: Any, **kwargs: Any) -> Any:
            NOTED.changed = self.touched = True
            if before is not None:
                before(args[0])
            return change(*args, **kwargs)

        return noted
