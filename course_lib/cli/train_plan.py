"""The plan and the optimizer of ``python -m course_lib train``: read, or refused by name."""

import argparse
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from course_lib.console.options import Parser, as_option, number, whole
from course_lib.train.catalogue import SCHEMES
from course_lib.train.checkpoint import MOST_EPOCHS
from course_lib.train.entries import Scheme
from course_lib.training import (
    SGD,
    Adagrad,
    Adam,
    AdamW,
    Cosine,
    Optimizer,
    Plan,
    StepDecay,
    check_plan,
)

__all__ = ["add_plan", "check_able", "numbers_of", "read_optimizer", "read_plan", "take_usual"]

_NUMBERS = {
    "epochs": "how often to go through all examples",
    "batch_size": "how many examples all workers take in a step together; one, where nobody waits",
    "learning_rate": "how far to go against the gradient; 0.01 if left out, but with sgd",
    "momentum": "how much of the last step's direction is kept, above -1, below 1; of sgd only",
    "warmup_steps": "over how many steps the learning rate rises to its full value",
    "seed": "of the first parameters and of the order of the examples",
    "weight_decay": "how much parameters shrink in a step, beside the gradient",
    "clip": "how long a step's gradient may be, over all parameters together",
    "accumulate": "in how many parts each worker computes its part of a batch",
}
_AS_BEFORE = ("weight_decay", "clip", "accumulate")
"""What a checkpoint does not mention where it is not used, as those of earlier versions do not."""

_OPTIMIZERS: dict[str, Optimizer] = {
    "sgd": SGD, "adam": Adam, "adamw": AdamW, "adagrad": Adagrad,
}  # fmt: skip
_RATE_OF_ADAPTIVE = 0.01

_SCHEDULES: dict[str, Callable[[int], Callable[[int], float] | None]] = {
    "constant": lambda _: None,
    "cosine": Cosine,
    "step": lambda steps: StepDecay(math.ceil(steps / 3)),
}


def add_plan(parser: Parser) -> None:
    """Add the options of the plan and the optimizer."""
    group = parser.add_argument_group("the plan; what is left out is usual for the model")
    for name, told in _NUMBERS.items():
        group.add_argument(as_option(name), metavar="X", help=told)
    group.add_argument(
        "--decay", metavar="NAME",
        help="of the learning rate after the warm-up: constant; cosine, down to 0 at the end; "
        "step, to a tenth after each third of the steps",
    )  # fmt: skip
    group.add_argument("--optimizer", metavar="NAME", help=", ".join(_OPTIMIZERS))


def read_optimizer(chosen: argparse.Namespace, usual: Optimizer) -> Optimizer:
    """Return what takes the steps, or raise a sentence."""
    if chosen.optimizer is None:
        return usual
    if chosen.optimizer not in _OPTIMIZERS:
        names = ", ".join(_OPTIMIZERS)
        raise ValueError(f"--optimizer knows {names}; not {chosen.optimizer!r}")
    if chosen.optimizer != "sgd" and chosen.momentum is not None:
        raise ValueError(f"--momentum is for --optimizer sgd, not {chosen.optimizer}")
    return _OPTIMIZERS[chosen.optimizer]


def take_usual(chosen: argparse.Namespace, scheme: Scheme, usual: Plan) -> Plan:
    """Take what is usual for the scheme where the words and the problem leave it out.

    Parameters
    ----------
    chosen : argparse.Namespace
        The words; the optimizer's name is filled in.
    scheme : Scheme
        How to train.
    usual : Plan
        That of the model.

    Returns
    -------
    Plan
        That of the scheme, but the model's own where ``--momentum`` is said.
    """
    if chosen.problem is not None:
        return usual
    if chosen.optimizer is None:
        chosen.optimizer = scheme.optimizer
    if scheme.usual_plan is None or chosen.momentum is not None:
        return usual
    return scheme.usual_plan(usual)


def read_plan(chosen: argparse.Namespace, usual: Plan, n_examples: int) -> Plan:
    """Return the plan, or raise a sentence.

    Parameters
    ----------
    chosen : argparse.Namespace
        The words.
    usual : Plan
        What is taken for what they leave out.
    n_examples : int
        How many there are to train on: schedules end with the last step.

    Returns
    -------
    Plan
        How to train.
    """
    given: dict[str, Any] = {}
    if chosen.optimizer not in (None, "sgd"):
        given["momentum"] = 0.0
        if chosen.problem is None:
            given["learning_rate"] = _RATE_OF_ADAPTIVE
    for name in _NUMBERS:
        text = getattr(chosen, name)
        if text is None:
            continue
        if type(getattr(usual, name)) is int:
            least = 0 if name in ("seed", "warmup_steps") else 1
            most = MOST_EPOCHS if name == "epochs" else None
            given[name] = whole(as_option(name), text, least, most)
        else:
            given[name] = number(as_option(name), text)
    try:
        plan = replace(usual, **given)
    except ValueError as error:  # it begins with the name of the number
        name, told = str(error).split(" ", 1)
        raise ValueError(f"{as_option(name)} {told}") from None
    if chosen.decay is None:
        return plan
    if chosen.decay not in _SCHEDULES:
        names = ", ".join(_SCHEDULES)
        raise ValueError(f"--decay knows {names}; not {chosen.decay!r}")
    steps = plan.epochs * plan.steps_per_epoch(n_examples) - plan.warmup_steps
    return replace(plan, schedule=_SCHEDULES[chosen.decay](max(1, steps)))


def check_able(name: str, plan: Plan, options: Mapping[str, Any]) -> None:
    """Refuse a plan that the scheme cannot carry out.

    Parameters
    ----------
    name : str
        The scheme's.
    plan : Plan
        How to train.
    options : mapping
        What the scheme takes, as it was read, by name.
    """
    scheme = SCHEMES[name]
    check_plan(plan, f"--scheme {name}", *scheme.without)
    for (option, value), fields in scheme.without_with.items():
        if options.get(option) == value:
            check_plan(plan, f"--scheme {name} {as_option(option)} {value}", *fields)


def numbers_of(plan: Plan, optimizer: Optimizer) -> dict[str, Any]:
    """Return what a training that goes on must share; it may go on for more epochs.

    A schedule that ends with the last step has its number of steps in it: then the epochs are
    shared, too.
    """
    found = {
        name: getattr(plan, name)
        for name in _NUMBERS
        if name != "epochs" and (name not in _AS_BEFORE or getattr(plan, name) != _usual(name))
    }
    if plan.schedule is not None:
        found["decay"] = _in_words(plan.schedule)
    if optimizer is not SGD:
        found["optimizer"] = _in_words(optimizer)
    return found


def _usual(name: str) -> Any:
    return getattr(Plan(), name)


def _in_words(thing: Any) -> str:
    """Name a class or a function; what says more of itself, as Cosine(steps=9) does, is let to."""
    text = getattr(thing, "__name__", None) or re.sub(" at 0x[0-9a-f]+", "", repr(thing))
    return "".join(letter for letter in text if letter.isprintable())[:100]
