"""How loggers are set: ``logging.basicConfig``, ``addHandler``, ``setLevel``, ``disable``."""

import logging
import sys
from itertools import islice
from typing import Any, NamedTuple

from course_lib.comm.ambient.entries import Entry
from course_lib.comm.ambient.noted import UNCHANGED
from course_lib.comm.ambient.notes import NOTED, NotedCalls, note_no_more, note_variables

__all__ = ["Loggers"]

_VARIABLES = (
    "raiseExceptions", "lastResort", "_logRecordFactory", "_loggerClass", "_warnings_showwarning"
)  # fmt: skip
_CHANGES = (
    (logging.Filterer, ("addFilter", "removeFilter")),
    (logging.Logger, ("__setattr__", "addHandler", "removeHandler")),
    (logging, ("disable", "captureWarnings", "setLogRecordFactory", "setLoggerClass")),
)


class _Logger(NamedTuple):
    """What a logger is set to; without values, what a new one is."""

    level: int = logging.NOTSET
    propagate: bool = True
    disabled: bool = False
    handlers: tuple[Any, ...] = ()
    filters: tuple[Any, ...] = ()

    @classmethod
    def of(cls, logger: logging.Logger) -> "_Logger":
        """Find out of one, which may just be being made."""
        if "disabled" not in vars(logger):
            return cls()
        return cls(
            logger.level, logger.propagate, logger.disabled,
            tuple(logger.handlers), tuple(logger.filters),
        )  # fmt: skip


class _Logging(NamedTuple):
    loggers: dict[logging.Logger, _Logger]
    disabled_up_to: int
    variables: list[Any]


_touched: dict[logging.Logger, _Logger] = {}
"""What those were before the run that ranks have changed, or made."""


def _touch(what: Any) -> None:
    if isinstance(what, logging.Logger) and what not in _touched:
        _touched[what] = _Logger.of(what)


_CALLS = NotedCalls(_touch)


class Loggers(Entry):
    """Those that ranks change; what the caller has set is what ranks find.

    One that a rank has made is as new for the others. But those of a module that a rank is the
    first to load are set once for all, by that module.
    """

    def __init__(self) -> None:
        super().__init__(
            "how loggers are set", "rank", "loggers_are_usual()",
            {"loggers_are_usual": self._are_usual, "noted": NOTED},
        )  # fmt: skip
        self._n_modules = len(sys.modules)

    def begin(self) -> Any:
        """Note changes from now on."""
        _touch(logging.root)
        self._usual = self._now()
        for owner, names in _CHANGES:
            for name in names:
                _CALLS.begin(owner, name)
        if note_variables(logging):
            self.fast = UNCHANGED

    def end(self, callers: Any) -> None:  # noqa: ARG002 - it has never been put aside
        """Undo what was changed, and note no more."""
        _CALLS.end()
        if not self._are_usual():
            self.put_aside()
        note_no_more(logging)
        _touched.clear()

    def settle(self) -> None:
        """Look at loggers again only when one may have been changed."""
        _CALLS.touched = False

    def put_aside(self) -> Any:
        """Set all to what the caller has."""
        own = self._now()
        self._set(self._usual._replace(loggers=self._callers()))
        return own

    def put_back(self, own: Any) -> None:
        """Set them again; they are still changed at the next switch."""
        self._set(own)
        NOTED.changed = _CALLS.touched = True

    def _are_usual(self) -> bool:
        if not _CALLS.touched:
            return _variables() == self._usual.variables
        return self._now() == self._usual._replace(loggers=self._callers())

    def _callers(self) -> dict[logging.Logger, _Logger]:
        """Return what those were that ranks have touched, but for those of modules just loaded."""
        if len(sys.modules) == self._n_modules:
            return _touched.copy()
        new = set(islice(sys.modules, self._n_modules, None))
        return {one: how for one, how in _touched.items() if one.name.partition(".")[0] not in new}

    def _now(self) -> _Logging:
        loggers = {one: _Logger.of(one) for one in self._callers()}
        return _Logging(loggers, logging.root.manager.disable, _variables())

    def _set(self, own: _Logging) -> None:
        for one, how in own.loggers.items():
            one.propagate, one.disabled = how.propagate, how.disabled
            one.handlers[:], one.filters[:] = how.handlers, how.filters
            one.setLevel(how.level)
        for name, value in zip(_VARIABLES, own.variables, strict=True):
            setattr(logging, name, value)
        logging.root.manager.disable = own.disabled_up_to


def _variables() -> list[Any]:
    return [getattr(logging, name) for name in _VARIABLES]
