"""Training on one machine: the obvious version that every other scheme is compared with."""

from collections.abc import Iterator
from dataclasses import replace

from course_lib.comm.communicator import Communicator
from course_lib.models.linear_regression import LinearRegression, Vector, check_examples
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training
from course_lib.training.compute import Compute, untimed

__all__ = ["gradient_descent", "serial", "steps_to_loss", "train", "walk"]


def walk(
    model: Model, X: Array, y: Array, plan: Plan, optimizer: Optimizer = SGD,
    compute: Compute = untimed,
) -> Iterator[tuple[float, Array]]:  # fmt: skip
    """Train by mini-batches, and stop after each step to show where it has got to.

    A batch of one example makes it stochastic gradient descent, a batch of all of them batch
    gradient descent; everything between is called mini-batch.

    Parameters
    ----------
    model : Model
        What is trained.
    X, y : array, shape (m, ...) and (m,)
        The examples and their targets.
    plan : Plan
        How to train.
    optimizer : callable, default: SGD
        What makes the thing that takes the steps.
    compute : callable, default: untimed
        ``comm.compute`` of a rank, to have the gradients on its timeline.

    Yields
    ------
    loss : float
        That over the step's batch, before the step.
    w : array, shape (n_parameters,)
        The parameters after the step: the same array each time, so copy what is to be kept.
    """
    model = check_training(model, X, y, plan)
    w = model.initial(plan.seed)
    sgd = optimizer(w, plan)
    for examples, _ in plan.shares(len(y), w=w):
        batch = X[examples], y[examples]
        with compute("gradient", flops=model.flops(batch)):
            loss, grad = model.gradient(w, batch)
        sgd.step(grad)
        yield loss, w


def train(
    model: Model, X: Array, y: Array, plan: Plan, optimizer: Optimizer = SGD,
    compute: Compute = untimed,
) -> Training:  # fmt: skip
    """Train a model by mini-batches, on one machine.

    Parameters
    ----------
    model : Model
        What is trained.
    X, y : array, shape (m, ...) and (m,)
        The examples and their targets.
    plan : Plan
        How to train.
    optimizer : callable, default: SGD
        What makes the thing that takes the steps.
    compute : callable, default: untimed
        ``comm.compute`` of a rank, to have the gradients on its timeline.

    Returns
    -------
    Training
        The parameters, and the loss over each step's batch before the step.

    Notes
    -----
    Cost: ``model.flops`` of each batch, no messages.
    """
    check_training(model, X, y, optimizer=optimizer)
    w, losses = model.initial(plan.seed), []
    for loss, w in walk(model, X, y, plan, optimizer, compute):  # noqa: B007 - the last one stays
        losses.append(loss)
    return Training(w, losses)


def serial(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, optimizer: Optimizer = SGD
) -> Training:
    """Train on every rank what one process would train: with one rank it is the serial version.

    Notes
    -----
    Cost: ``model.flops`` of each batch, no messages.
    """
    check_training(model, X, y, optimizer=optimizer)
    w, losses = model.initial(plan.seed), []
    for loss, w in walk(model, X, y, plan, optimizer, comm.compute):  # noqa: B007 - the last stays
        comm.note("loss_partial", loss / comm.size)  # each rank has it whole
        losses.append(loss)
    return Training(w, losses)


def gradient_descent(X: Vector, y: Vector, plan: Plan) -> Training:
    """Fit a linear regression by batch gradient descent: all examples in every step.

    Parameters
    ----------
    X : numpy.ndarray, shape (m, d)
        The examples.
    y : numpy.ndarray, shape (m,)
        The targets.
    plan : Plan
        How to train. An epoch is one step, whatever the batch size.

    Returns
    -------
    Training
        The parameters and the loss before each step.

    Raises
    ------
    TypeError, ValueError
        If the data is unusable.

    Notes
    -----
    Cost: 4 m (d + 1) flops a step, no messages.
    """
    X, y = check_examples(X, y)
    return train(LinearRegression(X.shape[1]), X, y, replace(plan, batch_size=len(y)))


def steps_to_loss(
    model: Model, X: Array, y: Array, plan: Plan, target: float, look_every: int = 1
) -> int | None:
    """Count the steps until the loss over all examples is below a target.

    Parameters
    ----------
    model : Model
        What is trained.
    X : array, shape (m, ...)
        The examples.
    y : array, shape (m,)
        Their targets.
    plan : Plan
        How to train; its epochs are the limit.
    target : float
        The loss to get below.
    look_every : int, default: 1
        After how many steps the loss over all examples is computed: that is no part of training.

    Returns
    -------
    int or None
        A multiple of ``look_every``; None where the epochs end before.
    """
    for n_steps, (_, w) in enumerate(walk(model, X, y, plan), start=1):
        if n_steps % look_every == 0 and model.loss(w, (X, y)) < target:
            return n_steps
    return None
