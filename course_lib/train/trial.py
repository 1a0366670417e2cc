"""Try a problem's model and score on a few examples, before anything is started."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course_lib.models.chain import Chain
from course_lib.models.examples import class_numbers
from course_lib.models.model import Array, Batch, Model
from course_lib.train.problems import Data, Kind, settled
from course_lib.train.scores import accuracy
from course_lib.words.namespace import as_numpy
from course_lib.words.real import one_number

__all__ = ["try_problem"]

_FEW = 4
_MOVED = 0.01
"""How far parameters are moved for another look at answers: those of zeros are often whole."""


def try_problem(kind: Kind, model: Model, examples: Data, seed: int, is_split: bool) -> None:
    """Compute what is told after an epoch, of a few examples and the first parameters.

    Parameters
    ----------
    kind : Kind
        What the score is.
    model : Model
        What is to be trained.
    examples : Data
        What on, and what it is tested with.
    seed : int
        Of the first parameters.
    is_split : bool
        Whether no rank may hold the whole model: a chain is not drawn then.

    Raises
    ------
    TypeError, ValueError
        Saying what cannot be computed, is no number, or cannot be compared.
    """
    few = Data(*(part[:_FEW] for part in examples))
    tried = partial(_tried, examples)
    if is_split and isinstance(model, Chain):  # it answers classes
        n_test, n_classes = len(examples.y_test), model.shapes[-1][0]
        tried("its outputs for X_test", model.examples, few.X_test)
        tried("reading y_test as classes", class_numbers, examples.y_test, n_test, n_classes)
        return
    w = tried("its first parameters", model.initial, seed)
    tried("its loss for X_train and y_train", _first_loss, model, w, few)
    if kind.score_name == "test loss":
        tried("its loss for X_test and y_test", _loss, model, w, few, few[2:])
        return
    for at in (w, _moved(w)):
        accuracy(tried("its answers to X_test", _answers, model, at, few), few.y_test)


def _tried(examples: Data, what: str, compute: Callable[..., Any], *given: Any) -> Any:
    try:
        return compute(*given)
    except Exception as error:
        of_train, of_test = (tuple(X.shape[1:]) for X in (examples.X_train, examples.X_test))
        shapes = ""
        if of_train != of_test and "X_test" in what:
            shapes = f", one of shape {of_test} where those of X_train have {of_train},"
        raise ValueError(
            f"the model was tried on a few examples, and {what}{shapes} ended in "
            f"{type(error).__name__}: {error}"
        ) from error


def _first_loss(model: Model, w: Array, few: Data) -> float:
    batch = few.X_train, few.y_train
    try:
        return _loss(model, w, few, batch)
    except (IndexError, RuntimeError):  # torch's
        model.gradient(w, batch)  # which may say in words what is wrong with the targets
        raise


def _loss(model: Model, w: Array, few: Data, batch: Batch) -> float:
    return one_number("loss", settled(model, w, few.X_train).loss(w, batch))


def _answers(model: Model, w: Array, few: Data) -> Any:
    return settled(model, w, few.X_train).predict(w, few.X_test)


def _moved(w: Array) -> Array:
    plain = as_numpy(w)
    noise = np.random.default_rng(0).standard_normal(len(plain))
    return plain + (_MOVED * noise).astype(plain.dtype)
