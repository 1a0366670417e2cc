"""Entries that are looked at only when it was noted that something has been changed."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Any

from course_lib.comm.ambient.entries import Entry, Setting, Whose
from course_lib.comm.ambient.notes import (
    NOTED,
    NotedCalls,
    NotingList,
    note_no_more,
    note_variables,
)

__all__ = ["UNCHANGED", "Attribute", "Called", "ListAttribute", "NotesCalls", "StreamAttribute"]

UNCHANGED = "not noted.changed"

_calls_of = cache(lambda what: NotedCalls())  # noqa: ARG005 - each has its own
_MISSING = object()
_CALLERS = object()


class Attribute(Entry):
    """A variable of a module; what the caller has in it is what ranks find.

    Parameters
    ----------
    what : str
        What it is, in words.
    module : module
        The module.
    name : str
        The variable; it may be missing.
    """

    def __init__(self, what: str, module: ModuleType, name: str) -> None:
        self._module = module
        self._name = name
        self._usual = self._now()
        variables = f"variables_of_{module.__name__}"
        usual = f"{variables}.get({name!r}, missing) is usual_{name}_of_{module.__name__}"
        names = {
            variables: vars(module), f"usual_{name}_of_{module.__name__}": self._usual,
            "missing": _MISSING, "noted": NOTED,
        }  # fmt: skip
        super().__init__(what, "rank", usual, names)

    def begin(self) -> Any:
        """Note changes from now on."""
        if note_variables(self._module):
            self.fast = UNCHANGED

    def end(self, callers: Any) -> None:  # noqa: ARG002 - it has never been put aside
        """Undo what was changed."""
        self._set(self._usual)
        note_no_more(self._module)

    def put_aside(self) -> Any:
        """Set it to what the caller has."""
        own = self._now()
        self._set(self._usual)
        return own

    def put_back(self, own: Any) -> None:
        """Set it again."""
        self._set(own)

    def _set(self, value: Any) -> None:
        if value is not _MISSING:
            setattr(self._module, self._name, value)
        elif self._now() is not _MISSING:
            delattr(self._module, self._name)

    def _now(self) -> Any:
        return vars(self._module).get(self._name, _MISSING)


class StreamAttribute(Attribute):
    """A variable of a module that is a stream, which ranks may wrap anew.

    A wrapper closes what it wraps when nobody holds it any more: for a process that is at its end,
    for a rank that would be the caller's stream. So they are held, and let go of it at the end.

    Parameters
    ----------
    what : str
        See ``Attribute``.
    module : module
        See ``Attribute``.
    name : str
        See ``Attribute``.
    """

    def __init__(self, what: str, module: ModuleType, name: str) -> None:
        super().__init__(what, module, name)
        self._wrappers: dict[int, Any] = {}

    def put_aside(self) -> Any:
        """Set it to what the caller has."""
        own = super().put_aside()
        self._wrappers[id(own)] = own
        return own

    def end(self, callers: Any) -> None:
        """Undo what was changed; what is still to be written is."""
        self.put_aside()
        super().end(callers)
        wrapped = getattr(self._usual, "buffer", None)
        for own in self._wrappers.values():
            if own is not self._usual and wrapped is not None:
                with suppress(AttributeError, OSError, ValueError):  # no wrapper, or closed
                    if own.buffer is wrapped:
                        own.detach()  # which writes what is left
        self._wrappers.clear()


class ListAttribute(Attribute):
    """A variable of a module that is a list; ranks find a copy of the caller's.

    Parameters
    ----------
    what : str
        See ``Attribute``.
    module : module
        See ``Attribute``.
    name : str
        See ``Attribute``.
    """

    def __init__(self, what: str, module: ModuleType, name: str) -> None:
        super().__init__(what, module, name)
        self._callers = self._usual
        self._contents = list(self._callers)
        self._usual = self._copy = NotingList(self._contents)
        listed, contents = f"usual_{name}_of_{module.__name__}", f"contents_of_{name}"
        self.names |= {listed: self._copy, contents: self._contents}
        self.usual += f" and {listed} == {contents}"
        self.fast = self.usual

    def begin(self) -> Any:
        """Have ranks find the copy, and note changes from now on."""
        self._set(self._copy)
        super().begin()

    def end(self, callers: Any) -> None:
        """Give the caller back its own list, as it was."""
        self._usual = self._callers
        self._callers[:] = self._contents
        super().end(callers)

    def put_aside(self) -> Any:
        """Have it be what the caller has."""
        own = super().put_aside(), list(self._copy)
        self._copy[:] = self._contents
        return own

    def put_back(self, own: Any) -> None:
        """Set it again."""
        listed, self._copy[:] = own
        self._set(listed)


class NotesCalls(Entry):
    """An entry that is looked at only when one of the functions that change it has been called."""

    _calls: NotedCalls

    @abstractmethod
    def _note(self) -> None:
        """Have the functions that change it note that they are called."""

    def begin(self) -> Any:
        """Note calls from now on."""
        self._note()
        return super().begin()

    def begin_late(self) -> Any:
        """Note calls from now on; there may have been some."""
        self._note()
        NOTED.changed = self._calls.touched = True

    def end(self, callers: Any) -> None:
        """Give the caller back what it had, and note no more."""
        self._calls.end()
        super().end(callers)

    def settle(self) -> None:
        """Look again only when it may have been changed."""
        self._calls.touched = False


class Called(NotesCalls, Setting):
    """A setting that is changed by calling a function of a module.

    Parameters
    ----------
    what, whose, name : str
        See ``Setting``.
    read, write : callable
        See ``Setting``.
    *setters : tuple of (module, str)
        The functions that change it.
    value : Any
        What a new process has; without it that is what the caller has.
    """

    def __init__(
        self, what: str, whose: Whose, name: str, read: Callable[[], Any],
        write: Callable[[Any], Any], *setters: tuple[ModuleType, str], value: Any = _CALLERS,
    ) -> None:  # fmt: skip
        super().__init__(what, whose, name, read, write, read() if value is _CALLERS else value)
        self._setters = [(module, setter) for module, setter in setters if hasattr(module, setter)]
        self._calls = _calls_of(what)
        self.usual = f"not {name}_calls.touched or {name}() == usual_{name}"
        self.fast = UNCHANGED
        self.names |= {f"{name}_calls": self._calls, "noted": NOTED}

    def put_back(self, own: Any) -> None:
        """Set it again; it is still changed at the next switch."""
        super().put_back(own)
        NOTED.changed = self._calls.touched = True

    def _note(self) -> None:
        for module, setter in self._setters:
            self._calls.begin(module, setter)
