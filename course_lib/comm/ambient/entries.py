"""An entry of the list: one thing that is kept for a whole thread or process."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, cached_property
from types import CodeType
from typing import Any, Literal

__all__ = ["Entry", "Setting", "Stack", "Whose", "function_of"]

Whose = Literal["flow", "rank", "run"]


def function_of(expression: str, names: dict[str, Any]) -> Callable[[], bool]:
    """Make a function that says whether an expression is true, of names that may change."""
    check: Callable[[], bool] = eval(_compiled(expression), names)
    return check


@cache
def _compiled(expression: str) -> CodeType:
    # named like this file: a watchdog may strike in it, and reports leave our own frames out
    return compile(f"lambda: {expression}", f"{__file__} <{expression}>", "eval")


class Entry(ABC):
    """Something that Python or torch keeps, as a new process has it or changed.

    Parameters
    ----------
    what : str
        What is kept, in words.
    whose : {"flow", "rank", "run"}
        Who has its own: what a thread keeps is a flow's, what a process keeps is a rank's; of what
        is a run's all ranks see the same.
    usual : str
        An expression that is true as long as it is as a new process has it.
    names : dict of str to Any
        The names in that expression; no two entries may give one name to different things.

    Attributes
    ----------
    fast : str
        What is asked at every switch: the same, or something that is false whenever that is.
    """

    def __init__(self, what: str, whose: Whose, usual: str, names: dict[str, Any]) -> None:
        self.what = what
        self.whose = whose
        self.usual = self.fast = usual
        self.names = names

    @cached_property
    def is_usual(self) -> Callable[[], bool]:
        """A function that says whether it is as a new process has it."""
        return function_of(self.usual, dict(self.names))

    @abstractmethod
    def put_aside(self) -> Any:
        """Make it usual; return what it was."""

    @abstractmethod
    def put_back(self, own: Any) -> None:
        """Make it what ``put_aside`` has returned."""

    def settle(self) -> None:  # noqa: B027 - most need nothing
        """Be ready to notice changes: now it is usual, and all others are."""

    def begin(self) -> Any:
        """Make it usual for a run that begins; return what the caller has."""
        return None if self.is_usual() else (self.put_aside(),)

    def begin_late(self) -> Any:
        """Begin when a rank has just loaded the module: the caller has what a new process has."""
        return None

    def end(self, callers: Any) -> None:
        """Give the caller back what ``begin`` has returned."""
        if not self.is_usual():
            self.put_aside()
        if callers is not None:
            self.put_back(callers[0])

    def end_in_copy(self, callers: Any) -> None:
        """Do the same in a copy of the process, made by a thread in which there are no ranks.

        That thread has its own of what a thread keeps.
        """
        if self.whose != "flow":
            self.end(callers)


class Setting(Entry):
    """A value that one function reads and another sets.

    Parameters
    ----------
    what, whose : str
        See ``Entry``.
    name : str
        Of the function ``read``, in the check.
    read, write : callable
        The two.
    value : Any
        What a new process has.
    """

    def __init__(
        self, what: str, whose: Whose, name: str, read: Callable[[], Any],
        write: Callable[[Any], Any], value: Any,
    ) -> None:  # fmt: skip
        usual = f"usual_{name}"
        super().__init__(what, whose, f"{name}() is {usual}", {name: read, usual: value})
        self._read = read
        self._write = write
        self._value = value

    def put_aside(self) -> Any:
        """Set it to what a new process has."""
        own = self._read()
        self._write(self._value)
        return own

    def put_back(self, own: Any) -> None:
        """Set it again."""
        self._write(own)


class Stack(Entry):
    """Things that were entered one inside the other, empty in a new process.

    Parameters
    ----------
    what, whose, usual : str
        See ``Entry``.
    names : dict of str to Any
        See ``Entry``.
    pop : callable
        Takes away and returns the innermost.
    push : callable
        Adds one inside the others.
    """

    def __init__(
        self, what: str, whose: Whose, usual: str, names: dict[str, Any],
        pop: Callable[[], Any], push: Callable[[Any], Any],
    ) -> None:  # fmt: skip
        super().__init__(what, whose, usual, names)
        self._pop = pop
        self._push = push

    def put_aside(self) -> list[Any]:
        """Take all away, the innermost first."""
        own = []
        while not self.is_usual():
            own.append(self._pop())
        return own

    def put_back(self, own: list[Any]) -> None:
        """Add them again, the outermost first."""
        for entered in reversed(own):
            self._push(entered)
