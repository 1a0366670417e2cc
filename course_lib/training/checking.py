"""What every scheme is given, checked: a model, and examples with as many targets."""

from typing import Any

from course_lib.models.model import Model
from course_lib.training.accumulation import Accumulating
from course_lib.training.plan import Plan
from course_lib.words.plain import check_plain

__all__ = ["check_plan", "check_training"]

_NEEDED = [name for name in vars(Model) if not name.startswith("_")]
_HOW = (
    "from_module(module) of course_lib.models makes one of any torch module, and "
    "mlp(64, 32, 10) of course_lib.models.mlp is one"
)


def check_training(model: Any, X: Any, y: Any, plan: Plan | None = None) -> Any:
    """Refuse what cannot be trained, before anything is sent; the first line of every scheme.

    Parameters
    ----------
    model : Model
        What is to be trained.
    X, y : array, shape (m, ...) and (m, ...)
        The examples and their targets.
    plan : Plan or None, default: None
        How to train, where the scheme has a plan.

    Returns
    -------
    Model
        What to train: the model, or one that computes its gradients in ``plan.accumulate`` parts.

    Raises
    ------
    TypeError
        If ``model`` is no ``Model``, or ``X`` or ``y`` no array, masked, or one of objects.
    ValueError
        If there is no example, or not one target for each.
    """
    if isinstance(model, type):
        raise TypeError(f"model must be a Model, got the class {model.__name__}: call it")
    if missing := [name for name in _NEEDED if not hasattr(model, name)]:
        lacks = "" if len(missing) == len(_NEEDED) else f", which has no {', '.join(missing)}"
        raise TypeError(f"model must be a Model, got {type(model).__name__}{lacks}; {_HOW}")
    for name, array in (("X", X), ("y", y)):
        if not getattr(array, "shape", ()):
            raise TypeError(
                f"{name} must be an array with a row for each example, got "
                f"{type(array).__name__}: np.asarray makes one"
            )
        check_plain(array, name)
    n_examples, n_targets = X.shape[0], y.shape[0]  # a sparse array has no len()
    if n_examples == 0 or n_examples != n_targets:
        raise ValueError(
            "X and y must have a row for each example, one at least, "
            f"got {n_examples} rows of X and {n_targets} of y"
        )
    return model if plan is None or plan.accumulate == 1 else Accumulating(model, plan.accumulate)


def check_plan(plan: Plan, scheme: str, *names: str) -> None:
    """Refuse a plan that says what a scheme cannot do.

    Parameters
    ----------
    plan : Plan
        How to train.
    scheme : str
        The scheme's name, for the error.
    *names : str
        Fields of the plan that must be as ``Plan()`` has them.

    Raises
    ------
    ValueError
        If one of them is not.
    """
    for name in names:
        usual, got = getattr(Plan(), name), getattr(plan, name)
        if got != usual:
            raise ValueError(f"{name} must be {usual} for {scheme}, got {got}")
