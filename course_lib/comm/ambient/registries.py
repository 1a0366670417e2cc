"""Which warnings have been shown, where filters say that once is enough.

Python writes that into ``__warningregistry__``, a dict of the module that is warned, with the
number of changes of filters until then; with the next change, whoever makes it, that is void. So
ranks that have filters of their own would have all others warned again and again, or, where they
share a module, not at all.

A run sees which registries there are when a warning is shown. Who has filters of its own has
contents of its own as well; all others, who find the caller's filters, have theirs in common.
"""

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["Contents", "Registries", "forget_what_was_shown"]

Contents = dict[int, dict[Any, Any]]
"""By the identity of a registry what is in it."""

_NOTHING = [("ignore", None, Warning, None, 0)]


class Registries:
    """Those of a run.

    Parameters
    ----------
    module : module
        ``warnings``.
    filters_are_usual : callable
        Says whether they are the caller's in this moment.
    """

    def __init__(self, module: Any, filters_are_usual: Callable[[], bool]) -> None:
        self._module = module
        self._filters_are_usual = filters_are_usual
        self._known: dict[int, dict[Any, Any]] = {id(module.onceregistry): module.onceregistry}
        self._usual: Contents = {}
        self._holds_usual = True
        self._version: Any = None
        self._show: Any = module._showwarnmsg

    def begin(self) -> None:
        """See what is shown from now on; nothing has been."""
        forget_what_was_shown(self._module)
        self._module._showwarnmsg = self._note_and_show
        self._version = self._current_version()

    def end(self) -> None:
        """See it no more."""
        self._module._showwarnmsg = self._show
        forget_what_was_shown(self._module)

    def own(self) -> Contents:
        """Return what has been shown under the filters that there are."""
        version = self._current_version()
        return {at: dict(one) for at, one in self._known.items() if one.get("version") == version}

    def put_back(self, own: Contents) -> None:
        """Write again what ``own`` has returned."""
        self._holds_usual = False
        self._write(own)

    def put_back_usual(self) -> None:
        """Write again what has been shown under usual filters, if that is void."""
        if not self._holds_usual or self._current_version() != self._version:
            self._holds_usual = True
            self._write(self._usual)

    def _note_and_show(self, message: Any) -> None:
        registry = _registry_of(message, sys._getframe(1))
        if registry is not None:
            self._known[id(registry)] = registry
        if self._filters_are_usual():
            for one in (registry, self._module.onceregistry):
                self._usual.setdefault(id(one), {}).update(one or {})
        self._show(message)

    def _write(self, contents: Contents) -> None:
        forget_what_was_shown(self._module)  # also in registries that nobody could see
        self._version = self._current_version()
        for at, registry in list(self._known.items()):
            registry.clear()
            registry.update(contents.get(at, {}), version=self._version)

    def _current_version(self) -> Any:
        """Find out how often filters have changed: Python writes it wherever it has been warned."""
        module = self._module
        registry: dict[Any, Any] = {}
        filters, module.filters = module.filters, _NOTHING
        try:
            module.warn_explicit("", Warning, "", 0, registry=registry)
        finally:
            module.filters = filters
        return registry.get("version")


def forget_what_was_shown(module: Any) -> None:
    """Make void what is written in all registries.

    Parameters
    ----------
    module : module
        ``warnings``: a rank may have emptied ``sys.modules``.
    """
    with warnings.catch_warnings(module=module):
        pass


def _registry_of(message: Any, frame: FrameType | None) -> dict[Any, Any] | None:
    """Find the registry that a warning which is just being shown was written into."""
    place = message.filename, message.lineno
    while frame is not None and (frame.f_code.co_filename, frame.f_lineno) != place:
        frame = frame.f_back
    registry = None if frame is None else frame.f_globals.get("__warningregistry__")
    return registry if isinstance(registry, dict) else None
