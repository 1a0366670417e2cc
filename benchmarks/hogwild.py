"""Hogwild on two cores against scikit-learn on one: the same sparse rows, order, rate and epochs.

``python -m benchmarks --only hogwild`` measures it, and counts the updates that are lost. The rows
are lines of the packages that are installed here. Compiling is not timed.
"""

import statistics
import time
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples
from course_lib import run
from course_lib.data.source_lines import source_lines
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import hogwild_sparse
from course_lib.training import Plan as TrainingPlan

__all__ = [
    "ALONE",
    "OURS",
    "PEER",
    "LossesDiffer",
    "dense_examples",
    "hogwild_key",
    "measure_hogwild",
    "with_ours",
]

PEER = "scikit-learn SGDClassifier, one core"
OURS, ALONE = "Hogwild, 2 workers", "Hogwild, 1 worker"
_ENGINES = {
    OURS: (2, "none"),
    ALONE: (1, "none"),
    f"{OURS}, a lock for each of 64 stripes": (2, "striped"),
    f"{OURS}, one lock": (2, "one"),
}
_RATE, _EPOCHS, _BLOCK = 0.05, 10, 8192
_ROWS_OF_DENSE, _COLUMNS_OF_DENSE = 20_000, 64
_MOST_APART = 0.01


class LossesDiffer(Exception):
    """Who was measured did not do the same work."""


class Fitted(NamedTuple):
    """How long all epochs took, the loss after them, how many updates there were and were lost."""

    seconds: float
    loss: float
    n_updates: int = 0
    n_lost: int = 0


def hogwild_key(engine: str, n_lines: int) -> Key:
    what = f"{_EPOCHS} epochs of logistic regression, {n_lines:,} source lines"
    return Key(what, 2, engine)


def measure_hogwild(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Measure both, one worker, and locks, in turns; a usual loss that differs is an error."""
    data = source_lines(plan.source_lines)
    X, y = data.X, data.y
    progress.expect(plan.rounds * (1 + len(_ENGINES)) + 6)
    apart: dict[str, list[float]] = defaultdict(list)
    for _ in range(plan.rounds):
        progress.step(f"hogwild: {PEER}")
        expected = with_sklearn(X, y)
        samples.add(hogwild_key(PEER, len(y)), [expected.seconds])
        for engine, (workers, lock) in _ENGINES.items():
            progress.step(f"hogwild: {engine}")
            found = with_ours(X, y, workers, lock)
            samples.add(hogwild_key(engine, len(y)), [found.seconds])
            apart[engine].append(found.loss / expected.loss - 1)
    _check_losses(apart)
    for name, examples in {"source lines": (X, y), "dense examples": dense_examples()}.items():
        for lock in ("none", "striped", "one"):
            progress.step(f"hogwild: lost updates, {name}, lock {lock}")
            found = with_ours(*examples, 2, lock, count=True)
            told = f"{name}, 2 workers, lock {lock}: {found.n_lost:,} of {found.n_updates:,}"
            progress.tell(f"{told} updates lost")
            if lock == "none" and "dense" in name and not found.n_lost:
                progress.tell("the workers never stored at once: measure where nothing else runs")
            if lock != "none" and found.n_lost:
                raise LossesDiffer(f"{told} updates lost, expected none")


def _check_losses(apart: dict[str, list[float]]) -> None:
    """Refuse times of a training that is another one.

    One round may be further off: where other programs take a core, one worker falls behind.
    """
    for engine, of_rounds in apart.items():
        usual = statistics.median(of_rounds)
        if abs(usual) > _MOST_APART:
            raise LossesDiffer(
                f"{engine} usually ends with a loss {usual:+.2%} from that of {PEER}; "
                f"expected within {_MOST_APART:.0%}"
            )


def with_ours(X: Any, y: Any, workers: int, lock: str, count: bool = False) -> Fitted:
    """Fit on real processes; the trace says when the first example was begun and the last done."""
    model = LogisticRegression(X.shape[1])
    plan = TrainingPlan(_RATE, _BLOCK, _EPOCHS)
    result = run(
        hogwild_sparse, model, X, y, plan, lock, 64, count, False, workers=workers, time_limit_s=600
    )
    spans = result.trace.computes
    seconds = max(span.end_s for span in spans) - min(span.start_s for span in spans)
    notes = {note.name: note.value for note in result.trace.notes}
    counted = notes.get("updates", 0), notes.get("lost_updates", 0)
    return Fitted(seconds, model.loss(result.values[0].w, (X, y)), *counted)


def with_sklearn(X: Any, y: Any) -> Fitted:
    """Fit with scikit-learn, on the thread that it uses for two classes."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        loss="log_loss", penalty=None, shuffle=False, tol=None, learning_rate="constant",
        eta0=_RATE, max_iter=_EPOCHS,
    )  # fmt: skip
    start_s = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start_s
    w = np.concatenate([model.intercept_, model.coef_.ravel()])
    return Fitted(seconds, LogisticRegression(X.shape[1]).loss(w, (X, y)))


def dense_examples() -> tuple[Any, Any]:
    """Draw examples that have every feature: each update meets every other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS_OF_DENSE, _COLUMNS_OF_DENSE)) / np.sqrt(_COLUMNS_OF_DENSE)
    y = (X @ rng.normal(size=_COLUMNS_OF_DENSE) + 0.1 * rng.normal(size=len(X)) > 0).astype(int)
    return csr_matrix(X), y
