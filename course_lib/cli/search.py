"""The command line: ``python -m course_lib search``."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from course_lib.comm.errors import RunError
from course_lib.comm.launch import run
from course_lib.comm.result import Lost
from course_lib.console.options import (
    NETWORKS,
    Parser,
    backend_named,
    check_run,
    is_first_program,
    joins,
    network_named,
    number,
    usual_workers,
    whole,
)
from course_lib.console.outputs import say, tell
from course_lib.search import Asha, Outcome, RandomSearch, Strategy, SuccessiveHalving, best_of
from course_lib.search import search as carry_out
from course_lib.search.perceptrons import Examples, perceptron_space, train_perceptron
from course_lib.train.problems import load_data
from course_lib.words.tables import as_text
from course_lib.words.units import in_seconds

__all__ = ["main"]

_HELD = 5  # one in so many examples is held out

_METHODS: dict[str, Callable[[int, int, int, int], Strategy]] = {
    "random": lambda n, _, most, __: RandomSearch(n, most),
    "halving": SuccessiveHalving,
    "asha": Asha,
}
_HEAD = ("trial", "epochs", "loss", "learning rate", "momentum", "width", "depth")


def main(words: list[str]) -> int:
    """Search as the words ask for and print the trainings, in the order in which they ended.

    Parameters
    ----------
    words : list of str
        The command line after ``search``.

    Returns
    -------
    int
        The exit status: 0, or 1 if no worker is left, or 130 after Ctrl-C.
    """
    parser = _parser()
    try:
        asked = _check(parser.parse_args(words))
    except ValueError as error:
        parser.error(str(error))
    is_first = is_first_program()
    if not is_first and not joins(asked["backend"]):  # of the launcher's programs, one is enough
        return 0
    space = asked.pop("space")
    try:
        survive = asked["backend"] not in ("torch", "mpi")
        result = run(carry_out, asked.pop("strategy"), space, _task(), survive=survive, **asked)
    except KeyboardInterrupt:
        tell("stopped")
        return 130
    except RunError as error:  # told to every rank
        if is_first:
            tell(str(error))
        return 1
    for value in result.values:
        if isinstance(value, Lost):
            tell(f"lost: {value.reason}")
    if is_first:
        _print(result.values[0], space.draw, result.elapsed_s)
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="python -m course_lib search",
        description="Search the learning rate, the momentum, the width and the depth of a "
        "perceptron that reads digits: one rank hands out trainings, the others carry them out.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--method", default="asha", metavar="NAME", help=f"{', '.join(_METHODS)}; asha if left out")
    add("--trials", default="9", metavar="N", help="how many are begun; 9 if left out")
    add("--least", default="1", metavar="N", help="epochs of a first training; 1 if left out")
    add("--epochs", default="9", metavar="N", help="of the longest training; 9 if left out")
    add("--eta", default="3", metavar="N",
        help="one trial in so many goes on, for so many times the epochs; 3 if left out",
    )  # fmt: skip
    add("--seed", default="0", metavar="N", help="of the trials; 0 if left out")
    add("--workers", metavar="N", help="how many ranks, the one that hands out among them")
    add("--backend", metavar="NAME", help="processes, simulated, torch or mpi")
    add("--network", metavar="NAME", help=f"of the simulator: {', '.join(NETWORKS)}")
    add("--time-limit", default="3600", metavar="S", help="wall seconds; 3600 if left out")
    return parser


def _check(chosen: argparse.Namespace) -> dict[str, Any]:
    """Turn words into what ``run`` takes, a strategy and a space, or raise a sentence."""
    if chosen.method not in _METHODS:
        raise ValueError(f"--method knows {', '.join(_METHODS)}; not {chosen.method!r}")
    trials = whole("--trials", chosen.trials)
    least, epochs = whole("--least", chosen.least), whole("--epochs", chosen.epochs)
    eta = whole("--eta", chosen.eta, least=2)
    if least > epochs:
        raise ValueError(f"--least must be no more than --epochs {epochs}, got {least}")
    backend = backend_named(chosen.backend)
    usual = usual_workers(backend)
    workers = whole("--workers", usual if chosen.workers is None else chosen.workers, least=2)
    time_limit_s = number("--time-limit", chosen.time_limit)
    if time_limit_s <= 0:
        raise ValueError(f"--time-limit takes seconds above 0, got {time_limit_s:g}")
    check_run(workers, backend, time_limit_s)
    return {
        "strategy": _METHODS[chosen.method](trials, least, epochs, eta),
        "space": perceptron_space(whole("--seed", chosen.seed, least=0)),
        "workers": workers,
        "backend": backend,
        "network": network_named(chosen.network, backend),
        "time_limit_s": time_limit_s,
    }


def _task() -> Callable[..., float]:
    """Return what carries out a job, with the digits: others have no need to load them."""
    digits = load_data("digits")
    is_held = [index % _HELD == 0 for index in range(len(digits.y_train))]
    held = [index for index, is_one in enumerate(is_held) if is_one]
    others = [index for index, is_one in enumerate(is_held) if not is_one]
    X, y = digits.X_train, digits.y_train
    return partial(train_perceptron, examples=Examples(X[others], y[others], X[held], y[held]))


def _print(
    outcomes: Sequence[Outcome], draw: Callable[[int], dict[str, Any]], elapsed_s: float
) -> None:
    rows = []
    for (trial, epochs), loss in outcomes:
        drawn = (f"{value:.3g}" for value in draw(trial).values())
        rows.append((str(trial), str(epochs), f"{loss:.4g}", *drawn))
    say(as_text(_HEAD, rows))
    best = best_of(outcomes)
    in_all = sum(outcome.job.resource for outcome in outcomes)
    say(
        f"best: trial {best.job.trial}, loss {best.loss:.4g} over the examples held out; "
        f"{len(outcomes)} trainings, {in_all} epochs, {in_seconds(elapsed_s)}"
    )
