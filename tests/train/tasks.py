"""Small trainings for the tests: no torch, a few steps, all that a checkpoint has to keep."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from course_lib import run
from course_lib.train.catalogue import SCHEMES
from course_lib.train.checkpoint import Checkpoint, load
from course_lib.train.logbook import Keeping
from course_lib.train.problems import Data, load_data
from course_lib.train.worker import TrainingTask, work
from course_lib.training import SGD, Plan

WORKERS = 4
# 13 steps an epoch: after 3 epochs the warm-up goes on, and 39 is no multiple of 5.
PLAN = Plan(0.2, 32, epochs=6, momentum=0.9, warmup_steps=50, seed=3)
CASES = {
    "serial": {},
    "data_parallel": {"allreduce": "ring"},
    "layerwise": {"allreduce": "ring"},
    "layerwise_bucketed": {"allreduce": "ring", "bucket_bytes": 0},
    "priority": {"order": "need", "allreduce": "ring"},
    "nn_data_parallel": {},
    "one_shot_averaging": {},
    "parameter_averaging": {"every": 5, "allreduce": "tree"},
    "local_sgd": {"every": 5, "allreduce": "ring"},
    "diloco": {"every": 5, "outer_rate": 0.7, "outer_momentum": 0.9, "allreduce": "ring"},
    "gossip": {"graph": "ring"},
    "compressed": {"compressor": "topk", "k": 2, "rank": 1},
    "parameter_server": {},
    "parameter_server_on_worker": {},
    "sharded_parameter_server": {"servers": 2},
    "downpour": {"n_fetch": 2, "n_push": 3, "warm_start": 2},
    "staleness_aware": {},
    "bounded_staleness": {"bound": 1},
    "backup_workers": {"backups": 1},
    "asynchronous_averaging": {"every": 2},
    "distbelief": {"splits": 3},
    "sharded_data_parallel": {},
    "hogwild": {"lock": "striped", "stripes": 2},
    "model_parallel": {},
    "pipeline": {"schedule": "zb_v", "microbatches": 5},
    "sharded": {"stage": "3"},
    "split_weights": {},
    "hybrid": {"splits": 2, "join": "by_turns"},
}
"""Each scheme of the catalogue with its options."""


@cache
def few_digits() -> Data:
    """Return every seventh of the digits: networks take long, and no step is another for it."""
    return Data(*(rows[::7] for rows in load_data("digits")))


def workers_of(scheme: str) -> int:
    return 1 if scheme == "serial" else WORKERS


def task_of(
    scheme, folder: Path | None = None, *, data="moons", plan=PLAN, resume=False, model=None,
    optimizer=SGD, **options,
):  # fmt: skip
    keeping = Keeping(folder, resume=resume, made_with={"scheme": scheme})
    model = model or (SCHEMES[scheme].models or ("logistic",))[0]
    ways = scheme, model, data, plan, CASES[scheme] | options, keeping
    return TrainingTask(*ways, optimizer=optimizer)


def trained(scheme, folder: Path | None = None, **changes):
    """Train on the simulator; return rank 0's rows."""
    task = task_of(scheme, folder, **changes)
    return run(work, task, workers=workers_of(scheme), backend="simulated").values[0]


def bits(checkpoint: Checkpoint) -> list[bytes]:
    """Return all that must be the same to the bit."""
    found = [checkpoint.w.tobytes()]
    for own in checkpoint.states:
        for w, kept, n_steps in own:
            found += [w.tobytes(), b"%d" % n_steps]
            found += [name.encode() + array.tobytes() for name, array in sorted(kept.items())]
    return [*found, repr([row[:3] for row in checkpoint.rows]).encode()]


def bits_in(folder: Path) -> list[bytes]:
    return bits(load(folder))
