"""A problem of one's own: a Python file with a function that returns model, data and plan.

The file is code, and it is run. A checkpoint keeps its name, so that a training goes on with the
same one, and never runs it: only what ``--problem`` names on the command line is run.
"""

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.console.own_file import call_seeded, load_function, name_of
from course_lib.models.model import Model
from course_lib.train.errors import ProblemError
from course_lib.train.problems import Data, Kind
from course_lib.training import SGD, Optimizer, Plan, check_training
from course_lib.training.checking import check_function
from course_lib.words.namespace import as_numpy

__all__ = ["Problem", "check_alike", "load_problem", "name_of_problem"]

_SCORES = ("test loss", "test accuracy")
_OPTION = "--problem"


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
        What is printed after each epoch. An accuracy compares ``predict`` with the targets, numbers
        of classes in one shape: where the loss is no cross-entropy of class numbers, ``answer=`` of
        ``from_module`` says which class outputs mean.
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
        check_function("optimizer", self.optimizer)
        for part in ("train", "test"):
            self._check_finite(part)
        if self.score not in _SCORES:
            raise ValueError(f"score must be {' or '.join(map(repr, _SCORES))}, got {self.score!r}")

    def _check_finite(self, part: str) -> None:
        """Refuse examples that are no numbers, unless the model knows what to make of them."""
        X, y = getattr(self.data, f"X_{part}"), getattr(self.data, f"y_{part}")
        for name, array in (("X", X), ("y", y)):
            rows = _not_finite(array)
            if not rows.size:
                continue
            with np.errstate(all="ignore"):
                loss = self.model.loss(self.model.initial(self.plan.seed), (X[rows], y[rows]))
            if not math.isfinite(loss):
                raise ValueError(
                    f"{name}_{part} must hold finite numbers, for the loss of others is {loss}: "
                    f"{len(rows)} of its {array.shape[0]} rows have NaN or infinity, row {rows[0]} "
                    "is the first"
                )

    @property
    def kind(self) -> Kind:
        """The problem as one of the kinds of models that the command line knows."""
        return Kind(lambda _: self.model, ("its own",), self.plan, self.score)

    @property
    def fingerprint(self) -> str:
        """What tells its data from others: a training goes on with the same only."""
        number = _digest(self.data.X_train, self.data.y_train)
        return f"{self.data.X_train.shape[0]} examples ({number:08x})"

    def parts(self, plan: Plan) -> dict[str, Any]:
        """Return what has to be the same on all ranks, in short, by what it is called."""
        numbers = {name: one for name, one in vars(plan).items() if isinstance(one, int | float)}
        return {
            "examples": self.fingerprint,
            "test examples": _digest(self.data.X_test, self.data.y_test),
            "plan": str(numbers),
            "initial parameters": _digest(as_numpy(self.model.initial(plan.seed))),
        }


def check_alike(comm: Communicator, parts: Mapping[str, Any]) -> None:
    """Refuse to train where each rank has loaded a problem of its own, and they are not the same.

    Parameters
    ----------
    comm : Communicator
        All ranks; all of them must call.
    parts : mapping
        What must be the same, of this rank's problem.

    Raises
    ------
    ProblemError
        On rank 0, naming what differs and on which ranks.
    """
    if comm.rank != 0:
        comm.send(np.frombuffer(json.dumps(dict(parts)).encode(), np.uint8), 0, tag="problem")
        return
    theirs = [json.loads(comm.recv(src, tag="problem").tobytes()) for src in range(1, comm.size)]
    for name, mine in parts.items():
        others = [rank for rank, found in enumerate(theirs, 1) if found[name] != mine]
        if others:
            ranks = f"rank {others[0]} has" if len(others) == 1 else f"ranks {others} have"
            raise ProblemError(
                f"{_OPTION}: {ranks} other {name} than rank 0: the file is run by every program, "
                "and must make the same of it each time; give every generator a seed that is the "
                "same on all ranks (numpy.random.default_rng(0))"
            )


def _not_finite(array: Any) -> NDArray[np.int64]:
    """List the rows that have NaN or infinity."""
    if hasattr(array, "tocsr"):
        array = array.tocsr()
        rows = np.repeat(np.arange(array.shape[0]), np.diff(array.indptr))
        return np.unique(rows[~np.isfinite(array.data)])
    plain = as_numpy(array)
    if plain.dtype.kind not in "fc" or np.isfinite(plain).all():
        return np.empty(0, np.int64)
    return np.flatnonzero(~np.isfinite(plain.reshape(len(plain), -1)).all(axis=1))


def _digest(*arrays: Any) -> int:
    number = 0
    for array in arrays:
        plain = array.toarray() if hasattr(array, "toarray") else np.asarray(array)
        number = zlib.crc32(plain.tobytes(), number)
    return number


def name_of_problem(text: str) -> str:
    """Return what a checkpoint keeps of ``FILE.py:FUNCTION``: the names, without folders."""
    return name_of(_OPTION, text)


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
    make = load_function(_OPTION, text)
    found = call_seeded(make, _OPTION, text)
    if not isinstance(found, Problem):
        raise ValueError(
            f"{_OPTION} {text}: {text.rpartition(':')[2]}() must return a Problem of "
            f"course_lib.train, got {type(found).__name__}"
        )
    return found
