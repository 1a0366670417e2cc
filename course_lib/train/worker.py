"""What every rank does: load the data, make the model, train by a scheme of the catalogue."""

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from course_lib.collectives import allreduce
from course_lib.comm.communicator import Communicator
from course_lib.train.auto import is_auto
from course_lib.train.beacon import Beacon
from course_lib.train.catalogue import OPTIONS, SCHEMES
from course_lib.train.logbook import Keeping, Logbook, LoggedPlan
from course_lib.train.problems import MODELS, Data, load_data
from course_lib.train.row import Row
from course_lib.training import Plan

__all__ = ["TrainingTask", "work"]


@dataclass(frozen=True)
class TrainingTask:
    """A training, as every rank receives it.

    Attributes
    ----------
    scheme, model : str
        Names in ``SCHEMES`` and in ``MODELS``.
    data : str or Data
        The examples, or their name for ranks that can share them.
    plan : Plan
        How to train; ``first_epoch`` is found in the checkpoint.
    options : dict
        Values by name, of ``OPTIONS``.
    keeping : Keeping
        Where checkpoints are kept.
    progress : Path or None
        Where rank 0 writes how far it is.
    """

    scheme: str
    model: str
    data: str | Data
    plan: Plan
    options: dict[str, Any] = field(default_factory=dict)
    keeping: Keeping = field(default_factory=Keeping)
    progress: Path | None = None


def work(comm: Communicator, task: TrainingTask) -> list[Row]:
    """Train, as one of the ranks.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    task : TrainingTask
        What to do, the same on every rank.

    Returns
    -------
    list of Row
        What each epoch came to, those before the checkpoint included; on rank 0 only.
    """
    scheme, kind = SCHEMES[task.scheme], MODELS[task.model]
    examples = load_data(task.data) if isinstance(task.data, str) else task.data
    model = kind.make(examples)
    evaluate = partial(kind.evaluate, model, examples)
    options = {name: OPTIONS[name].meaning(value) for name, value in task.options.items()}
    if scheme.whole is not None:
        scheme = replace(scheme, whole=partial(scheme.whole, model=model, **options))
    logbook = Logbook(comm, scheme, evaluate, task.keeping, Beacon(task.progress))
    plan = LoggedPlan(**vars(task.plan) | {"first_epoch": logbook.first_epoch}, logbook=logbook)
    if is_auto(task.options):
        options["allreduce"] = partial(allreduce, rates=logbook.rates)
    scheme.train(
        comm,
        model,
        examples.X_train,
        examples.y_train,
        plan,
        optimizer=logbook.optimizer,
        **options,
    )
    return logbook.rows
