"""The same training twice, as one of the ranks: by our data parallelism, and by PyTorch's DDP.

``torchrun … -m cluster.training FILE`` is one of the ranks; the first one writes the file.
"""

import json
import os
import statistics
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from benchmarks.ddp import network_of
from cluster.timing import come_first
from course_lib import run
from course_lib.comm.communicator import Communicator
from course_lib.comm.result import Result
from course_lib.lectures.lecture_12 import X, y
from course_lib.models.mlp import mlp
from course_lib.schemes import data_parallel
from course_lib.training import Plan

__all__ = ["N_BYTES", "train_twice"]

_WIDTHS = (64, 256, 256, 10)
_MODEL = mlp(*_WIDTHS)
_PLAN = Plan(learning_rate=0.2, batch_size=128, epochs=2)
N_BYTES = _MODEL.initial().nbytes
"""Of the gradient, in double precision: 0.7 MB."""


def train_twice() -> dict[str, Any]:
    """Return what each way has done: every rank's share of each step's loss, and a step's time.

    The program that has the first rank has all of it, every other one nothing.
    """
    made = {
        "ours": run(data_parallel, _MODEL, X, y, _PLAN, backend="torch"),
        "DDP": run(_with_ddp, backend="torch"),
    }
    return {name: _told(result) for name, result in made.items() if result.is_whole}


def _with_ddp(comm: Communicator) -> None:
    network = DistributedDataParallel(network_of(_WIDTHS, _MODEL.initial()))
    optimizer = torch.optim.SGD(network.parameters(), lr=_PLAN.learning_rate)
    for mine, weight in _PLAN.shares(len(y), comm.rank, comm.size):
        optimizer.zero_grad()
        loss = cross_entropy(network(torch.tensor(X[mine])), torch.tensor(y[mine]))
        comm.note("loss_partial", float(loss.detach()) * weight)
        loss.backward()
        optimizer.step()


def _told(result: Result) -> dict[str, Any]:
    assert result.trace is not None
    notes = result.trace.notes_named("loss_partial")
    by_rank = [[note for note in notes if note.rank == rank] for rank in range(len(result.values))]
    times_s = [note.time_s for note in by_rank[0]]
    return {
        "losses": [[note.value for note in of_one] for of_one in by_rank],
        "step_s": statistics.median(later - before for before, later in pairwise(times_s)),
    }


def main(file: str) -> None:
    come_first()
    found = train_twice()
    if os.environ["RANK"] == "0":
        Path(file).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
