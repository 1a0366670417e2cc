"""The lecture's trials: perceptrons on digits, trained once, looked at after every epoch."""

from functools import lru_cache
from typing import Any

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.data.digits import load_digits
from course_lib.models.model import Array
from course_lib.schemes import train
from course_lib.search import Space
from course_lib.search.perceptrons import Examples, perceptron_space
from course_lib.training import Plan

__all__ = [
    "LONGEST",
    "MOST_TRIALS",
    "TIMES",
    "NumberedSpace",
    "curve",
    "images",
    "look_up",
    "space",
]

LONGEST, MOST_TRIALS = 27, 27
_HELD = 5  # one in so many examples is held out

TIMES = {"all alike": "alike", "larger nets are slower": "size", "and one worker is slow": "slow"}
"""How long an epoch takes, by what the explorer calls it."""


class NumberedSpace(Space):
    """A space that also says which trial it is: ``numbers["trial"]``."""

    def draw(self, trial: int) -> dict[str, Any]:
        """Return the numbers of a trial by name."""
        return {"trial": trial, **super().draw(trial)}


def space() -> NumberedSpace:
    """Return what trials are drawn from: the rate, the momentum, the width and the depth.

    Returns
    -------
    NumberedSpace
        The ranges of ``python -m course_lib search``, seed 0.
    """
    return NumberedSpace(perceptron_space().ranges, seed=0)


@lru_cache
def curve(trial: int) -> list[float]:
    """Train a trial for 27 epochs on images of digits.

    Parameters
    ----------
    trial : int
        Which.

    Returns
    -------
    list of float
        The loss over the images held out, after every epoch: what shorter trainings of the same
        trial end with.
    """
    X, y, X_held, y_held = images()
    drawn, losses = space().draw(trial), list[float]()
    model = _model(trial)

    def look(_: int, w: Array) -> None:
        losses.append(float(model.loss(w, (X_held, y_held))))

    rate, momentum = drawn["learning_rate"], drawn["momentum"]
    train(model, X, y, Plan(rate, epochs=LONGEST, momentum=momentum, on_epoch=look))
    return losses


def look_up(comm: Communicator, numbers: dict[str, Any], epochs: int, times: str) -> float:
    """Take the virtual time of a training, "3 @ 9", and return the loss that it ends with.

    Parameters
    ----------
    comm : Communicator
        For its ``compute`` block and a note ``"trains"``: which trial, how long.
    numbers : dict
        Drawn from ``space()``.
    epochs : int
        1 to 27.
    times : {"alike", "size", "slow"}
        Whether an epoch takes a second, or so much more as the net is larger than the mean one.

    Returns
    -------
    float
        The loss over the images held out.
    """
    trial = numbers["trial"]
    comm.note("trains", [trial, epochs])
    size = 1.0 if times == "alike" else _size(trial)
    with comm.compute(f"{trial} @ {epochs}", flops=epochs * size):
        return curve(trial)[epochs - 1]


@lru_cache
def images() -> Examples:
    """Return the images of digits to train on, and every fifth, which is held out.

    Returns
    -------
    course_lib.search.perceptrons.Examples
        Of 1,437 images 1,149 to train on.
    """
    digits = load_digits()
    is_held = np.arange(len(digits.y_train)) % _HELD == 0
    X, y = digits.X_train, digits.y_train
    return Examples(X[~is_held], y[~is_held], X[is_held], y[is_held])


def _model(trial: int) -> Any:
    from course_lib.models.mlp import mlp  # torch takes seconds to load

    drawn = space().draw(trial)
    return mlp(64, *[drawn["width"]] * drawn["depth"], 10)


@lru_cache
def _size(trial: int) -> float:
    """Compare a trial's epoch with the mean one of all."""
    flops = [float(_model(k).flops((np.ones((1, 64)), [0]))) for k in range(MOST_TRIALS)]
    return float(_model(trial).flops((np.ones((1, 64)), [0]))) / float(np.mean(flops))
