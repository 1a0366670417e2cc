"""What the lecture trains, on every host alike: a small net, digits, and the plan."""

import os

from course_lib.comm.result import Result
from course_lib.data.digits import load_digits
from course_lib.models.mlp import mlp
from course_lib.training import Plan

__all__ = ["X", "kept", "model", "plan", "y"]

_digits = load_digits()
X, y = _digits.X_train[:1408], _digits.y_train[:1408]
model = mlp(64, 32, 10)
plan = Plan(learning_rate=0.5, batch_size=128, epochs=4)


def kept(name: str, result: Result) -> Result:
    """Save the trace of a run in the current folder, if this is the rank that has all of it.

    Parameters
    ----------
    name : str
        The file's, without ``.json``.
    result : Result
        Of ``run``.

    Returns
    -------
    Result
        The same.
    """
    if os.environ.get("RANK", "0") == "0" and result.trace is not None:
        result.trace.save(f"{name}.json")
    return result
