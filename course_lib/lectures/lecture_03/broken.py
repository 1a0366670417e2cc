"""A data-parallel loop that can be broken in five ways, and what gives each away."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Model
from course_lib.training import Plan
from course_lib.viz import Chart, Table, chart, table

__all__ = [
    "BUGS",
    "Seen",
    "broken",
    "checksum",
    "checksums",
    "diagnose",
    "mean_loss",
    "unequal_parts",
    "weight_of",
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
CASES = dict(zip("ABCDE", (BUGS[3], BUGS[1], BUGS[4], BUGS[0], BUGS[2]), strict=True))
"""Which case of the diagnosis has which bug."""

SIGNS = {
    "no broadcast": "the replicas begin apart and stay as far apart as they are",
    "no all-reduce": "the replicas begin alike and end apart: each has trained alone",
    "sum for mean": "all ranks are alike, and the first step is four times one machine's",
    "unequal parts, equal weights": "all parameters are alike, but not the numbers of images",
    "one shard for all": "all ranks have computed with the same images: their numbers add up alike",
}
"""What gives each bug away."""


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
    step : float
        How long its first step was, as a vector of all parameters.
    """

    losses: list[float]
    first: float
    last: float
    images: list[int]
    step: float


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
    steps: list[float] = []
    comm.note("checksum", first)
    for batch, _ in plan.shares(len(y)):
        parts = unequal_parts(batch) if bug == UNEQUAL else np.array_split(batch, comm.size)
        part = parts[0 if bug == "one shard for all" else comm.rank]
        loss, grad = model.gradient(w, (X[part], y[part]))
        if bug != "no all-reduce":
            grad *= weight_of(part, batch, comm.size, bug)
            allreduce_ring(comm, grad, out=grad)
        w = w - plan.learning_rate * grad
        comm.note("loss_partial", loss / comm.size)
        comm.note("checksum", checksum(w))
        losses.append(loss)
        images.extend(int(number) for number in part)
        steps.append(plan.learning_rate * float(np.linalg.norm(grad)))
    return Seen(losses, first, checksum(w), images, steps[0])


def weight_of(
    part: NDArray[np.int64], batch: NDArray[np.int64], size: int, bug: str | None = None
) -> float:
    """Return with which weight a part's mean gradient goes into the batch's, right or wrong."""
    wrong = {UNEQUAL: 1 / size, "sum for mean": 1.0}
    return wrong.get(bug or "", len(part) / len(batch))


def checksum(w: NDArray[np.float64]) -> float:
    """Return one number that tells two models apart: the sum of the parameters."""
    return float(w.sum())


def unequal_parts(batch: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut a batch into four parts of 1/16, 1/16, 1/16 and 13/16."""
    sixteenth = len(batch) // 16
    return np.split(batch, [sixteenth, 2 * sixteenth, 3 * sixteenth])


def checksums(seen: Sequence[Seen], alone: Seen) -> Table:
    """Lay out what one machine has seen and what each rank has.

    Parameters
    ----------
    seen : sequence of Seen
        What each rank has seen.
    alone : Seen
        What one machine has seen that trains as it should be.

    Returns
    -------
    Table
        The parameters at first and at last, each as a sum, how many images a rank has computed
        with, the sum of their numbers, and the length of the first step.
    """
    rows = {"one machine": alone, **{f"rank {rank}": one for rank, one in enumerate(seen)}}
    return table(
        {
            name: {
                "parameters at first": f"{one.first:.4f}",
                "at last": f"{one.last:.4f}",
                "images": f"{len(one.images):,}",
                "sum of their numbers": f"{sum(one.images):,}",
                "first step": f"{one.step:.4f}",
            }
            for name, one in rows.items()
        }
    )


def diagnose(case: str, answer: str, runs: Mapping[str | None, Any], alone: Any) -> Chart:
    """Show a training with a bug, and judge what the learner says that it is.

    Parameters
    ----------
    case : str
        "A" to "E"; which bug that is nobody says before the answer.
    answer : str
        One of ``BUGS``, or "?".
    runs : mapping of str or None to Result
        A run of ``broken`` for each bug, and for None.
    alone : Result
        The run without a bug on one rank.

    Returns
    -------
    Chart
        Both losses, what each rank and one machine have seen, and a sentence on the answer.
    """
    bug, usual = CASES[case], "as it should be"
    said = "Which bug is it? Choose your answer."
    if answer != "?":
        right = answer == bug
        said = f"Yes: {SIGNS[bug]}." if right else f"Not case {case}: with that, {SIGNS[answer]}."
    curves = {usual: mean_loss(runs[None]), f"case {case}": mean_loss(runs[bug])}
    seen = checksums(runs[bug].values, alone.values[0])
    return chart(
        curves, x_label="updates", y_label="loss", y_range=(0, 3.2), x_range=(1, 22),
        reference=usual, below=seen, said=said,
    )  # fmt: skip


def mean_loss(made: Any) -> list[tuple[float, float]]:
    """Average the ranks' losses, step by step.

    Parameters
    ----------
    made : Result
        A run of ``broken``.

    Returns
    -------
    list of (float, float)
        The number of each update, from 1, and the mean of the ranks' losses before it.
    """
    losses = np.mean([one.losses for one in made.values], axis=0)
    return [(float(step), float(loss)) for step, loss in enumerate(losses, start=1)]
