"""Training on one machine: the obvious version that every other scheme is compared with."""

from collections.abc import Iterator

from course_lib.models.linear_regression import LinearRegression, Vector, check_examples
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training

__all__ = ["check_training", "gradient_descent", "steps_to_loss", "train", "walk"]


def gradient_descent(
    X: Vector, y: Vector, learning_rate: float = 0.1, steps: int = 100
) -> Training:
    """Fit a linear regression by batch gradient descent: all examples in every step.

    Parameters
    ----------
    X : numpy.ndarray, shape (m, d)
        The examples.
    y : numpy.ndarray, shape (m,)
        The targets.
    learning_rate : float, default: 0.1
        How far to go against the gradient.
    steps : int, default: 100
        How many steps to take, 0 or more.

    Returns
    -------
    Training
        The parameters and the loss before each step.

    Raises
    ------
    TypeError, ValueError
        If the data or a number is unusable.

    Notes
    -----
    Cost: 4 m (d + 1) flops a step, no messages.
    """
    batch = check_examples(X, y)
    check_training(learning_rate, steps)
    model = LinearRegression(n_features=batch[0].shape[1])
    w = model.initial()
    losses = []
    for _ in range(steps):
        loss, grad = model.gradient(w, batch)
        losses.append(loss)
        w = w - learning_rate * grad
    return Training(w, losses)


def train(model: Model, X: Array, y: Array, plan: Plan, optimizer: Optimizer = SGD) -> Training:
    """Train a model by mini-batches, on one machine.

    A batch of one example makes it stochastic gradient descent, a batch of all of them batch
    gradient descent; everything between is called mini-batch.

    Parameters
    ----------
    model : Model
        What is trained.
    X : array, shape (m, ...)
        The examples.
    y : array, shape (m,)
        Their targets.
    plan : Plan
        How to train.
    optimizer : callable, default: SGD
        What makes the thing that takes the steps.

    Returns
    -------
    Training
        The parameters, and the loss over each step's batch before the step.

    Notes
    -----
    Cost: ``model.flops`` of each batch, no messages.
    """
    w = model.initial(plan.seed)
    sgd = optimizer(w, plan)
    losses = []
    for examples, _ in plan.shares(len(y)):
        loss, grad = model.gradient(w, (X[examples], y[examples]))
        losses.append(loss)
        sgd.step(grad)
    return Training(w, losses)


def walk(model: Model, X: Array, y: Array, plan: Plan) -> Iterator[tuple[float, Array]]:
    """Train as ``train`` does, and stop after each step to show where it has got to.

    Parameters
    ----------
    model : Model
        What is trained.
    X : array, shape (m, ...)
        The examples.
    y : array, shape (m,)
        Their targets.
    plan : Plan
        How to train.

    Yields
    ------
    loss : float
        That over the step's batch, before the step.
    w : array, shape (n_parameters,)
        The parameters after the step: the same array each time, so copy what is to be kept.
    """
    w = model.initial(plan.seed)
    sgd = SGD(w, plan)
    for examples, _ in plan.shares(len(y)):
        loss, grad = model.gradient(w, (X[examples], y[examples]))
        sgd.step(grad)
        yield loss, w


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


def check_training(learning_rate: float, steps: int) -> None:
    """Refuse a learning rate that is not above 0, or a number of steps below 0.

    Parameters
    ----------
    learning_rate : float
        How far to go against the gradient.
    steps : int
        How many steps to take.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, what was expected and what was given.
    """
    if isinstance(learning_rate, bool) or not isinstance(learning_rate, int | float):
        raise TypeError(f"learning_rate must be a number, got {type(learning_rate).__name__}")
    if not 0 < learning_rate < float("inf"):
        raise ValueError(f"learning_rate must be above 0 and finite, got {learning_rate}")
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise TypeError(f"steps must be an int, got {steps!r} ({type(steps).__name__})")
    if steps < 0:
        raise ValueError(f"steps must be 0 or more, got {steps}")
