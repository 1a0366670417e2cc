"""A search over perceptrons: the rate, the momentum, how wide and how deep."""

from typing import Any, NamedTuple

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array
from course_lib.schemes.serial import train
from course_lib.search.space import Choice, LogUniform, Range, Space, Uniform
from course_lib.training import Plan

__all__ = ["Examples", "perceptron_space", "train_perceptron"]


class Examples(NamedTuple):
    """What to train on, and what to compare trials by.

    Attributes
    ----------
    X_train, y_train : array, shapes (m, d) and (m,)
        The examples that are trained on, and their classes.
    X_held, y_held : array, shapes (k, d) and (k,)
        Others, held out: the loss over them is a trial's.
    """

    X_train: Array
    y_train: Array
    X_held: Array
    y_held: Array


def perceptron_space(seed: int = 0) -> Space:
    """Return what trials are drawn from.

    Parameters
    ----------
    seed : int, default: 0
        Another one draws other trials.

    Returns
    -------
    Space
        Of ``learning_rate``, ``momentum``, ``width`` and ``depth``, the number of hidden layers.
    """
    ranges: dict[str, Range] = {
        "learning_rate": LogUniform(1e-3, 1.0),
        "momentum": Uniform(0.0, 0.95),
        "width": Choice((8, 16, 32, 64)),
        "depth": Choice((1, 2, 3)),
    }
    return Space(ranges, seed)


def train_perceptron(
    comm: Communicator, numbers: dict[str, Any], epochs: int, examples: Examples
) -> float:
    """Train a perceptron on one worker.

    Parameters
    ----------
    comm : Communicator
        For its ``compute`` blocks.
    numbers : dict
        Drawn from ``perceptron_space``.
    epochs : int
        How often to go through the examples.
    examples : Examples
        What to train on.

    Returns
    -------
    float
        The loss over the examples held out.
    """
    from course_lib.models.mlp import mlp  # torch takes seconds to load

    X, y, X_held, y_held = examples
    hidden = [numbers["width"]] * numbers["depth"]
    model = mlp(X.shape[1], *hidden, int(y.max()) + 1)
    plan = Plan(numbers["learning_rate"], epochs=epochs, momentum=numbers["momentum"])
    w = train(model, X, y, plan, compute=comm.compute).w
    return float(model.loss(w, (X_held, y_held)))
