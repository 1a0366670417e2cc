"""Faults of a run over torch.distributed: of its network, its group, its collectives."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from course_lib.comm.errors import WorkerError, WorkerExited, WorkerKilled
from tests.faults.table import Case, row
from tests.programs import REPOSITORY

BROKEN = {
    "HOSTNAME": "no-such-host.invalid",
    "MASTER_ADDR": "no-such-host.invalid",
    "MASTER_PORT": "1",
    "RANK": "7",
    "WORLD_SIZE": "9",
    "GLOO_SOCKET_IFNAME": "nosuch0",
}
"""What a computer far from its network may say of it, and what other programs have left there."""


def all_reduce(comm):
    """Add up the ranks, by a collective of torch's own and by messages."""
    import torch
    import torch.distributed as dist

    total = torch.tensor([float(comm.rank)])
    dist.all_reduce(total)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    from_left = comm.rank
    if comm.size > 1:
        from_left = int(comm.sendrecv(np.array([comm.rank]), dst=right, src=left)[0])
    return float(total[0]), from_left


def check_well(values):
    size = len(values)
    assert values == [(size * (size - 1) / 2, (rank - 1) % size) for rank in range(size)]


@row(
    64,
    "no network, or a wrong name for this computer",
    variants={"variables": "variables", "its own name": "hostname"},
    spawned=("variables",),
    posix=True,
)
def the_loopback_is_all_it_needs(case: Case) -> None:
    if case.variant == "variables":
        with pytest.MonkeyPatch.context() as patch:
            for name, value in BROKEN.items():
                patch.setenv(name, value)
            check_well(case.run(all_reduce, backend="torch").values)
        return
    script = (
        "from course_lib import run\n"
        "from tests.faults.distributed import all_reduce, check_well\n"
        f"check_well(run(all_reduce, workers={case.workers}, backend='torch',"
        f" start_method={case.start_method!r}).values)\n"
        "print('well')\n"
    )
    renamed = ["unshare", "--user", "--map-root-user", "--uts", "sh", "-c"]
    text = 'hostname no-such-host.invalid && exec "$0" -c "$1"'
    try:
        done = subprocess.run(
            [*renamed, text, sys.executable, script], cwd=REPOSITORY, capture_output=True,
            text=True, timeout=100, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("the computer's name can be changed for one program on Linux alone")
    if "unshare" in done.stderr or "hostname" in done.stderr:
        pytest.skip(f"the computer's name cannot be changed here: {done.stderr}")
    assert done.stdout == "well\n", done.stderr


def leave_it_open(comm):
    """Use the default group and another, and close neither."""
    import torch.distributed as dist

    dist.new_group()
    return all_reduce(comm)


@row(65, "a group that is there already, or was left half-way", limit_s=1.0, least=2, spawned=())
def every_run_has_a_group_of_its_own(case: Case) -> None:
    import torch.distributed as dist

    bad_rank, fault = case.bad_rank, case.fault

    def half_way(comm):
        all_reduce(comm)
        if comm.rank == bad_rank:
            fault()
            raise RuntimeError("half-way")
        all_reduce(comm)

    def once_more(comm):
        fault()
        dist.init_process_group("gloo")

    store = dist.FileStore(str(case.folder / "notebook"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        check_well(case.run(leave_it_open, backend="torch").values)
        error = case.failing(WorkerError, half_way, backend="torch")
        assert error.rank == bad_rank
        assert str(error.original) == "half-way"
        check_well(case.run(leave_it_open, backend="torch").values)  # the cell is run again
        error = case.failing(WorkerError, once_more, backend="torch")
        assert "initialize the default process group twice" in str(error)
    finally:
        dist.destroy_process_group()


@row(66, "a file by which an earlier run has met", spawned=())
def it_is_never_used_again(case: Case) -> None:
    stale = Path(tempfile.mkdtemp(prefix=f"cl-{os.getpid()}-"))
    for folder in (stale, Path(tempfile.gettempdir())):
        (folder / "store").write_bytes(b"what another run has left\0" * 100)
    for _ in range(2):
        check_well(case.run(all_reduce, backend="torch").values)
    for folder in (stale, Path(tempfile.gettempdir())):
        (folder / "store").unlink()  # it is still there: nobody has touched it
    stale.rmdir()


def train(comm, bad_rank, steps_of_bad, fault, how):
    """Train with DistributedDataParallel; the bad rank differs in one way."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    class TwoLayers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

        def forward(self, x, skip):
            return self.first(x) if skip else self.second(self.first(x))

    model, is_bad = DistributedDataParallel(TwoLayers()), comm.rank == bad_rank
    for step in range(3):
        if is_bad and step == steps_of_bad:
            fault()
            if how == "fewer":
                return
        model(torch.ones(2, 4), is_bad and how == "unused").sum().backward()


def in_all_reduce(comm, bad_rank, fault, how):
    """Fail, or not, where the others wait in torch's own all-reduce."""
    import torch
    import torch.distributed as dist

    dist.all_reduce(torch.ones(10))
    if comm.rank == bad_rank:
        fault()
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exits":
            os._exit(5)
        raise KeyError("planned")
    dist.all_reduce(torch.ones(10))


@row(
    67,
    "a rank dies in a collective of torch",
    limit_s=1.0,
    variants={how: how for how in ("raises", "killed", "exits")},
    spawned=("killed",),
    workers=3,
    least=2,
    posix=True,
)
def the_rank_that_died_is_named_first(case: Case) -> None:
    kinds = {"raises": WorkerError, "killed": WorkerKilled, "exits": WorkerExited}
    error = case.failing(
        kinds[case.variant], in_all_reduce, case.bad_rank, case.fault, case.variant,
        backend="torch",
    )  # fmt: skip
    check_blame(error, case)


@row(
    67,
    "a rank of DistributedDataParallel leaves parameters unused, or has a batch less",
    limit_s=1.0,
    variants={"unused": "unused", "a batch less": "fewer"},
    spawned=(),
    workers=3,
    least=2,
    posix=True,
)
def the_original_failure_is_told_first(case: Case) -> None:
    arguments = (case.bad_rank, 1, case.fault, case.variant)
    with pytest.MonkeyPatch.context() as patch:  # torch's own folder, which it keeps for a user
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(case.folder / "inductor"))
        error = case.failing(WorkerError, train, *arguments, backend="torch")
    if case.variant == "unused":
        check_blame(error, case)
        assert "parameters that were not used" in str(error)
        return
    assert error.rank != case.bad_rank
    assert "Connection closed by peer" in str(error) or "Connection reset" in str(error)
    assert f"rank {case.bad_rank} had returned" in error.consequences


def check_blame(error, case):
    assert error.rank == case.bad_rank
    assert str(error).startswith(f"rank {case.bad_rank} ")
    others = [rank for rank in range(case.workers) if rank != case.bad_rank]
    for rank, line in zip(others, error.consequences, strict=True):
        assert line.startswith((f"rank {rank} failed too: RuntimeError: ", f"rank {rank} was "))
