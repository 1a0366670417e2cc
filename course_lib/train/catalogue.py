"""The schemes by name: to have another one on the command line, add a line to ``SCHEMES``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.collectives import ALLREDUCES, allreduce
from course_lib.comm.communicator import Communicator
from course_lib.console.options import whole
from course_lib.models.model import Array, Model
from course_lib.pipelines import SCHEDULES, MakesSchedule, schedule_for
from course_lib.schemes import (
    data_parallel,
    hybrid,
    layerwise,
    layerwise_bucketed,
    model_parallel,
    nn_data_parallel,
    one_shot_training,
    parameter_averaging,
    parameter_server,
    parameter_server_on_worker,
    pipeline,
    serial,
    sharded_data_parallel,
    sharded_parameter_server,
    split_weights,
)
from course_lib.schemes.priority import order_of_need, priority
from course_lib.split import JOINS
from course_lib.train import divided
from course_lib.train.auto import AUTO
from course_lib.train.states import State
from course_lib.training import Optimizer, Plan, Training
from course_lib.training.shards import shards_evenly
from course_lib.training.stages import cut_into_stages

__all__ = ["FAMILIES", "OPTIONS", "SCHEMES", "Option", "Scheme"]


@dataclass(frozen=True)
class Option:
    """A word on the command line that only some schemes take.

    Attributes
    ----------
    usual : str
        What it is where it is left out.
    help : str
        What it means, for ``--help``.
    choices : mapping or None
        What the scheme is given for each text that is allowed; None takes whole numbers.
    least : int, default: 1
        The smallest number.
    """

    usual: str
    help: str
    choices: Mapping[str, Any] | None = None
    least: int = 1

    def read(self, option: str, text: str | None) -> str | int:
        """Return what checkpoints remember of a text, or raise a sentence about the option."""
        text = self.usual if text is None else text
        if self.choices is None:
            return whole(option, text, self.least)
        if text not in self.choices:
            raise ValueError(f"{option} knows {', '.join(self.choices)}; not {text!r}")
        return text

    def meaning(self, value: Any) -> Any:
        """Return what the scheme is given for what ``read`` returned."""
        return value if self.choices is None else self.choices[value]


@dataclass(frozen=True)
class Scheme:
    """A scheme and what the command line has to know of it.

    Attributes
    ----------
    train : callable
        Called with a communicator, a model, X, y, a plan, and by name ``optimizer`` and the
        options; returns a ``Training``. It calls ``optimizer`` once for each array that it steps,
        and when it asks ``plan.shares`` for the first step of another epoch, all steps are taken.
    options : tuple of str
        Names in ``OPTIONS``.
    whole : callable or None
        Puts the model together from all ranks' states, and by name the model and the options. None:
        those of rank 0 stand for all.
    servers : int, default: 0
        How many ranks only serve, where no option says so.
    most_workers : int or None
        If there is a limit of its own.
    models : tuple of str or None
        Names in ``MODELS`` of those it can train; None for all.
    check : callable or None
        Called before anything starts with a model, the number of workers, the examples of a batch
        and by name the options; raises ValueError where it cannot be split so. None: any can.
    without : tuple of str
        Fields of a plan that it cannot carry out.
    """

    train: Callable[..., Training]
    options: tuple[str, ...] = ()
    whole: Callable[..., Array] | None = None
    servers: int = 0
    most_workers: int | None = None
    models: tuple[str, ...] | None = None
    check: Callable[..., None] | None = None
    without: tuple[str, ...] = ()


def _mean(states: Sequence[Sequence[State]], **_: Any) -> Array:
    return np.mean([_joined([own]) for own in states], axis=0)


def _joined(states: Sequence[Sequence[State]], **_: Any) -> Array:
    return np.concatenate([state.w for own in states for state in own])


def _by_stage(
    states: Sequence[Sequence[State]], schedule: MakesSchedule, microbatches: int, **_: Any
) -> Array:
    """Put stages one after another, each rank's in its order: the schedule says where each is."""
    own = [iter(of_rank) for of_rank in states]
    placement = schedule(len(states), microbatches).placement
    return np.concatenate([next(own[rank]).w for rank in placement])


def _check_layers(model: Model, workers: int, _: int) -> None:
    cut_into_stages(model, workers)


def _check_pipeline(
    model: Model, workers: int, batch: int, schedule: MakesSchedule, microbatches: int
) -> None:
    cut_into_stages(model, schedule_for(workers, schedule, microbatches, batch).n_stages)


def _priority(
    comm: Communicator,
    model: Model,
    X: Array,
    y: Array,
    plan: Plan,
    order: Callable[[int], list[int]],
    allreduce: Callable[..., Array],
    optimizer: Optimizer,
) -> Training:
    return priority(comm, model, X, y, plan, order(len(model.layers)), allreduce, optimizer)


def _sharded(
    comm: Communicator,
    model: Model,
    X: Array,
    y: Array,
    plan: Plan,
    servers: int,
    optimizer: Optimizer,
) -> Training:
    shards = shards_evenly(model.n_parameters, servers)
    return sharded_parameter_server(comm, model, X, y, plan, shards, optimizer)


def _by_need(n_layers: int) -> list[int]:
    """Order the layers where one exchange takes longer than the whole of back-propagation."""
    return order_of_need(
        [float(n_layers - i) for i in range(n_layers)], [float(n_layers)] * n_layers
    )


def _as_ready(n_layers: int) -> list[int]:
    return list(range(n_layers))[::-1]


OPTIONS = {
    "allreduce": Option(
        "ring",
        f"how gradients or models are added up: {', '.join(ALLREDUCES)}, or auto, which takes "
        "what is predicted to be the quickest",
        {**ALLREDUCES, AUTO: allreduce},
    ),
    "bucket_bytes": Option(
        "25000000", "layers wait for each other until they are so many bytes", least=0
    ),
    "order": Option(
        "need",
        "which layer's gradient goes next: need, the first layer that is ready; ready, the last",
        {"need": _by_need, "ready": _as_ready},
    ),
    "every": Option("1", "how many steps lie between two averages"),
    "servers": Option("2", "how many ranks only keep a part of the model"),
    "schedule": Option(
        "1f1b", f"in which order micro-batches are worked on: {', '.join(SCHEDULES)}", SCHEDULES
    ),
    "microbatches": Option("8", "into how many parts a batch is cut"),
    "splits": Option("2", "over how many ranks a fully connected layer is split"),
    "join": Option(
        "all_at_once",
        f"whose examples are computed when in fully connected layers: {', '.join(JOINS)}",
        JOINS,
    ),
    "stage": Option(
        "1",
        "what is sharded: 1, the optimizer's state; 2, gradients as well; 3, parameters as well",
        divided.STAGES,
    ),
}
"""What only some schemes take, by name; ``--every`` for one."""

SCHEMES = {
    "serial": Scheme(serial, most_workers=1),
    "data_parallel": Scheme(data_parallel, ("allreduce",)),
    "layerwise": Scheme(layerwise, ("allreduce",)),
    "layerwise_bucketed": Scheme(layerwise_bucketed, ("bucket_bytes", "allreduce")),
    "priority": Scheme(_priority, ("order", "allreduce"), without=("clip", "accumulate")),
    "nn_data_parallel": Scheme(nn_data_parallel, models=("mlp", "conv"), without=("accumulate",)),
    "one_shot_averaging": Scheme(one_shot_training, whole=_mean),
    "parameter_averaging": Scheme(parameter_averaging, ("every", "allreduce"), whole=_mean),
    "parameter_server": Scheme(parameter_server, servers=1),
    "parameter_server_on_worker": Scheme(parameter_server_on_worker),
    "sharded_parameter_server": Scheme(
        _sharded, ("servers",), whole=_joined, without=("on_epoch",)
    ),
    "sharded_data_parallel": Scheme(sharded_data_parallel, whole=_joined),
    "model_parallel": Scheme(
        model_parallel,
        whole=_joined,
        models=("deep_mlp", "alexnet"),
        check=_check_layers,
        without=("on_epoch",),
    ),
    "pipeline": Scheme(
        pipeline,
        ("schedule", "microbatches"),
        whole=_by_stage,
        models=("deep_mlp", "alexnet"),
        check=_check_pipeline,
        without=("on_epoch",),
    ),
    "sharded": Scheme(
        divided.sharded, ("stage",), whole=divided.whole_of_shards, models=("deep_mlp", "alexnet")
    ),
    "split_weights": Scheme(
        split_weights,
        whole=divided.whole_of_pairs,
        models=("deep_mlp", "alexnet"),
        check=divided.check_pairs,
    ),
    "hybrid": Scheme(
        hybrid,
        ("splits", "join"),
        whole=divided.whole_of_grid,
        models=("alexnet",),
        check=divided.check_grid,
    ),
}
"""The schemes by name."""

FAMILIES = {
    "on one machine": ("serial", "nn_data_parallel"),
    "data parallelism": ("data_parallel", "layerwise", "layerwise_bucketed", "priority"),
    "models that are averaged": ("one_shot_averaging", "parameter_averaging"),
    "parameter servers": (
        "parameter_server", "parameter_server_on_worker", "sharded_parameter_server",
    ),
    "sharded state (ZeRO)": ("sharded_data_parallel", "sharded"),
    "the model split": ("model_parallel", "pipeline", "split_weights", "hybrid"),
}  # fmt: skip
"""Their names by what they have in common."""
