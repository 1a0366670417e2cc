"""Code of one's own on the command line: ``FILE.py:FUNCTION``, or ``MODULE:FUNCTION``.

The file is code, and it is run. A checkpoint keeps its name, so that a training goes on with the
same one, and never runs it: only what the command line names is run.
"""

import argparse
import random
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["call_seeded", "fix_names", "is_own", "load_function", "name_of"]

_MODULE = "course_lib_own_"


def is_own(text: str) -> bool:
    """Say whether a text names code, and nothing of the library's."""
    return ":" in text


def name_of(option: str, text: str, *, modules: bool = False) -> str:
    """Return what a checkpoint keeps of ``FILE.py:FUNCTION``: the names, without folders.

    Parameters
    ----------
    option : str
        How the option is called, for the error.
    text : str
        What it was given.
    modules : bool, default: False
        Whether ``MODULE:FUNCTION`` is allowed, too.

    Returns
    -------
    str
        The file's name, or the module's, a colon, and the function's.

    Raises
    ------
    ValueError
        If it names no function of a file.
    """
    where, function = _cut(option, text, modules)
    return f"{where.name if isinstance(where, Path) else where}:{function}"


def fix_names(chosen: argparse.Namespace, *names: str) -> None:
    """Make names of files absolute: code that is run may change the current folder.

    Parameters
    ----------
    chosen : argparse.Namespace
        The words.
    *names : str
        Which of them name a file or a folder, as text or as a path; an empty one is left for those
        who refuse it.
    """
    for name in names:
        if (given := getattr(chosen, name)) and str(given).strip() and given != Path():
            setattr(chosen, name, type(given)(Path(given).absolute()))


def load_function(option: str, text: str, *, modules: bool = False) -> Callable[..., Any]:
    """Run a file, or import a module, and return a function of it.

    It is run with seeded generators, of Python, NumPy and torch, so that what it draws is the same
    in every program that runs it.

    Parameters
    ----------
    option : str
        How the option is called, for the error.
    text : str
        What it was given.
    modules : bool, default: False
        Whether ``MODULE:FUNCTION`` is allowed, too.

    Returns
    -------
    callable
        The function. That of a file travels to workers by value, for they have no such module.

    Raises
    ------
    ValueError
        If there is no such file, module or function, or it cannot be run.
    """
    where, function = _cut(option, text, modules)
    if isinstance(where, Path):
        if not where.is_file():
            raise ValueError(f"{option} {text}: there is no file {where}")
        path = str(where.resolve().parent)
        if path not in sys.path:  # as for a script: what lies beside it can be imported
            sys.path.insert(0, path)
        module = call_seeded(lambda: _run_file(where), option, text)
    else:
        module = call_seeded(lambda: import_module(where), option, text)
    found = getattr(module, function, None)
    if not callable(found):
        names = [name for name, thing in vars(module).items() if _is_of(thing, module)]
        raise ValueError(
            f"{option} {text}: {where} has no function {function!r}; "
            f"it has {', '.join(sorted(names)) or 'none'}"
        )
    return found  # type: ignore[no-any-return]


def call_seeded(fn: Callable[[], Any], option: str, text: str) -> Any:
    """Call what is not ours with seeded generators; if it fails, say where.

    Parameters
    ----------
    fn : callable
        What to call.
    option, text : str
        How the option is called, and what it was given, for the error.

    Returns
    -------
    object
        What it returned.

    Raises
    ------
    ValueError
        If it fails, or leaves the program.
    """
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - for whoever uses it in the file
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(0)
    try:
        return fn()
    except (Exception, SystemExit) as error:
        raise ValueError(f"{option} {text}: {_told(error, text.rpartition(':')[0])}") from error


def _cut(option: str, text: str, modules: bool) -> tuple[Path | str, str]:
    where, colon, function = text.rpartition(":")
    if colon and function.isidentifier():
        if where.endswith(".py"):
            return Path(where), function
        if modules and all(part.isidentifier() for part in where.split(".")):
            return where, function
    allowed = "FILE.py:FUNCTION" + " or MODULE:FUNCTION" * modules
    raise ValueError(f"{option} takes {allowed}, got {text!r}")


def _run_file(file: Path) -> ModuleType:
    """Import the file under a name that no worker can import: what is in it travels by value."""
    name = _MODULE + file.stem
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there while the file runs
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def _told(error: BaseException, where: str) -> str:
    """Say what went wrong, and in which line of the file."""
    name = Path(where).name if where.endswith(".py") else f"{where.rpartition('.')[2]}.py"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if
           Path(frame.filename).name == name]  # fmt: skip
    line = error.lineno if isinstance(error, SyntaxError) else own[-1].lineno if own else None
    told = f", line {line}" if line else ""
    return f"{where}{told}: {type(error).__name__}: {error}"


def _is_of(thing: Any, module: ModuleType) -> bool:
    return callable(thing) and getattr(thing, "__module__", None) == module.__name__
