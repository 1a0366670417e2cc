"""The schemes by name: to have another one on the command line, add a line to ``SCHEMES``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.collectives import ALLREDUCES, allreduce
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.pipelines import SCHEDULES
from course_lib.schemes import (
    asynchronous_averaging,
    backup_workers,
    bounded_staleness,
    data_parallel,
    diloco,
    downpour,
    gossip,
    hogwild,
    hybrid,
    layerwise,
    layerwise_bucketed,
    local_sgd,
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
    staleness_aware,
)
from course_lib.schemes.gossip import GRAPHS
from course_lib.schemes.priority import order_of_need, priority
from course_lib.split import JOINS
from course_lib.train import divided, outputs, sparing
from course_lib.train.auto import AUTO
from course_lib.train.entries import Option, Scheme
from course_lib.train.states import State
from course_lib.train.usual_plans import averaged, slower_without_momentum, stale, without_momentum
from course_lib.training import Optimizer, Plan, Training
from course_lib.training.checking import LOCKS
from course_lib.training.shards import shards_evenly

__all__ = ["FAMILIES", "OPTIONS", "SCHEMES"]


def _joined(states: Sequence[Sequence[State]], **_: Any) -> Array:
    return np.concatenate([state.w for own in states for state in own])


def _of_first(states: Sequence[Sequence[State]], **_: Any) -> Array:
    return _joined(states[:1])


def _priority(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    order: Callable[[int], list[int]], allreduce: Callable[..., Array], optimizer: Optimizer,
) -> Training:  # fmt: skip
    return priority(comm, model, X, y, plan, order(len(model.layers)), allreduce, optimizer)


def _sharded(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, servers: int,
    optimizer: Optimizer,
) -> Training:  # fmt: skip
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
        "what is predicted to be the fastest, or one of your own, FILE.py:FUNCTION or "
        "MODULE:FUNCTION",
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
    "every": Option("1", "how many steps lie between two averages, or outer steps"),
    "outer_rate": Option("0.7", "how far an outer step goes", is_whole=False),
    "outer_momentum": Option("0.9", "what is kept of the outer step before", is_whole=False),
    "compressor": Option(
        "topk",
        f"what makes gradients smaller: {', '.join(sparing.COMPRESSORS)}",
        dict(zip(sparing.COMPRESSORS, sparing.COMPRESSORS, strict=True)),
    ),
    "k": Option(
        None,
        "how many numbers of its gradient a rank sends; one in a hundred",
        only_with=("compressor", "topk"),
    ),
    "rank": Option(
        "2", "how many columns a gradient's two factors have", only_with=("compressor", "powersgd")
    ),
    "graph": Option(
        "ring",
        f"who is whose neighbour: {', '.join(GRAPHS)}",
        dict(zip(GRAPHS, GRAPHS, strict=True)),
    ),
    "n_fetch": Option("1", "after how many of its batches a replica fetches parameters"),
    "n_push": Option("1", "after how many of its batches a replica pushes what they add up to"),
    "warm_start": Option("0", "how many pushes one replica makes before others begin", least=0),
    "bound": Option(
        "1",
        "how many batches a replica may be ahead of the slowest; without limit: downpour",
        least=0,
    ),
    "backups": Option("1", "for how many workers no step waits", least=0),
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
    "lock": Option(
        "none",
        "what a rank locks of the shared parameters while it updates them: none, striped (one part "
        "after the other), one (all of them)",
        {lock: lock for lock in LOCKS},
    ),
    "stripes": Option(
        "64", "into how many parts the parameters are cut", only_with=("lock", "striped")
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
    "one_shot_averaging": Scheme(one_shot_training, whole=sparing.mean_model),
    "parameter_averaging": Scheme(
        parameter_averaging, ("every", "allreduce"), whole=sparing.mean_model
    ),
    "local_sgd": Scheme(
        local_sgd, ("every", "allreduce"), whole=sparing.mean_model, usual={"every": "8"}
    ),
    "diloco": Scheme(
        diloco,
        ("every", "outer_rate", "outer_momentum", "allreduce"),
        whole=sparing.mean_model,
        fits=sparing.check_outer,
        usual={"every": "8"},
        optimizer="adamw",
    ),
    "gossip": Scheme(gossip, ("graph",), whole=sparing.mean_model, fits=sparing.check_graph),
    "compressed": Scheme(
        sparing.compressed,
        ("compressor", "k", "rank"),
        whole=sparing.of_first,
        fits=sparing.check_compressor,
        usual_plan=without_momentum,
    ),
    "parameter_server": Scheme(parameter_server, servers=1),
    "parameter_server_on_worker": Scheme(parameter_server_on_worker),
    "sharded_parameter_server": Scheme(
        _sharded, ("servers",), whole=_joined, without=("on_epoch",)
    ),
    "downpour": Scheme(
        downpour,
        ("n_fetch", "n_push", "warm_start"),
        servers=1,
        settles=False,
        edge="stale",
        usual_plan=stale,
    ),
    "staleness_aware": Scheme(
        staleness_aware, servers=1, settles=False, edge="by staleness", usual_plan=stale
    ),
    "bounded_staleness": Scheme(
        bounded_staleness,
        ("bound",),
        servers=1,
        settles=False,
        edge="stale",
        usual_plan=stale,
    ),
    "backup_workers": Scheme(backup_workers, ("backups",), servers=1, settles=False),
    "asynchronous_averaging": Scheme(
        asynchronous_averaging, ("every",), servers=1, settles=False, usual_plan=averaged
    ),
    "distbelief": Scheme(
        divided.distbelief,
        ("splits",),
        whole=divided.whole_of_machines,
        servers=1,
        models=("deep_mlp",),
        check=divided.check_machines,
        without=("on_epoch",),
        usual={"splits": "3"},
        usual_plan=slower_without_momentum,
        settles=False,
    ),
    "sharded_data_parallel": Scheme(sharded_data_parallel, whole=_joined),
    # Each rank keeps what its own optimizer goes on from; after an epoch all hold the same model.
    "hogwild": Scheme(hogwild, ("lock", "stripes"), whole=_of_first, without=("clip",)),
    "model_parallel": Scheme(
        model_parallel,
        whole=_joined,
        outputs=outputs.of_stages,
        models=("deep_mlp", "alexnet"),
        check=divided.check_layers,
        without=("on_epoch",),
    ),
    "pipeline": Scheme(
        pipeline,
        ("schedule", "microbatches"),
        whole=divided.whole_of_stages,
        outputs=outputs.of_stages,
        models=("deep_mlp", "alexnet"),
        check=divided.check_pipeline,
        without=("on_epoch",),
    ),
    "sharded": Scheme(
        divided.sharded,
        ("stage",),
        whole=divided.whole_of_shards,
        outputs=outputs.of_shards,
        models=("deep_mlp", "alexnet"),
        check=divided.check_shards,
        without_with={("stage", "3"): ("on_epoch",)},
    ),
    "split_weights": Scheme(
        split_weights,
        whole=divided.whole_of_pairs,
        outputs=outputs.of_pairs,
        models=("deep_mlp", "alexnet"),
        check=divided.check_pairs,
        without=("on_epoch",),
    ),
    "hybrid": Scheme(
        hybrid,
        ("splits", "join"),
        whole=divided.whole_of_grid,
        outputs=outputs.of_grid,
        models=("alexnet", "deep_mlp"),
        check=divided.check_grid,
        without=("on_epoch",),
    ),
}
"""The schemes by name."""

FAMILIES = {
    "on one machine": ("serial", "nn_data_parallel"),
    "data parallelism": ("data_parallel", "layerwise", "layerwise_bucketed", "priority"),
    "models that are averaged": (
        "one_shot_averaging", "parameter_averaging", "local_sgd", "diloco", "gossip",
    ),
    "gradients made smaller": ("compressed",),
    "parameter servers": (
        "parameter_server", "parameter_server_on_worker", "sharded_parameter_server",
    ),
    "shared memory": ("hogwild",),
    "nobody waits for all": (
        "downpour", "staleness_aware", "bounded_staleness", "backup_workers",
        "asynchronous_averaging", "distbelief",
    ),
    "sharded state (ZeRO)": ("sharded_data_parallel", "sharded"),
    "the model split": ("model_parallel", "pipeline", "split_weights", "hybrid"),
}  # fmt: skip
"""Their names by what they have in common."""
