"""What every scheme is given, checked: a model, and examples with as many targets."""

from typing import Any

from course_lib.models.model import Model
from course_lib.training.accumulation import Accumulating
from course_lib.training.plan import Plan
from course_lib.words.plain import check_plain
from course_lib.words.real import real
from course_lib.words.whole import whole

__all__ = ["LOCKS", "check_function", "check_outer", "check_plan", "check_shared", "check_training"]

LOCKS = ("none", "striped", "one")
"""What a rank may lock of parameters that all ranks step."""

_NEEDED = [name for name in vars(Model) if not name.startswith("_")]
_HOW = (
    "from_module(module) of course_lib.models makes one of any torch module, and "
    "mlp(64, 32, 10) of course_lib.models.mlp is one"
)

_FUNCTIONS = {
    "optimizer": "Adam or from_torch(torch.optim.RMSprop) of course_lib.training",
    "allreduce": "allreduce_ring of course_lib.collectives",
}
"""What may be given for an argument that is a function, for the error."""


def check_training(model: Any, X: Any, y: Any, plan: Plan | None = None, **functions: Any) -> Any:
    """Refuse what cannot be trained, before anything is sent; the first line of every scheme.

    Parameters
    ----------
    model : Model
        What is to be trained.
    X, y : array, shape (m, ...) and (m, ...)
        The examples and their targets.
    plan : Plan or None, default: None
        How to train, where the scheme has a plan.
    **functions
        What else the scheme calls, by the argument's name: its optimizer, its all-reduce.

    Returns
    -------
    Model
        What to train: the model, or one that computes its gradients in ``plan.accumulate`` parts.

    Raises
    ------
    TypeError
        If ``model`` is no ``Model``, ``X`` or ``y`` no array, masked, or one of objects, or one of
        the functions none.
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
    for name, function in functions.items():
        check_function(name, function)
    return model if plan is None or plan.accumulate == 1 else Accumulating(model, plan.accumulate)


def check_function(name: str, function: Any) -> None:
    """Refuse what cannot be called, and a class of torch.optim, which is not called so.

    Parameters
    ----------
    name : str
        The argument's name.
    function : callable
        What was given for it.

    Raises
    ------
    TypeError
        If it is none.
    """
    like = f", such as {_FUNCTIONS[name]}" if name in _FUNCTIONS else ""
    if not callable(function):
        raise TypeError(
            f"{name} must be a function{like}, got {function!r} ({type(function).__name__})"
        )
    kind = getattr(function, "func", function)  # of a partial
    bases = getattr(kind, "__mro__", ())
    if ("torch.optim.optimizer", "Optimizer") in [(b.__module__, b.__name__) for b in bases]:
        raise TypeError(
            f"{name} must be a function that makes what steps, got torch's class {kind.__name__}: "
            f"from_torch({kind.__name__}) of course_lib.training, with its options, makes one"
        )


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


def check_shared(
    model: Any, X: Any, y: Any, plan: Plan, lock: str = "none", stripes: int = 1, **functions: Any
) -> Any:
    """Refuse what cannot be trained on shared parameters, before any memory is asked for.

    Parameters
    ----------
    model : Model
        What is to be trained.
    X, y : array, shape (m, ...) and (m, ...)
        The examples and their targets.
    plan : Plan
        How to train.
    lock : str, default: "none"
        One of ``LOCKS``.
    stripes : int, default: 1
        Into how many parts the parameters are cut.
    **functions
        What else the scheme calls, by the argument's name.

    Returns
    -------
    Model
        What ``check_training`` returns.

    Raises
    ------
    TypeError, ValueError
        As ``check_training`` does; and if there is no such lock, no stripe, or a sparse ``X`` whose
        rows cannot be chosen, or that the model cannot take.
    """
    trained = check_training(model, X, y, plan, **functions)
    if lock not in LOCKS:
        raise ValueError(f"lock must be one of {', '.join(LOCKS)}, got {lock!r}")
    whole("stripes", stripes, least=1)
    if hasattr(X, "tocsr"):
        if X.format != "csr":
            raise TypeError(f"X must be a csr_matrix, got {type(X).__name__}: X.tocsr() makes one")
        _check_columns(X)
        try:
            model.loss(model.initial(plan.seed), (X[:1], y[:1]))
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            model.loss(model.initial(plan.seed), (X[:1].toarray(), y[:1]))  # or it is not that
            raise TypeError(
                f"a {type(model).__name__} cannot take a sparse X ({error}): train a "
                "LogisticRegression, or make X dense with X.toarray()"
            ) from error
    return trained


def check_outer(every: int, outer_rate: float, outer_momentum: float) -> None:
    """Refuse outer steps, as DiLoCo takes them, that are none.

    Parameters
    ----------
    every : int
        How many inner steps lie between two of them.
    outer_rate, outer_momentum : float
        How far they go, and what they keep of the one before.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, what was expected and what was given.
    """
    whole("every", every, least=1)
    real("outer_rate", outer_rate)
    real("outer_momentum", outer_momentum)
    if not 0 < outer_rate < float("inf"):
        raise ValueError(f"outer_rate must be above 0 and finite, got {outer_rate}")
    if not 0 <= outer_momentum < 1:
        raise ValueError(f"outer_momentum must be 0 or more and below 1, got {outer_momentum}")


def _check_columns(X: Any) -> None:
    """Refuse a sparse X whose numbers lie beside it, which SciPy takes without a look."""
    if X.nnz and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
        raise ValueError(
            f"X must have column indices from 0 to {X.shape[1] - 1}, got {X.indices.min()} to "
            f"{X.indices.max()}; in some files they begin with 1: take 1 from each"
        )
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"X must be a csr_matrix that is whole: {error}") from None
