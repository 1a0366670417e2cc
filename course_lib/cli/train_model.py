"""The model and the data of ``python -m course_lib train``: read, or refused by name."""

import argparse
from typing import Any, NamedTuple

from course_lib.train.entries import Scheme
from course_lib.train.problem_file import Problem, load_problem, name_of_problem
from course_lib.train.problems import MODELS, Data, Kind, load_data
from course_lib.train.trial import try_problem
from course_lib.training import SGD, Optimizer

__all__ = ["MODEL", "What", "check_model", "named", "read_what", "try_what"]

MODEL = "mlp"
"""What is trained where nothing is said, if the scheme can."""


class What(NamedTuple):
    """What is to be trained, and on what."""

    kind: Kind
    model: str | Problem
    examples: Data
    optimizer: Optimizer
    names: dict[str, Any]  # for the checkpoint


def check_model(chosen: argparse.Namespace, scheme: Scheme) -> None:
    """Refuse a model that the scheme cannot train, or data that the model cannot be trained on.

    Where no model is said, its name is filled in.
    """
    if chosen.problem is not None:
        if chosen.model or chosen.data:
            raise ValueError(
                "--problem brings its own model and data: leave out --model and --data"
            )
        return
    able = scheme.models or tuple(MODELS)
    if chosen.model is None:
        chosen.model = MODEL if MODEL in able else able[0]
    kind = named("--model", MODELS, name := chosen.model)
    if name not in able:
        raise ValueError(
            f"--scheme {chosen.scheme} trains --model {' or '.join(able)}, not {name!r}"
        )
    if chosen.data not in (None, *kind.data):
        raise ValueError(
            f"--model {name} can be trained on --data {' or '.join(kind.data)}, "
            f"not on {chosen.data!r}"
        )


def read_what(chosen: argparse.Namespace) -> What:
    """Load the data, and the problem's file if there is one."""
    if chosen.problem is not None:
        found = load_problem(chosen.problem)
        names = {"problem": name_of_problem(chosen.problem), "data": found.fingerprint}
        return What(found.kind, found, found.data, found.optimizer, names)
    kind = MODELS[name := chosen.model]
    data = chosen.data or kind.data[0]
    return What(kind, name, load_data(data), SGD, {"model": name, "data": data})


def try_what(chosen: argparse.Namespace, what: What, model: Any, scheme: Scheme, seed: int) -> None:
    """Try a problem's model and score on a few examples; those of the library are known."""
    if chosen.problem is None:
        return
    try:
        try_problem(what.kind, model, what.examples, seed, scheme.outputs is not None)
    except (TypeError, ValueError) as error:
        raise ValueError(f"--problem {chosen.problem}: {error}") from error


def named(option: str, table: dict[str, Any], name: str) -> Any:
    """Return the entry of that name, or say which there are."""
    if name not in table:
        raise ValueError(f"{option} knows {', '.join(table)}; not {name!r}")
    return table[name]
