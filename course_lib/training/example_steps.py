"""SGD one example at a time, for logistic regression on sparse rows: to be read, and compiled.

``steps`` is the one to read. ``compiled_steps`` does the same with the same arguments, some hundred
times as fast, and is what several ranks can run on one vector: it is the only one that locks.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.models.examples import check_targets, check_two_classes
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.model import Array
from course_lib.training.checking import check_plan, check_shared
from course_lib.training.locks import compiled_exchange, compiled_take
from course_lib.training.plan import Plan

__all__ = ["ONE_STRIPE", "Rows", "check_examples", "compiled_steps", "rows_of", "steps"]

ONE_STRIPE = np.uint64(63)
"""By how many bits the number of a column is shifted, so that all belong to stripe 0."""


class Rows(NamedTuple):
    """Sparse rows as a compiled loop wants them, and their classes.

    Numbers of rows and columns are unsigned: an index that may be negative is asked each time
    whether it counts from the end, and that costs a third of the speed.

    Attributes
    ----------
    values : numpy.ndarray of float, shape (nnz,)
        What is stored, row after row.
    columns : numpy.ndarray of uint32, shape (nnz,)
        In which column, ascending in each row.
    starts : numpy.ndarray of uint64, shape (m + 1,)
        Where each row begins, and the last one ends.
    y : numpy.ndarray of float, shape (m,)
        The classes, 0 or 1.
    """

    values: NDArray[np.float64]
    columns: NDArray[np.uint32]
    starts: NDArray[np.uint64]
    y: NDArray[np.float64]

    def n_stored(self, examples: NDArray[np.uint64]) -> int:
        """Count what these rows store."""
        return int((self.starts[examples + np.uint64(1)] - self.starts[examples]).sum())


def check_examples(model: Any, X: Array, y: Array, plan: Plan, lock: str, stripes: int) -> None:
    """Refuse what cannot be learned one sparse example at a time.

    Parameters
    ----------
    model : LogisticRegression
        With ``l2`` 0, so that words that an example has not got stay as they are.
    X : scipy.sparse.csr_matrix, shape (m, d)
        The examples.
    y : numpy.ndarray, shape (m,)
        Their classes, 0 or 1.
    plan : Plan
        How to train; every example is a step against its gradient, and nothing else.
    lock, stripes : str and int
        As for ``check_shared``.

    Raises
    ------
    TypeError, ValueError
        Naming what is unusable, and what was expected.
    """
    if not isinstance(model, LogisticRegression):
        raise TypeError(
            f"model must be a LogisticRegression, got {type(model).__name__}: hogwild takes others"
        )
    if not hasattr(X, "tocsr"):
        raise TypeError(f"X must be a csr_matrix, got {type(X).__name__}: csr_matrix(X) makes one")
    check_shared(model, X, y, plan, lock, stripes)
    check_targets(X, y, model.n_features)
    check_two_classes(y)
    if model.l2:
        raise ValueError(f"l2 must be 0 for hogwild_sparse, got {model.l2}: hogwild takes others")
    others = ("momentum", "warmup_steps", "weight_decay", "schedule", "clip", "accumulate")
    check_plan(plan, "hogwild_sparse", *others, "on_epoch")


def rows_of(X: Any, y: Any) -> Rows:
    """Take a matrix apart.

    Parameters
    ----------
    X : scipy.sparse.csr_matrix or numpy.ndarray, shape (m, d)
        The examples; what lies in order already is not copied.
    y : numpy.ndarray, shape (m,)
        Their classes, 0 or 1.

    Returns
    -------
    Rows
        The same.
    """
    from scipy.sparse import csr_matrix

    X = csr_matrix(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return Rows(
        X.data.astype(float, copy=False), X.indices.astype(np.uint32),
        X.indptr.astype(np.uint64), np.asarray(y, dtype=float),
    )  # fmt: skip


def steps(
    w: NDArray[np.float64], rows: Rows, order: NDArray[np.uint64], rate: float,
    shift: np.uint64 = ONE_STRIPE, words: None = None, seen: NDArray[np.int64] | None = None,
) -> float:  # fmt: skip
    """Take one step for each example, in order: the version to read.

    Parameters
    ----------
    w : numpy.ndarray, shape (d + 1,)
        The parameters, the intercept first; changed in place, and perhaps by others meanwhile.
    rows : Rows
        The examples.
    order : numpy.ndarray of uint64
        The numbers of those to learn from.
    rate : float
        The learning rate.
    shift : numpy.uint64, default: ONE_STRIPE
        Column j belongs to the lock ``j >> shift``.
    words : numpy.ndarray of int64 or None, default: None
        Of the locks; None takes none, and only the compiled version can take one.
    seen : numpy.ndarray of int64, shape (d,), or None, default: None
        What is to be counted up wherever a parameter is changed, in the same way.

    Returns
    -------
    float
        The sum over the examples of the loss before their step.

    Notes
    -----
    Cost: 4 flops for each number that is stored in a row.

    The intercept is part of every example. Changed each time, its cache line would be all that
    several ranks wait for; so each works with its own, and adds what has become of it at the end
    (who locks, under the first lock). ``order`` is to be short: where each of P ranks has found the
    best intercept alone, the sum of their changes goes P times as far.
    """
    del shift, words
    total = 0.0
    first = intercept = w[0]
    weights = w[1:]
    for i in order:
        row = slice(rows.starts[i], rows.starts[i + np.uint64(1)])
        columns, values = rows.columns[row], rows.values[row]
        margin = weights[columns] @ values + intercept
        total += np.logaddexp(0, margin) - rows.y[i] * margin
        step = rate * (np.exp(-np.logaddexp(0, -margin)) - rows.y[i])
        intercept -= step
        weights[columns] -= step * values
        if seen is not None:
            seen[columns] += 1
    w[0] += intercept - first
    return float(total)


@cache
def compiled_steps() -> Callable[..., float]:
    """Compile ``steps``, once in a process, the first time that it is called with such arguments.

    Returns
    -------
    callable
        To be called like ``steps``. Whether there are ``words`` and ``seen`` is decided when it is
        compiled: what is not asked for costs nothing.
    """
    import numba

    one, first_lock = np.uint64(1), np.uint64(0)
    subtract = _compiled_subtract()
    exchange, take = compiled_exchange(), compiled_take()

    def loop(
        w: Any, rows: Any, order: Any, rate: Any, shift: Any = ONE_STRIPE,
        words: Any = None, seen: Any = None,
    ) -> Any:  # fmt: skip
        values, columns, starts, y = rows
        total = 0.0
        first = intercept = w[0]
        weights = w[1:]
        for k in range(np.uint64(order.size)):
            i = order[k]
            begin, end = starts[i], starts[i + one]
            margin = 0.0
            for p in range(begin, end):
                margin += weights[columns[p]] * values[p]
            margin += intercept
            small = np.exp(-abs(margin))  # never overflows
            total += np.log1p(small) + max(margin, 0.0) - y[i] * margin
            likely = (1.0 if margin > 0 else small) / (1.0 + small)
            step = rate * (likely - y[i])
            intercept -= step
            subtract(weights, columns, values, begin, end, step, shift, words, seen)
        if words is not None:
            take(words, first_lock)
        w[0] += intercept - first
        if words is not None:
            exchange(words, first_lock, 0)
        return total

    compiled: Callable[..., float] = numba.njit(nogil=True)(loop)
    return compiled


@cache
def _compiled_subtract() -> Any:
    """Compile the update of one example: the locks are taken here, and nothing else differs."""
    import numba

    exchange, take = compiled_exchange(), compiled_take()
    nobody = np.uint64(2**63)

    def subtract(
        weights: Any, columns: Any, values: Any, begin: Any, end: Any, step: Any, shift: Any,
        words: Any, seen: Any,
    ) -> None:  # fmt: skip
        held = nobody
        for p in range(begin, end):
            j = columns[p]
            if words is not None and j >> shift != held:  # columns ascend: each stripe comes once
                if held != nobody:
                    exchange(words, held, 0)
                held = j >> shift
                take(words, held)
            weights[j] -= step * values[p]
            if seen is not None:
                seen[j] += 1
        if words is not None and held != nobody:
            exchange(words, held, 0)

    return numba.njit(nogil=True)(subtract)
