"""A problem of one's own: a Python file with a function that returns model, data and plan.

The file is code, and it is run. A checkpoint keeps its name, so that a training goes on with the
same one, and never runs it: only what ``--problem`` names on the command line is run.
"""

import random
import sys
import traceback
import zlib
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from course_lib.models.model import Model
from course_lib.train.problems import Data, Kind
from course_lib.training import SGD, Optimizer, Plan, check_training

__all__ = ["Problem", "load_problem", "name_of_problem"]

_SCORES = ("test loss", "test accuracy")
_MODULE = "course_lib_problem_"


@dataclass(frozen=True)
class Problem:
    """What a problem file's function returns.

    Attributes
    ----------
    model : Model
        What is trained; ``from_module`` of ``course_lib.models`` makes one of a torch module.
    data : Data, or a tuple of four arrays
        Examples and targets to train on, then those for testing.
    plan : Plan
        How to train, where the command line says nothing else.
    optimizer : callable, default: SGD
        What takes the steps, where ``--optimizer`` is left out.
    score : {"test loss", "test accuracy"}, default: "test loss"
        What is printed after each epoch; an accuracy compares ``predict`` with the targets.
    """

    model: Model
    data: Data
    plan: Plan
    optimizer: Optimizer = SGD
    score: str = "test loss"

    def __post_init__(self) -> None:
        """Check everything once, before anything is started."""
        if not isinstance(self.data, tuple) or len(self.data) != len(Data._fields):
            raise TypeError(f"data must be four arrays: {', '.join(Data._fields)}")
        object.__setattr__(self, "data", Data(*self.data))
        for part in ("train", "test"):
            X, y = getattr(self.data, f"X_{part}"), getattr(self.data, f"y_{part}")
            try:
                check_training(self.model, X, y)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{error} (X_{part} and y_{part})") from None
        if type(self.plan) is not Plan:  # a subclass would lose what it says otherwise
            raise TypeError(f"plan must be a Plan, got {type(self.plan).__name__}")
        if not callable(self.optimizer):
            raise TypeError(f"optimizer must be one like SGD, got {self.optimizer!r}")
        if self.score not in _SCORES:
            raise ValueError(f"score must be {' or '.join(map(repr, _SCORES))}, got {self.score!r}")

    @property
    def kind(self) -> Kind:
        """The problem as one of the kinds of models that the command line knows."""
        return Kind(lambda _: self.model, ("its own",), self.plan, self.score)

    @property
    def fingerprint(self) -> str:
        """What tells its data from others: a training goes on with the same only."""
        number = 0
        for array in (self.data.X_train, self.data.y_train):
            plain = array.toarray() if hasattr(array, "toarray") else np.asarray(array)
            number = zlib.crc32(plain.tobytes(), number)
        return f"{self.data.X_train.shape[0]} examples ({number:08x})"


def name_of_problem(text: str) -> str:
    """Return what a checkpoint keeps of ``FILE.py:FUNCTION``: the names, without folders."""
    file, function = _cut(text)
    return f"{file.name}:{function}"


def load_problem(text: str) -> Problem:
    """Run a problem file, and call its function.

    It is called with seeded generators, of Python, NumPy and torch, so that it draws the same in
    every program of a training.

    Parameters
    ----------
    text : str
        What ``--problem`` was given: ``FILE.py:FUNCTION``.

    Returns
    -------
    Problem
        What the function has returned.

    Raises
    ------
    ValueError
        If there is no such file or function, one of them fails, or something else is returned.
    """
    file, function = _cut(text)
    if not file.is_file():
        raise ValueError(f"--problem {text}: there is no file {file}")
    path = str(file.resolve().parent)
    if path not in sys.path:  # as for a script: what lies beside it can be imported
        sys.path.insert(0, path)
    module = _run_file(file, text)
    make = getattr(module, function, None)
    if not callable(make):
        names = [name for name, thing in vars(module).items() if _is_own(thing, module)]
        raise ValueError(
            f"--problem {text}: {file} has no function {function!r}; "
            f"it has {', '.join(sorted(names)) or 'none'}"
        )
    _seed()
    try:
        found = make()
    except (Exception, SystemExit) as error:
        raise ValueError(f"--problem {text}: {_told(error, file)}") from error
    if not isinstance(found, Problem):
        raise ValueError(
            f"--problem {text}: {function}() must return a Problem of course_lib.train, "
            f"got {type(found).__name__}"
        )
    return found


def _cut(text: str) -> tuple[Path, str]:
    file, colon, function = text.rpartition(":")
    if not colon or not file.endswith(".py") or not function.isidentifier():
        raise ValueError(f"--problem takes FILE.py:FUNCTION, got {text!r}")
    return Path(file), function


def _run_file(file: Path, text: str) -> ModuleType:
    """Import the file under a name that no worker can import: what is in it travels by value."""
    name = _MODULE + file.stem
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there while the file runs
    _seed()
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"--problem {text}: {_told(error, file)}") from error
    finally:
        del sys.modules[name]
    return module


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - for whoever uses it in the file
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(0)


def _told(error: BaseException, file: Path) -> str:
    """Say what went wrong, and in which line of the file."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if
           Path(frame.filename).name == file.name]  # fmt: skip
    line = error.lineno if isinstance(error, SyntaxError) else own[-1].lineno if own else None
    where = f", line {line}" if line else ""
    return f"{file}{where}: {type(error).__name__}: {error}"


def _is_own(thing: Any, module: ModuleType) -> bool:
    return callable(thing) and getattr(thing, "__module__", None) == module.__name__
