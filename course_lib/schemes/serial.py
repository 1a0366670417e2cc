"""Training on one machine: the obvious version that every other scheme is compared with."""

from course_lib.models.linear_regression import LinearRegression, Vector, check_examples
from course_lib.models.model import Array, Model
from course_lib.schemes.plan import Plan, Training

__all__ = ["check_training", "gradient_descent", "train"]


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


def train(model: Model, X: Array, y: Array, plan: Plan) -> Training:
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

    Returns
    -------
    Training
        The parameters, and the loss over each step's batch before the step.

    Notes
    -----
    Cost: ``model.flops`` of each batch, no messages.
    """
    w = model.initial(plan.seed)
    descent = plan.descent(w)
    losses = []
    for examples, _ in plan.shares(len(y)):
        loss, grad = model.gradient(w, (X[examples], y[examples]))
        losses.append(loss)
        descent.step(w, grad)
    return Training(w, losses)


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
