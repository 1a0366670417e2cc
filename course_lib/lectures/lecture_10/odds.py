"""How much is lost if all load, then all store: a formula, and runs of the scheme itself."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.data.text_like import text_like
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.model import Batch
from course_lib.schemes import hogwild
from course_lib.schemes.hogwild import Uneven
from course_lib.trace.trace import Trace
from course_lib.training import Plan, Training
from course_lib.viz import Chart, chart, table

__all__ = [
    "COLUMNS",
    "EPOCHS",
    "EXAMPLES",
    "SPARSITY",
    "STEP",
    "explorer_chart",
    "losses",
    "lost_share",
    "lost_share_chart",
    "problem",
    "share_lost",
    "trained",
]

COLUMNS, EXAMPLES, EPOCHS = 100, 48, 6
STEP = 0.5
"""Of one example's step."""

SPARSITY = {"2 of 100": 2, "10 of 100": 10, "all 100": 100}
"""How many parameters an example has, by what the explorer calls it; an intercept comes on top."""

_TOUCHED = (1, 2, 5, 10, 20, 50, 100)


def lost_share(workers: int, touched: int, columns: int) -> float:
    """Say which part of all stores is lost if all workers load at once, then all store.

    Parameters
    ----------
    workers : int
        How many there are, P.
    touched : int
        How many parameters each changes, k, drawn at random.
    columns : int
        How many parameters there are, d.

    Returns
    -------
    float
        Of each parameter that m workers change, m - 1 stores are lost: in the mean
        ``1 - d / (P k) * (1 - (1 - k / d) ** P)`` of all.

    Examples
    --------
    >>> round(lost_share(2, 10, 1000), 6), lost_share(4, 7, 7)
    (0.005, 0.75)
    """
    kept = columns * (1 - (1 - touched / columns) ** workers)
    return 1 - kept / (workers * touched)


def lost_share_chart(workers: int) -> Chart:
    """Draw the lost share over the share of parameters that an update changes.

    Parameters
    ----------
    workers : int
        How many store at the same moment.

    Returns
    -------
    Chart
        The formula's curve, and points that were counted: 400 updates each.
    """
    curve = [(float(k), 100 * lost_share(workers, k, 100)) for k in range(1, 101)]
    points = {f"{k} %": (float(k), 100 * _counted(workers, k)) for k in _TOUCHED}
    return chart(
        {f"{workers} workers, formula": curve}, points=points, x_log=True, x_ticks=_TOUCHED,
        x_label="% of the parameters that an update changes", y_label="% of stores lost",
        y_range=(0, 100), said=f"Dense: {100 * lost_share(workers, 100, 100):.0f} % are lost.",
    )  # fmt: skip


@lru_cache
def _counted(workers: int, touched: int, columns: int = 100, rounds: int = 400) -> float:
    """Let all load, then all store, many times; count what is missing."""
    rng, lost = np.random.default_rng([workers, touched]), 0
    for _ in range(rounds):
        changed = [rng.permutation(columns)[:touched] for _ in range(workers)]
        lost += workers * touched - len(np.unique(np.concatenate(changed)))
    return lost / (rounds * workers * touched)


@lru_cache
def problem(touched: int) -> tuple[LogisticRegression, Any, Any]:
    """Draw examples that have so many of all parameters.

    Parameters
    ----------
    touched : int
        How many of ``COLUMNS``: words of a text, all equally frequent, or all of them.

    Returns
    -------
    model : LogisticRegression
        To be trained.
    X, y : scipy.sparse.csr_matrix or numpy.ndarray, and numpy.ndarray
        The examples.
    """
    model = LogisticRegression(COLUMNS)
    if touched < COLUMNS:
        text = text_like(EXAMPLES, COLUMNS, touched, exponent=0, seed=1)
        return model, text.X, text.y
    rng = np.random.default_rng(1)
    X = rng.normal(size=(EXAMPLES, COLUMNS)) / np.sqrt(COLUMNS)
    return model, X, (X @ rng.normal(size=COLUMNS) > 0).astype(int)


@lru_cache(maxsize=64)
def trained(touched: int, workers: int, lock: str = "none", rate: float = STEP) -> Trace:
    """Train by ``hogwild`` in virtual time, one example a step.

    Parameters
    ----------
    touched : int
        How many parameters an example has.
    workers : int
        How many train.
    lock : {"none", "striped", "one"}, default: "none"
        What a worker locks for an update; "striped" has 8 locks.
    rate : float, default: STEP
        Of one example's step.

    Returns
    -------
    Trace
        With the scheme's notes, and rank 0's ``"loss"``: over all examples, whenever it loads the
        parameters, and at the end. To look takes no virtual time.
    """
    _, X, y = problem(touched)
    plan = Plan(rate * workers, workers, EPOCHS)  # its share of a batch is one example
    made = run(_train, X, y, plan, lock, workers=workers, backend="simulated")
    assert made.trace is not None
    return made.trace


def share_lost(trace: Trace, touched: int) -> float:
    """Read off which part of all stores was lost.

    Parameters
    ----------
    trace : Trace
        Of ``trained``.
    touched : int
        What it was called with.

    Returns
    -------
    float
        From 0 to 1.
    """
    _, X, _ = problem(touched)
    stored = EPOCHS * (int((X != 0).sum()) + EXAMPLES)
    return sum(float(note.value) for note in trace.notes_named("lost_updates")) / stored


def losses(trace: Trace) -> list[tuple[float, float]]:
    """Read off the mean loss of each epoch, each example's before its own step.

    Parameters
    ----------
    trace : Trace
        Of ``trained``.

    Returns
    -------
    list of (float, float)
        The epoch, from 1, and its loss.
    """
    notes = trace.notes_named("loss_partial")
    by_rank = [[note.value for note in notes if note.rank == r] for r in range(trace.size)]
    steps = np.array(by_rank, dtype=float).sum(axis=0).reshape(EPOCHS, -1)
    return [(float(k), float(loss)) for k, loss in enumerate(steps.mean(axis=1), start=1)]


def explorer_chart(
    workers: int, sparsity: int, lock: str, here: Mapping[tuple[int, str, str], float]
) -> Chart:
    """Draw what becomes of the loss, and how much is lost, in virtual time; say the pace here.

    Parameters
    ----------
    workers : int
        How many train.
    sparsity : int
        How many parameters an example has.
    lock : {"none", "striped", "one"}
        What a worker locks for an update.
    here : dict of (int, str, str) to float
        Steps a second that were measured on this computer, by workers, kind and lock.

    Returns
    -------
    Chart
        The loss of each epoch beside one worker's, and a table below.
    """
    trace, alone = trained(sparsity, workers, lock), trained(sparsity, 1)
    kind = next(name for name, touched in SPARSITY.items() if touched == sparsity)
    ages = [float(note.value) for note in trace.notes_named("staleness")]
    measured = "not measured"
    if (workers, kind, lock) in here:
        measured = f"{here[workers, kind, lock] / here[1, kind, 'none']:.2f}"
    told = {
        "stores lost, %": round(100 * share_lost(trace, sparsity), 1),
        "mean age of a gradient": round(float(np.mean(ages)), 2),
        "times as fast, virtual": round(alone.end_s / trace.end_s, 2),
        "times as fast, here": measured,
    }
    return chart(
        {"these workers": losses(trace), "one worker": losses(alone)},
        x_label="epoch", y_label="loss", y_range=(0.2, 0.85), x_range=(1, EPOCHS),
        reference="one worker", below=table({"beside one worker": told}),
        said=f"{told['stores lost, %']} % of all stores are lost.",
    )  # fmt: skip


class _Watched(LogisticRegression):
    """Has rank 0 note the loss over all examples, of what it loads for each of its gradients."""

    def __init__(self, comm: Communicator, X: Any, y: Any) -> None:
        super().__init__(COLUMNS)
        object.__setattr__(self, "note", partial(_note_loss, comm, X, y))

    def gradient(
        self, w: NDArray[np.float64], batch: Batch, weight: float = 1.0
    ) -> tuple[float, NDArray[np.float64]]:
        """Note, then compute what is asked for."""
        getattr(self, "note")(w)  # noqa: B009 - the class is frozen
        return super().gradient(w, batch, weight)


def _train(comm: Communicator, X: Any, y: Any, plan: Plan, lock: str) -> Training:
    model = _Watched(comm, X, y)
    made = hogwild(comm, model, X, y, plan, lock=lock, stripes=8, pace=Uneven(0, 0.5))
    _note_loss(comm, X, y, made.w)
    return made


def _note_loss(comm: Communicator, X: Any, y: Any, w: NDArray[np.float64]) -> None:
    if comm.rank == 0:
        comm.note("loss", LogisticRegression(COLUMNS).loss(np.array(w), (X, y)))
