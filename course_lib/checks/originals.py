"""What an answer may replace in its process, kept as it was and put back.

Simulated ranks and the check live in one process with the answer: after ``builtins.len = ...`` they
would all go wrong, and the verdict would blame the wrong line. So names are put back after every
call, by nothing that could have been replaced, and the verdict says what was replaced.
"""

import builtins
import gc
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from operator import is_
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from course_lib.comm.ambient.loading import WhenLoaded

__all__ = ["Originals", "note"]

_BUILTINS = vars(builtins)
_all, _map = all, map  # which are among what may be replaced
_STANDARD = ("contextlib", "copy", "io", "math", "os", "pickle", "random", "threading", "time")
_NUMPY = ("numpy", "numpy.linalg", "numpy.random")
_PACKAGE = __name__.partition(".")[0]
_AMBIENT = str(Path(__file__).parents[1] / "comm" / "ambient")
_RULES = (property, staticmethod, classmethod)


def _set_collector(is_on: bool) -> None:
    (gc.enable if is_on else gc.disable)()


_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (gc.isenabled, _set_collector),
    (threading.gettrace, threading.settrace),
    (threading.getprofile, threading.setprofile),
)
"""How to read and how to set what a process has only one of. (Folder, environment and streams are
given back by every simulated run: ``comm.ambient``.)"""


class _Space(NamedTuple):
    """A module or class: names with the functions that they stand for, and all names there are."""

    label: str
    owner: Any
    names: dict[str, Any]
    known: frozenset[str]


_noted: dict[str, list[_Space]] = {}
"""The spaces of the package's modules, where they have been noted."""


def note() -> None:
    """Look at all of the package's modules now.

    A fork server does (``noted``), before there is any answer. A process that it forks then looks
    only at what it has loaded itself, in a quarter of the time: 2 ms, not 8.
    """
    for name, module in list(sys.modules.items()):
        if _is_ours(name) and isinstance(module, ModuleType):
            _noted[name] = list(_spaces_of(name, module))


class Originals:
    """What an answer finds in its process when it is called first.

    Parameters
    ----------
    changed : collection of str, default: ()
        Modules that no longer are as they were noted.

    Attributes
    ----------
    replaced : list of str
        What has been replaced since it was last asked for, as a sentence names it.
    """

    def __init__(self, changed: Collection[str] = ()) -> None:
        self.replaced: list[str] = []
        self._builtins = dict(_BUILTINS)
        self._names, self._values = list(_BUILTINS), list(_BUILTINS.values())
        self._spaces = list(_spaces(changed))
        self._modules, self._loaded = sys.modules, dict(sys.modules)
        self._finders = list(sys.meta_path)
        self._settings = [(write, read()) for read, write in _SETTINGS]
        self._recursion_limit = sys.getrecursionlimit()
        self._tracer, self._profiler = sys.gettrace(), sys.getprofile()

    def after_call(self) -> None:
        """Put back what all code needs: what is built in, and how the interpreter runs it."""
        if not _all(_map(is_, _map(_BUILTINS.get, self._names), self._values)):
            for name in self._builtins:
                if _BUILTINS.get(name) is not self._builtins[name]:
                    self.replaced += [f"the built-in {name}"]
                    _BUILTINS[name] = self._builtins[name]
        sys.modules = self._modules
        sys.setrecursionlimit(self._recursion_limit)
        if sys.gettrace() is not self._tracer:
            sys.settrace(self._tracer)
        if sys.getprofile() is not self._profiler:
            sys.setprofile(self._profiler)

    def after_case(self, *, thorough: bool = True) -> tuple[str, ...]:
        """Put everything back; return what had been replaced.

        Parameters
        ----------
        thorough : bool, default: True
            Whether to look at the functions of other modules too, some thousand.

        Returns
        -------
        tuple of str
            As a sentence names them.
        """
        self.after_call()
        if thorough:
            self._put_functions_back()
        self._put_imports_back()
        for write, value in self._settings:
            with suppress(Exception):  # os.environ = None, a folder removed, ...
                write(value)
        replaced, self.replaced = self.replaced, []
        return tuple(dict.fromkeys(replaced))

    def _put_functions_back(self) -> None:
        for label, owner, names, known in self._spaces:
            now = vars(owner)
            for name, value in names.items():
                if now.get(name) is not value:
                    # In the middle of a run, when a case is given up, ranks have stand-ins.
                    if not _is_stand_in(now.get(name)):
                        self.replaced.append(f"{label}.{name}")
                    setattr(owner, name, value)
            if isinstance(owner, type):  # a new name there hides an inherited one
                for name in {key for key in now.keys() - known if not key.startswith("__")}:
                    self.replaced.append(f"{label}.{name}")
                    delattr(owner, name)

    def _put_imports_back(self) -> None:
        finders = sys.meta_path if isinstance(sys.meta_path, list) else []
        # Who waits for a module to be loaded leaves when it has been.
        to_stay = [one for one in self._finders if not isinstance(one, WhenLoaded)]
        if any(finder not in finders for finder in to_stay):
            self.replaced.append("sys.meta_path")
            sys.meta_path = to_stay
        for name, module in self._loaded.items():
            if self._modules.get(name) is not module:
                self._modules[name] = module


def _is_stand_in(value: Any) -> bool:
    """Tell whether a function is one that the simulator has put there for its ranks."""
    code = getattr(value, "__code__", None)
    return str(getattr(code, "co_filename", "")).startswith(_AMBIENT)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == _PACKAGE


def _spaces(changed: Collection[str]) -> Iterator[_Space]:
    for name, module in list(sys.modules.items()):
        noted = _noted.get(name)
        if noted and noted[0].owner is module and name not in changed:
            yield from noted
        elif isinstance(module, ModuleType) and (_is_ours(name) or name in _STANDARD + _NUMPY):
            yield from _spaces_of(name, module)


def _spaces_of(name: str, module: ModuleType) -> Iterator[_Space]:
    names = {key: value for key, value in vars(module).items() if callable(value)}
    yield _Space(name, module, names, frozenset(vars(module)))
    if _is_ours(name):
        yield from _classes(name, names)


def _classes(module: str, names: Mapping[str, Any]) -> Iterator[_Space]:
    for name, value in names.items():
        if isinstance(value, type) and value.__module__ == module:
            rules = {
                key: rule
                for key, rule in vars(value).items()
                if callable(rule) or isinstance(rule, _RULES)
            }
            yield _Space(f"{module}.{name}", value, rules, frozenset(vars(value)))
