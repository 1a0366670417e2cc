"""A right run of each task in which ranks talk: a failing run is compared with it.

The messages are those of the solutions. ``ping_pong`` has none here: it may warm up, or not. A
function that is being examined cannot import this module.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from course_lib.checks.sandbox import Observation, observe
from course_lib.checks.steps import Step, first_other_message, n_first_alike
from course_lib.checks.task import Case, Task
from course_lib.collectives import (
    allreduce_butterfly,
    allreduce_ring,
    allreduce_tree,
    broadcast_tree,
    reduce_scatter_ring,
)
from course_lib.comm.communicator import Communicator
from course_lib.comm.shipping import pack_call
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes.map_reduce import combine
from course_lib.trace.events import Collective
from course_lib.trace.trace import Trace
from course_lib.words.split import split_evenly

__all__ = ["OTHER_WAYS", "RIGHT", "first_other_step", "right_runs"]


def first_other_step(task: Task, case: Case, seen: Observation) -> Step | None:
    """Find the first step of a run that is not as in a right one.

    Parameters
    ----------
    task : Task
        Makes the arguments.
    case : Case
        What was run.
    seen : Observation
        What was seen of it.

    Returns
    -------
    Step or None
        None where the messages are alike, the task has no right run, or the collectives that it
        leaves to choose are others.
    """
    if task.name not in RIGHT or case.alone or seen.trace is None:
        return None
    right = max(right_runs(task, case), key=lambda run: _alike(seen, run))
    if right.trace is None:
        return None
    if task.may_use_collectives:
        ours, theirs = _chosen(seen.trace), _chosen(right.trace)
        for one, two in zip(ours, theirs, strict=False):
            if one.name.partition("_")[0] != two.name.partition("_")[0]:
                says = f"{one.name} is called, in a right run {two.name}"
                return Step(one.entered_s, says)
            if one.name != two.name:
                return None
        if not ours:
            return None
    return first_other_message(seen.trace, seen.weights, right.trace, right.weights)


def right_runs(task: Task, case: Case) -> list[Observation]:
    """Run what is right over one case, in each of the ways that are as good.

    Parameters
    ----------
    task : Task
        One that is in ``RIGHT``.
    case : Case
        What to run.

    Returns
    -------
    list of Observation
        What was seen; first of the way that most take.
    """
    ways = (RIGHT[task.name], *OTHER_WAYS.get(task.name, ()))
    return [observe(pack_call(way, ()), task, case, limit_s=1.0) for way in ways]


def _alike(seen: Observation, right: Observation) -> tuple[int, int]:
    """Count the first messages of each pair of ranks that are as long, and then that weigh alike.

    Where the order of two collectives is free, a run is compared with the right one of its order.
    """
    if seen.trace is None or right.trace is None:
        return (-1, -1)
    return n_first_alike(seen.trace, seen.weights, right.trace, right.weights)


def _chosen(trace: Trace) -> list[Collective]:
    """List the collectives that rank 0 entered, without those that they called themselves."""
    first: dict[tuple[str, int], Collective] = {}
    for event in trace.collectives:
        if event.rank == 0:
            first.setdefault((event.comm, event.number), event)
    return list(first.values())


def _pass_around(comm: Communicator, x: Any) -> Any:
    """Add up on a message that goes round."""
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x, dst=right)
        return comm.recv(src=left)
    total = comm.recv(src=left) + x
    comm.send(total, dst=right)
    return total


def _shift_right(comm: Communicator, x: Any) -> Any:
    """Send to the right and receive from the left."""
    if comm.size == 1:
        return x.copy()
    return comm.sendrecv(x, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)


def _map_reduce(comm: Communicator, X: Any, y: Any, learning_rate: float, steps: int) -> Any:
    """Sum over this rank's rows, and let rank 0 combine."""
    rows = split_evenly(len(y), comm.size)[comm.rank]
    model = LinearRegression(n_features=X.shape[1])
    w = model.initial()
    for _ in range(steps):
        grad_partial = model.gradient_sum(w, (X[rows], y[rows]))[1]
        w = combine(comm, grad_partial, w, learning_rate / len(y))
    return w


def _weighted_mean(comm: Communicator, grad: Any, n_examples: int) -> Any:
    """Add up the counts, then the gradients by their counts."""
    total = allreduce_ring(comm, np.array([float(n_examples)]))
    return allreduce_ring(comm, n_examples * grad) / total


def _weighted_mean_gradients_first(comm: Communicator, grad: Any, n_examples: int) -> Any:
    """Add up the gradients by their counts, then the counts."""
    total = allreduce_ring(comm, n_examples * grad)
    return total / allreduce_ring(comm, np.array([float(n_examples)]))


def _weighted_mean_at_once(comm: Communicator, grad: Any, n_examples: int) -> Any:
    """Add up gradients and counts in one array."""
    total = allreduce_ring(comm, np.append(n_examples * grad, float(n_examples)))
    return total[:-1] / total[-1]


def _data_parallel(
    comm: Communicator, model: Any, w: Any, X: Any, y: Any, learning_rate: float, batch_size: int
) -> Any:
    """Broadcast the model, then add up each batch's gradient."""
    w = broadcast_tree(comm, w)
    for start in range(0, len(y), batch_size):
        X_batch, y_batch = X[start : start + batch_size], y[start : start + batch_size]
        mine = split_evenly(len(y_batch), comm.size)[comm.rank]
        grad_partial = np.zeros_like(w)
        if mine.stop > mine.start:
            grad = model.gradient(w, (X_batch[mine], y_batch[mine]))[1]
            grad_partial = (mine.stop - mine.start) / len(y_batch) * grad
        w = w - learning_rate * allreduce_ring(comm, grad_partial)
    return w


def _average_every(
    comm: Communicator, model: Any, w: Any, X_local: Any, y_local: Any, learning_rate: float,
    every: int,
) -> Any:  # fmt: skip
    """Step alone, and average the models now and then."""
    for step in range(1, len(y_local) + 1):
        row = slice(step - 1, step)
        w = w - learning_rate * model.gradient(w, (X_local[row], y_local[row]))[1]
        if step % every == 0 or step == len(y_local):
            w = allreduce_ring(comm, w) / comm.size
    return w


def _parameter_server(
    comm: Communicator, w: Any, gradient: Any, learning_rate: float, steps: int
) -> Any:
    """Rank 0 keeps the model, the others compute gradients."""
    workers = range(1, comm.size)
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w = w.copy()
    for _ in range(steps):
        for dst in workers:
            comm.send(w, dst)
        w -= learning_rate * sum((comm.recv(src) for src in workers), np.zeros_like(w))
    for dst in workers:
        comm.send(w, dst)
    return w


def _asynchronous_server(
    comm: Communicator, w: Any, gradient: Any, learning_rate: float, steps: int
) -> Any:
    """Rank 0 steps with whatever comes, and answers whoever has more to push."""
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w, left = w.copy(), dict.fromkeys(range(1, comm.size), steps)
    for dst in left:
        comm.send(w, dst)
    while any(left.values()):
        src, grad = comm.recv_any()
        w -= learning_rate * grad
        left[src] -= 1
        if left[src]:
            comm.send(w, src)
    for dst in left:
        comm.send(w, dst)
    return w


def _exchange_layerwise(
    comm: Communicator,
    backward: Callable[[Communicator], Iterator[tuple[int, Any]]],
    allreduce: Callable[..., Any],
) -> list[Any]:
    """Start each layer's sum as soon as its gradient is known."""
    pending = [comm.start(allreduce, gradient) for _, gradient in backward(comm)]
    return [exchange.wait() for exchange in reversed(pending)]


def _column_row(
    comm: Communicator, x: Any, dy: Any, columns: Any, b1: Any, rows: Any, b2: Any
) -> dict[str, Any]:
    """Add up the parts of the outputs, and those of the slope in the inputs."""
    hidden = np.maximum(x @ columns.T + b1, 0)
    y = allreduce_ring(comm, hidden @ rows.T) + b2
    return {"y": y, "dx": allreduce_ring(comm, (dy @ rows * (hidden > 0)) @ columns)}


def _swap_halos(comm: Communicator, rows: Any, halo: int) -> Any:
    """Send to both neighbours, and then receive from them."""
    wide = np.pad(rows, ((halo, halo), (0, 0)))
    above, below, going = comm.rank - 1, comm.rank + 1, []
    if above >= 0:
        going.append(comm.isend(rows[:halo], above))
    if below < comm.size:
        going.append(comm.isend(rows[-halo:], below))
        wide[-halo:] = comm.recv(below)
    if above >= 0:
        wide[:halo] = comm.recv(above)
    for message in going:
        message.wait()
    return wide


RIGHT: dict[str, Callable[..., Any]] = {
    fn.__name__.removeprefix("_"): fn
    for fn in (
        _pass_around, _shift_right, combine, _map_reduce, _weighted_mean, _data_parallel,
        _average_every, _parameter_server, _asynchronous_server, allreduce_tree, _column_row,
        _swap_halos, allreduce_butterfly, reduce_scatter_ring, allreduce_ring, _exchange_layerwise,
    )
}  # fmt: skip
"""By the name of the task."""

OTHER_WAYS: dict[str, tuple[Callable[..., Any], ...]] = {
    "weighted_mean": (_weighted_mean_gradients_first, _weighted_mean_at_once),
}
"""Right runs that send other messages: in another order, or fewer."""
