"""Models and the data that they can be trained on, by name, with numbers that work."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from course_lib.models.model import Array, Model
from course_lib.train.errors import ScoreError
from course_lib.train.scores import accuracy
from course_lib.training import Plan
from course_lib.words.real import one_number

__all__ = ["MODELS", "Data", "Kind", "load_data", "settled"]


class Data(NamedTuple):
    """What to train on, and what is kept for testing.

    Attributes
    ----------
    X_train, y_train : array, shapes (m, ...) and (m,)
        The examples to train on and their targets.
    X_test, y_test : array, shapes (k, ...) and (k,)
        The others.
    """

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes
    ----------
    make : callable
        Makes the model for examples of some shape.
    data : tuple of str
        Names of the data that it can be trained on; the first is taken where none is named.
    usual : Plan
        Numbers that work on that data.
    score_name : str
        What ``score`` measures.
    """

    make: Callable[[Data], Model]
    data: tuple[str, ...]
    usual: Plan
    score_name: str = "test accuracy"

    def evaluate(self, model: Model, examples: Data, w: Array) -> tuple[float, float]:
        """Return the loss over the examples to train on, and the score over those for testing."""
        model = settled(model, w, examples.X_train)
        loss = one_number("loss", model.loss(w, (examples.X_train, examples.y_train)))
        if not math.isfinite(loss):  # it has diverged, and its answers say nothing
            return loss, math.nan
        return loss, self._computed(loss, lambda: self._score(model, w, examples))

    def evaluate_outputs(
        self, of_train: Array, of_test: Array, examples: Data
    ) -> tuple[float, float]:
        """Return the same of a chain of layers, from what the last of them makes."""
        from course_lib.models.chain import partial_loss  # with torch, which takes seconds to load

        loss, test_loss = (
            partial_loss(outputs, y)[0]
            for outputs, y in ((of_train, examples.y_train), (of_test, examples.y_test))
        )
        if self.score_name == "test loss":
            return loss, test_loss
        return loss, self._computed(
            loss, lambda: accuracy(np.argmax(of_test, axis=1), examples.y_test)
        )

    def _score(self, model: Model, w: Array, examples: Data) -> float:
        if self.score_name == "test loss":
            return one_number("loss", model.loss(w, (examples.X_test, examples.y_test)))
        return accuracy(model.predict(w, examples.X_test), examples.y_test)

    def _computed(self, loss: float, score: Callable[[], float]) -> float:
        """Compute the score; if that fails, keep the loss."""
        try:
            return score()
        except Exception as error:
            why = error if isinstance(error, ScoreError) else f"{type(error).__name__}: {error}"
            told = ScoreError(f"the {self.score_name} cannot be computed: {why}")
            told.loss = loss
            raise told from error

    def score_in_words(self, score: float) -> str:
        """Write a score: an accuracy in percent, a loss with four digits."""
        return f"{score:.4g}" if self.score_name == "test loss" else f"{100 * score:.1f} %"


def settled(model: Model, w: Array, X: Array) -> Model:
    """Take BatchNorm's statistics over examples, once ``w`` is trained; others are as they are."""
    found: Model = model.settled(w, X) if hasattr(model, "settled") else model
    return found


@cache  # simulated ranks share what they only read
def load_data(name: str) -> Data:
    """Load or draw the data of that name.

    Parameters
    ----------
    name : str
        One of those that ``MODELS`` name.

    Returns
    -------
    Data
    --------
        The same in every program.
    """
    return _LOADERS[name]()


def _diabetes() -> Data:
    from course_lib.data.diabetes import load_diabetes

    return Data(*load_diabetes())


def _digits() -> Data:
    from course_lib.data.digits import load_digits

    return Data(*load_digits())


def _moons() -> Data:
    from course_lib.data.two_moons import two_moons

    return _cut(*two_moons(500), n_train=400)


def _text() -> Data:
    from course_lib.data.text_like import text_like

    documents = text_like(2000)
    return _cut(documents.X, documents.y, n_train=1600)


def _cut(X: Any, y: Any, n_train: int) -> Data:
    return Data(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


_LOADERS = {"diabetes": _diabetes, "digits": _digits, "moons": _moons, "text": _text}


# Models on torch are imported only where one is made: torch takes seconds to load.


def _linear(examples: Data) -> Model:
    from course_lib.models.linear_regression import LinearRegression

    return LinearRegression(examples.X_train.shape[1])


def _logistic(examples: Data) -> Model:
    from course_lib.models.logistic_regression import LogisticRegression

    return LogisticRegression(examples.X_train.shape[1])


def _mlp(examples: Data) -> Model:
    from course_lib.models.mlp import mlp

    return mlp(examples.X_train.shape[1], 32, int(examples.y_train.max()) + 1)


def _conv(examples: Data) -> Model:
    from course_lib.models.conv_net import conv_net

    return conv_net(n_classes=int(examples.y_train.max()) + 1)


def _deep_mlp(examples: Data) -> Model:
    from course_lib.models.deep_mlp import deep_mlp

    return deep_mlp(examples.X_train.shape[1], *[32] * 7, int(examples.y_train.max()) + 1)


def _alexnet(examples: Data) -> Model:
    from course_lib.models.alexnet import alexnet

    return alexnet(n_classes=int(examples.y_train.max()) + 1)


MODELS = {
    "linear": Kind(_linear, ("diabetes",), Plan(0.1, 64, epochs=20), "test loss"),
    "logistic": Kind(_logistic, ("moons", "text"), Plan(0.5, 32, epochs=10)),
    "mlp": Kind(_mlp, ("digits", "moons"), Plan(0.1, 64, epochs=10, momentum=0.9)),
    "conv": Kind(_conv, ("digits",), Plan(0.1, 64, epochs=5, momentum=0.9)),
    "deep_mlp": Kind(_deep_mlp, ("digits",), Plan(0.05, 64, epochs=10, momentum=0.9)),
    "alexnet": Kind(_alexnet, ("digits",), Plan(0.05, 64, epochs=10, momentum=0.9)),
}
"""The kinds of models by name."""
