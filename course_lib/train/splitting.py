"""Whether a scheme can split a model over so many workers, and which other model it could."""

from collections.abc import Mapping
from typing import Any

from course_lib.models.model import Model
from course_lib.train.catalogue import OPTIONS, SCHEMES
from course_lib.train.problems import MODELS, load_data
from course_lib.training import Plan

__all__ = ["check_split"]


def check_split(
    scheme: str,
    name: str | None,
    model: Model,
    workers: int,
    plan: Plan,
    options: Mapping[str, Any],
    n_examples: int,
) -> None:
    """Refuse a model that cannot be split over so many workers, with the name of one that can.

    Parameters
    ----------
    scheme : str
        A name in ``SCHEMES``.
    name : str or None
        A name in ``MODELS``; None for the model of a problem's file.
    model : Model
        The one to be split.
    workers : int
        How many.
    plan : Plan
        How it is to be trained.
    options : mapping of str to Any
        What the scheme takes, as it was read.
    n_examples : int
        How many there are to train on.

    Raises
    ------
    ValueError
        Saying why not.
    """
    check = SCHEMES[scheme].check
    if check is None:
        return
    given = {option: OPTIONS[option].meaning(value) for option, value in options.items()}
    batch = min(plan.batch_size, n_examples)

    def refusal(candidate: Model) -> str:
        try:
            check(candidate, workers, batch, **given)
        except ValueError as error:
            return str(error)
        return ""

    if not (why := refusal(model)):
        return
    others = [other for other in SCHEMES[scheme].models or MODELS if other != name]
    able = [
        other
        for other in others
        if not refusal(MODELS[other].make(load_data(MODELS[other].data[0])))
    ]
    told = f"; --model {able[0]} can be" if able else ""
    what = "the model of --problem" if name is None else f"--model {name}"
    raise ValueError(
        f"{what} cannot be split over --workers {workers} by --scheme {scheme}: {why}{told}"
    )
