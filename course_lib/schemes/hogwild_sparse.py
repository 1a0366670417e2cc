"""Hogwild as it is meant: sparse examples, one at a time (``training.example_steps``), compiled.

See ``hogwild``, also for its source.
"""

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.model import Array
from course_lib.training import Plan, Training
from course_lib.training.batches import epoch_batches
from course_lib.training.divergence import check_finite, check_parameters
from course_lib.training.example_steps import check_examples, compiled_steps, rows_of, steps
from course_lib.training.locks import LINE, Locks, check_lock, stripe_shift, why_not_compiled
from course_lib.words.split import split_evenly

__all__ = ["hogwild_sparse"]


def hogwild_sparse(
    comm: Communicator, model: LogisticRegression, X: Array, y: Array, plan: Plan,
    lock: str = "none", stripes: int = 64, count: bool = False, shuffle: bool = True,
) -> Training:  # fmt: skip
    """Fit a logistic regression by steps of one example each, in memory that all ranks share.

    An example x of class y: w -= rate (sigmoid(w x + intercept) - y) x. Only columns that x has are
    touched, so ranks seldom meet; each keeps an intercept of its own for a batch.

    Parameters
    ----------
    plan : Plan
        Each example is a step. Changes of the intercept are added up after each batch: short ones.
    lock, stripes : str and int, default: "none" and 64
        As for ``hogwild``; a stripe is as wide as a power of 2, so there may be fewer.
    count, shuffle : bool, default: False and True
        Whether to count changes, as racily, and note "updates" and "lost_updates"; and whether each
        epoch has its own order, else batches are as the rows stand.

    Notes
    -----
    Cost of an epoch: 4 flops for each number that X stores; no messages. All meet after it.
    """
    check_examples(model, X, y, plan, lock, stripes)
    check_lock(lock, comm.survives)
    rows, per_row = rows_of(X, y), X.nnz / len(y)
    w = comm.shared_array(model.n_parameters)
    seen = comm.shared_array(model.n_features, "int64")
    n_stripes = stripes if lock == "striped" else 1
    words = comm.shared_array(n_stripes * LINE, "int64")
    if lock != "none":
        Locks(words)  # says so where there can be none
    loop = _loop(comm)
    shift = stripe_shift(model.n_features, n_stripes)
    asked = plan.learning_rate, shift, None if lock == "none" else words, seen if count else None
    loop(w.copy(), rows, np.empty(0, np.uint64), *asked)  # compiled here, before it is timed
    losses, n_changed = [], comm.shared_array(comm.size, "int64")
    for step, (examples, n_in_batch) in enumerate(_shares(comm, plan, len(y), shuffle)):
        with comm.compute("examples", flops=4.0 * per_row * len(examples)):
            loss = loop(w, rows, examples, *asked) / n_in_batch
        check_finite(loss, step, plan.learning_rate)
        comm.note("loss_partial", loss)
        losses.append(loss)
        if count:
            n_changed[comm.rank] += rows.n_stored(examples)
    check_parameters(w, plan)  # all have met after the last epoch
    if count and comm.rank == 0:
        comm.note("updates", int(n_changed.sum()))
        comm.note("lost_updates", int(n_changed.sum() - seen.sum()))
    return Training(w.copy(), losses)


def _loop(comm: Communicator) -> Callable[..., float]:
    if why := why_not_compiled():
        if comm.rank == 0:
            warnings.warn(f"{why}: hogwild_sparse runs a hundred times as long", stacklevel=3)
        return steps
    return compiled_steps()


def _shares(
    comm: Communicator, plan: Plan, n_examples: int, shuffle: bool
) -> Iterator[tuple[NDArray[np.uint64], int]]:
    """Yield this rank's examples of each batch, and how many all have; meet after each epoch."""
    for epoch in range(plan.first_epoch, plan.epochs):
        comm.barrier()
        for batch in _batches(plan, n_examples, epoch, shuffle):
            examples = batch[split_evenly(len(batch), comm.size)[comm.rank]]
            yield examples.astype(np.uint64), len(batch)
    comm.barrier()


def _batches(plan: Plan, n_examples: int, epoch: int, shuffle: bool) -> Iterator[NDArray[np.int64]]:
    if shuffle:
        yield from epoch_batches(n_examples, plan.batch_size, epoch, plan.seed)
        return
    for start in range(0, n_examples, plan.batch_size):
        yield np.arange(start, min(start + plan.batch_size, n_examples))
