"""What a task is to be written without: modules that hold the answer, and some functions."""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from course_lib.checks.task import Task

__all__ = ["LibraryAnswerError", "forbidding"]


class LibraryAnswerError(ImportError):
    """The learner's function uses a module that holds the answer."""


@contextlib.contextmanager
def forbidding(
    names: Sequence[str], functions: Sequence[str] = (), enough: str = Task.enough
) -> Iterator[set[str]]:
    """Let no code use the named modules, what lies in them, or the named functions, in the block.

    Parameters
    ----------
    names : sequence of str
        Modules.
    functions : sequence of str, default: ()
        Functions with their module, ``"numpy.array_split"``.
    enough : str, default: "send and receive are enough"
        What the refusal says that will do instead.

    Yields
    ------
    set of str
        The modules that miss something in the block, or have something else in its place.
    """
    changed: set[str] = set()
    for name in names:  # what lies beside it in its package may be loaded only with it
        importlib.import_module(name.rpartition(".")[0])
    guard = _Guard(tuple(names), enough)
    hidden = {name: module for name, module in sys.modules.items() if guard.forbids(name)}
    with contextlib.ExitStack() as undo:
        for name, module in hidden.items():
            undo.enter_context(_hidden(name, module))
            changed.add(name.rpartition(".")[0])
        sys.meta_path.insert(0, guard)
        undo.callback(_remove, guard)
        for function in functions:
            changed |= undo.enter_context(_refusing(function, enough))
        yield changed


def _refusal(name: str, enough: str) -> LibraryAnswerError:
    return LibraryAnswerError(f"this task is to be written without {name}: {enough}")


class _Guard:
    """The first to be asked where a module is."""

    def __init__(self, names: tuple[str, ...], enough: str) -> None:
        self.names, self.enough = names, enough

    def forbids(self, name: str) -> bool:
        """Tell whether a module is a forbidden one, or lies in one."""
        return any(name == banned or name.startswith(f"{banned}.") for banned in self.names)

    def find_spec(self, name: str, *_: Any) -> None:
        """Refuse a forbidden module; leave all others to the usual finders."""
        if self.forbids(name):
            raise _refusal(name, self.enough)


def _remove(guard: _Guard) -> None:
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not guard]


@contextlib.contextmanager
def _hidden(name: str, module: ModuleType) -> Iterator[None]:
    """Forget for a while that a module has been loaded, in the package that it lies in as well.

    There its name may stand for the module or for the function that the module is about.
    """
    home, _, last = name.rpartition(".")
    package = vars(sys.modules[home]) if home in sys.modules else {}
    there = {last: package.pop(last)} if last in package else {}
    del sys.modules[name]
    try:
        yield
    finally:
        sys.modules[name] = module
        package.update(there)


@contextlib.contextmanager
def _refusing(function: str, enough: str) -> Iterator[set[str]]:
    """Put a function that only refuses in the place of the named one, wherever it can be had.

    ``numpy.array_split`` is to be found under another name in a module of NumPy's own. There other
    functions stand on it (``numpy.split``), and go on to have it.
    """
    home, _, name = function.rpartition(".")
    original = getattr(importlib.import_module(home), name)
    refuse = _refuser(function, original, enough)
    places = [
        (module, key)
        for module in list(sys.modules.values())
        for key, value in list(getattr(module, "__dict__", {}).items())
        if value is original and isinstance(module, ModuleType)
    ]
    for module, key in places:
        setattr(module, key, refuse)
    try:
        yield {module.__name__ for module, _ in places}
    finally:
        for module, key in places:
            setattr(module, key, original)


def _refuser(function: str, original: Callable[..., Any], enough: str) -> Callable[..., Any]:
    family = function.partition(".")[0]

    def refuse(*args: Any, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.partition(".")[0] == family:
            return original(*args, **options)
        raise _refusal(function, enough)

    return refuse
