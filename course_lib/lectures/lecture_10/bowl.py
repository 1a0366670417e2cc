"""Hogwild on a bowl with two parameters: one vector, and steps that overwrite each other."""

from dataclasses import replace
from functools import partial

import numpy as np

from course_lib.comm.launch import run
from course_lib.lectures.lecture_09 import BOWL, CURVATURE, VIEW, X, Y
from course_lib.models.linear_regression import Batch, LinearRegression, Vector
from course_lib.schemes import hogwild
from course_lib.schemes.hogwild import Uneven
from course_lib.trace.events import Note
from course_lib.trace.trace import Trace
from course_lib.training import Plan
from course_lib.viz import Landscape, landscape

__all__ = ["TIMES", "on_bowl", "walks"]

TIMES = {"equal": 0.0, "uneven": 1.0}
"""How much longer a gradient may take, by chance."""

_KEPT = ("w", "staleness", "lost_updates")


class _WholeBowl(LinearRegression):
    """The bowl; its gradient is that of both examples, whichever a worker has drawn."""

    def gradient(self, w: Vector, batch: Batch, weight: float = 1.0) -> tuple[float, Vector]:
        """Compute the slope of the whole bowl."""
        del batch
        return super().gradient(w, (X, Y), weight)


def on_bowl(
    rate: float, lock: str, workers: int = 4, times: str = "equal", steps: int = 12
) -> Trace:
    """Train on the bowl of lecture 09 in memory that all share; every gradient is of both examples.

    Parameters
    ----------
    rate : float
        The rate of one worker's step, times the largest curvature.
    lock : {"none", "striped", "one"}
        What a worker locks for an update.
    workers : int, default: 4
        How many there are.
    times : {"equal", "uneven"}, default: "equal"
        See ``TIMES``.
    steps : int, default: 12
        Of each worker.

    Returns
    -------
    Trace
        With notes of rank 0 alone: where the parameters are after every update, how many updates
        its gradient has missed, in their order, and how many stores were lost.
    """
    X_all, y_all = np.tile(X, (workers, 1)), np.tile(Y, workers)
    plan = Plan(workers * rate / CURVATURE, 2 * workers, steps)
    with np.errstate(all="ignore"):
        made = run(
            partial(hogwild, lock=lock, pace=Uneven(0, TIMES[times])), _WholeBowl(BOWL.n_features),
            X_all, y_all, plan, workers=workers, backend="simulated",
        )  # fmt: skip
    assert made.trace is not None
    notes = [
        Note(0, note.name, note.value, note.time_s)
        for note in made.trace.notes if note.name in _KEPT
    ]  # fmt: skip
    return replace(made.trace, notes=notes)


def walks(rate: float, times: str) -> Landscape:
    """Show the same workers with a lock and without.

    Parameters
    ----------
    rate : float
        See ``on_bowl``.
    times : {"equal", "uneven"}
        See ``TIMES``.

    Returns
    -------
    Landscape
        Two dots: the shared parameters of each run. Arrows come from where gradients are of.
    """
    view = {**VIEW, "title": "Four workers, one vector of parameters", "dots": "replicas"}
    runs = {
        "a lock": on_bowl(rate, "one", times=times),
        "no lock": on_bowl(rate, "none", times=times),
    }
    return landscape(runs, **view)
