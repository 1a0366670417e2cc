"""Lecture 03: a data-parallel loop that can be broken in five ways, and what gives each away."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib import run
from course_lib.collectives import ALLREDUCES, allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Model
from course_lib.training import Plan

__all__ = [
    "BUGS",
    "Seen",
    "broken",
    "checksum",
    "checksums",
    "epochs_to",
    "in_all_orders",
    "unequal_parts",
]

BUGS = (
    "no broadcast",
    "no all-reduce",
    "sum for mean",
    "unequal parts, equal weights",
    "one shard for all",
)
"""What can be wrong with ``broken``."""

UNEQUAL = "unequal parts, equal weights"


class Seen(NamedTuple):
    """What one rank sees of a training.

    Attributes
    ----------
    losses : list of float
        The rank's own loss before each step.
    first, last : float
        The sum of its parameters before the first step and after the last.
    images : list of int
        The numbers of the images that it has computed with.
    """

    losses: list[float]
    first: float
    last: float
    images: list[int]


def broken(
    comm: Communicator,
    model: Model,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    plan: Plan,
    bug: str | None = None,
) -> Seen:
    """Train data parallel as one writes it first, with at most one bug.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    model : Model
        What is trained.
    X : numpy.ndarray, shape (n_examples, n_features)
        The examples, all of them, on every rank.
    y : numpy.ndarray, shape (n_examples,)
        Their classes.
    plan : Plan
        How; its batch is cut into one part a rank.
    bug : str or None, default: None
        One of ``BUGS``, or None: then this is data parallelism.

    Returns
    -------
    Seen
        What this rank has seen.

    Raises
    ------
    ValueError
        If the bug is none of ``BUGS``.
    """
    if bug is not None and bug not in BUGS:
        raise ValueError(f"bug must be None or one of {', '.join(BUGS)}; got {bug!r}")
    w = model.initial(seed=comm.rank if bug == "no broadcast" else plan.seed)
    first = checksum(w)
    losses: list[float] = []
    images: list[int] = []
    comm.note("checksum", first)
    for batch, _ in plan.shares(len(y)):
        parts = unequal_parts(batch) if bug == UNEQUAL else np.array_split(batch, comm.size)
        part = parts[0 if bug == "one shard for all" else comm.rank]
        loss, grad = model.gradient(w, (X[part], y[part]))
        if bug != "no all-reduce":
            wrong = {UNEQUAL: 1 / comm.size, "sum for mean": 1.0}
            grad *= wrong.get(bug or "", len(part) / len(batch))
            allreduce_ring(comm, grad, out=grad)
        w = w - plan.learning_rate * grad
        comm.note("loss_partial", loss / comm.size)
        comm.note("checksum", checksum(w))
        losses.append(loss)
        images.extend(int(number) for number in part)
    return Seen(losses, first, checksum(w), images)


def epochs_to(
    model: Model, X: NDArray[np.float64], y: NDArray[np.int64], plan: Plan, target: float
) -> int | None:
    """Train until the mean loss of an epoch is below a target; return the number of epochs.

    Parameters
    ----------
    model : Model
        What is trained.
    X : numpy.ndarray, shape (n_examples, n_features)
        The examples.
    y : numpy.ndarray, shape (n_examples,)
        Their classes.
    plan : Plan
        How; its ``epochs`` are the most that are tried.
    target : float
        The loss to reach.

    Returns
    -------
    int or None
        Epochs, from 1; None if the target was not reached, or the training diverged.
    """
    w, of_epoch, epoch = model.initial(plan.seed), [], 0
    start = None
    for step, (batch, _) in enumerate(plan.shares(len(y)), start=1):
        loss, grad = model.gradient(w, (X[batch], y[batch]))
        w = w - plan.learning_rate * grad
        start = loss if start is None else start
        if not loss < 4 * start:
            return None
        of_epoch.append(loss)
        if step % plan.steps_per_epoch(len(y)) == 0:
            epoch += 1
            if np.mean(of_epoch) < target:
                return epoch
            of_epoch = []
    return None


def in_all_orders(
    model: Model, X: NDArray[np.float64], y: NDArray[np.int64], workers: int = 32
) -> tuple[int, float]:
    """Add up the parts of one gradient in the orders of four all-reduces, and compare.

    Parameters
    ----------
    model : Model
        Whose gradient, at its first parameters.
    X : numpy.ndarray, shape (n_examples, n_features)
        The examples of one batch.
    y : numpy.ndarray, shape (n_examples,)
        Their targets.
    workers : int, default: 32
        Into how many equal parts the batch is cut.

    Returns
    -------
    n_results : int
        How many different results there are, 1 to 4.
    spread : float
        The largest difference of two, relative to the largest entry.
    """
    plan = Plan(batch_size=len(y))

    def gradient(comm: Communicator, name: str) -> NDArray[np.float64]:
        examples, weight = next(iter(plan.shares(len(y), comm.rank, comm.size)))
        part = model.gradient(model.initial(), (X[examples], y[examples]))[1]
        total: NDArray[np.float64] = ALLREDUCES[name](comm, weight * part)
        return total

    names = ("central", "tree", "butterfly", "ring")
    runs = [run(gradient, name, workers=workers, backend="simulated") for name in names]
    found = np.array([made.values[0] for made in runs])
    return len({row.tobytes() for row in found}), float(
        np.ptp(found, axis=0).max() / np.abs(found).max()
    )


def checksum(w: NDArray[np.float64]) -> float:
    """Return one number that tells two models apart: the sum of the parameters."""
    return float(w.sum())


def unequal_parts(batch: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut a batch into four parts of 1/16, 1/16, 1/16 and 13/16."""
    sixteenth = len(batch) // 16
    return np.split(batch, [sixteenth, 2 * sixteenth, 3 * sixteenth])


def checksums(seen: Mapping[int, Seen]) -> list[dict[str, object]]:
    """List by rank the three checksums that tell the five bugs apart.

    Parameters
    ----------
    seen : mapping of int to Seen
        What each rank has seen.

    Returns
    -------
    list of dict
        A row a rank: the parameters at first and at last, each as a sum, and how many images it
        has computed with, with the sum of their numbers.
    """
    return [
        {
            "rank": rank,
            "parameters at first": round(one.first, 4),
            "parameters at last": round(one.last, 4),
            "images": len(one.images),
            "sum of their numbers": sum(one.images),
        }
        for rank, one in seen.items()
    ]
