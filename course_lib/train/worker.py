"""What every rank does: load the data, make the model, train by a scheme of the catalogue."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from course_lib.collectives import allreduce
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.train.auto import is_auto
from course_lib.train.beacon import Beacon
from course_lib.train.catalogue import OPTIONS, SCHEMES
from course_lib.train.logbook import Keeping, Logbook, LoggedPlan
from course_lib.train.outputs import Outputs
from course_lib.train.problem_file import Problem, check_alike
from course_lib.train.problems import MODELS, Data, Kind, load_data
from course_lib.train.row import Row
from course_lib.training import SGD, Optimizer, Plan
from course_lib.training.divergence import past_edge

__all__ = ["TrainingTask", "added_up", "past_edge_of", "work"]

_BY_LAYER = ("layerwise", "layerwise_bucketed", "priority")


@dataclass(frozen=True)
class TrainingTask:
    """A training, as every rank receives it.

    Attributes
    ----------
    scheme : str
        A name in ``SCHEMES``.
    model : str or Problem
        A name in ``MODELS``, or a problem of one's own, which has its data.
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
    optimizer : callable
        What takes the steps.
    allreduce : callable or None
        One that is not of the library; then ``options`` has its name.
    each_has_its_own : bool
        Whether every rank is a program that has made its task itself, as under torchrun.
    """

    scheme: str
    model: str | Problem
    data: str | Data
    plan: Plan
    options: dict[str, Any] = field(default_factory=dict)
    keeping: Keeping = field(default_factory=Keeping)
    progress: Path | None = None
    optimizer: Optimizer = SGD
    allreduce: Callable[..., Array] | None = None
    each_has_its_own: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of model that is trained."""
        return MODELS[self.model] if isinstance(self.model, str) else self.model.kind

    @property
    def examples(self) -> Data:
        """What it is trained on."""
        if isinstance(self.model, Problem):
            return self.model.data
        return load_data(self.data) if isinstance(self.data, str) else self.data


def past_edge_of(task: TrainingTask, workers: int) -> str:
    """Say where the edge of stability is that a training is past; nothing where that is not known.

    Parameters
    ----------
    task : TrainingTask
        What is to be done.
    workers : int
        By how many ranks.

    Returns
    -------
    str
        A sentence, or nothing.
    """
    scheme, examples = SCHEMES[task.scheme], task.examples
    if scheme.edge is None or task.optimizer is not SGD:
        return ""
    edge = "together" if task.options.get("bound") == 0 else scheme.edge
    model = task.kind.make(examples)
    return past_edge(model, examples.X_train, task.plan, workers - scheme.servers, edge)


def added_up(scheme: str, model: Model) -> list[int]:
    """List how many numbers an all-reduce is given at once: those of the model, or of its layers.

    Parameters
    ----------
    scheme : str
        A name in ``SCHEMES``.
    model : Model
        What is trained.

    Returns
    -------
    list of int
        The lengths; buckets have those of several layers.
    """
    layers = [layer.n_parameters for layer in model.layers] if scheme in _BY_LAYER else []
    return [model.n_parameters, *layers]


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
    if isinstance(task.model, Problem) and task.each_has_its_own:
        check_alike(comm, task.model.parts(task.plan))
    scheme, kind = SCHEMES[task.scheme], task.kind
    examples = task.examples
    model = kind.make(examples)
    own = {} if task.allreduce is None else {"allreduce": task.allreduce}
    known = {name: value for name, value in task.options.items() if name not in own}
    options = {name: OPTIONS[name].meaning(value) for name, value in known.items()} | own
    if scheme.whole is not None:
        scheme = replace(scheme, whole=partial(scheme.whole, model=model, **options))
    answer = scheme.outputs and scheme.outputs(comm, model, **options)
    evaluate: Callable[..., tuple[float, float]] = partial(kind.evaluate, model, examples)
    if answer is not None:
        evaluate = partial(kind.evaluate_outputs, examples=examples)
    scheme = replace(scheme, outputs=answer and partial(_of_both, answer, examples))
    beacon = Beacon(task.progress)
    logbook = Logbook(comm, scheme, evaluate, task.keeping, beacon, task.optimizer)
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


def _of_both(answer: Outputs, examples: Data, parts: Sequence[Array]) -> tuple[Array, Array]:
    """Return what a model that no rank holds makes of the examples to train on, and the others."""
    return answer(parts, examples.X_train), answer(parts, examples.X_test)
