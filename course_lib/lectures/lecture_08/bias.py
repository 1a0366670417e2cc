"""A classic mistake of split layers: a bias that every rank adds before the sum."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.result import Result
from course_lib.data.digits import load_digits
from course_lib.models.chain import Chain
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.fully_connected import FullyConnected
from course_lib.models.model import Array
from course_lib.schemes import split_weights
from course_lib.split import Rows, forward, join_model, split_in_pairs
from course_lib.split.model import Divide
from course_lib.training import Plan

__all__ = ["BiasOfEveryRank", "Outputs", "digits_run", "put_together", "with_every_bias"]

_PLAN = Plan(learning_rate=0.2, batch_size=128, epochs=4, seed=1)
_EXAMPLES = 1408


class BiasOfEveryRank(Rows):
    """``Rows`` with a bug: what every rank adds is in the sum P times."""

    def forward(self, w: Array, x: Array) -> tuple[Array, Any]:
        """Add the bias, and then add up over the ranks."""
        W, b = self._mine.unpack(w)
        flat = x.reshape(len(x), -1)
        y = flat @ W.T + b  # here is the bug
        self._allreduce(self._comm, y, out=y)
        if self._mine.bends:
            np.maximum(y, 0, out=y)
        return y, (x.shape, flat, y)


def with_every_bias(comm: Communicator, model: Chain) -> Chain:
    """Split in pairs, with the bug in every second layer.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    model : Chain
        The model.

    Returns
    -------
    Chain
        This rank's part of it.
    """
    parts = [
        BiasOfEveryRank(comm, cast(FullyConnected, layer), part.cut)
        if isinstance(part, Rows) else part
        for part, layer in zip(split_in_pairs(comm, model).parts, model.parts, strict=True)
    ]  # fmt: skip
    return Chain(parts, model.shapes[0], model.dtype.name)


def digits_run(divide: Divide, workers: int = 4, epochs: int = _PLAN.epochs) -> Result:
    """Train a pair of layers on digits, split over simulated ranks.

    Parameters
    ----------
    divide : callable
        ``split_in_pairs``, or ``with_every_bias``.
    workers : int, default: 4
        How many ranks.
    epochs : int, default: 4
        How often every image is used.

    Returns
    -------
    Result
        A part of the parameters from each rank.
    """
    digits = load_digits()
    job = _model(), digits.X_train[:_EXAMPLES], digits.y_train[:_EXAMPLES]
    scheme: Any = partial(split_weights, divide=divide)
    return run(scheme, *job, replace(_PLAN, epochs=epochs), workers=workers, backend="simulated")


class Outputs(NamedTuple):
    """What a trained model says of the test images, on its ranks and put together.

    Attributes
    ----------
    split, joined : array, shape (m, 10)
        The last layer's outputs, of the ranks that trained it, and of one process with the same
        parameters.
    bias : array, shape (10,)
        Of the last layer.
    right : dict of str to float
        The part of the images whose class is right, "split" and "joined".
    """

    split: Array
    joined: Array
    bias: Array
    right: dict[str, float]


def put_together(result: Result, divide: Divide) -> Outputs:
    """Ask the ranks, and one process that has all their parameters, about the test images.

    Parameters
    ----------
    result : Result
        Of ``digits_run``.
    divide : callable
        How it was split there.

    Returns
    -------
    Outputs
        Equal on both sides where the layers are split rightly.
    """
    digits, model = load_digits(), _model()
    shards = [value.w for value in result.values]

    def ask(comm: Communicator) -> Array:
        own = divide(comm, model)
        layers = range(len(own.parts))
        return forward(own, layers, shards[comm.rank], own.examples(digits.X_test))[0]

    w = join_model(model, shards, split_in_pairs)
    split = run(ask, workers=len(shards), backend="simulated").values[0]
    joined = model.outputs(w, digits.X_test)
    right = {
        name: float(np.mean(np.argmax(outputs, axis=1) == digits.y_test))
        for name, outputs in (("split", split), ("joined", joined))
    }
    return Outputs(split, joined, w[-joined.shape[1] :], right)


def _model() -> Chain:
    return deep_mlp(64, 64, 10)
