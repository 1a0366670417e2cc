"""A network that starts beside a saddle: the loss stands still, and then it falls."""

from course_lib.models.model import Batch, Model
from course_lib.training import Plan

__all__ = ["off_a_plateau"]


def off_a_plateau(
    model: Model, data: Batch, plan: Plan, shrink: float, target: float
) -> list[tuple[int, float]]:
    """Train from beside the saddle where all parameters are zero, and watch the loss leave it.

    Parameters
    ----------
    model : Model
        What is trained.
    data : tuple of arrays
        Examples and targets.
    plan : Plan
        How; momentum is not used.
    shrink : float
        What the usual first parameters are multiplied by.
    target : float
        The loss over all examples at which it has left.

    Returns
    -------
    list of (int, float)
        The step and the loss over all examples after it, up to the target or the plan's end.
    """
    w = shrink * model.initial(plan.seed)
    curve = [(0, float(model.loss(w, data)))]
    for step, (examples, _) in enumerate(plan.shares(len(data[1])), start=1):
        w = w - plan.learning_rate * model.gradient(w, (data[0][examples], data[1][examples]))[1]
        curve.append((step, float(model.loss(w, data))))
        if curve[-1][1] < target:
            break
    return curve
