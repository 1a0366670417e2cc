"""A rank is lost in a run that survives it: nobody hangs, and nothing is left."""

import ctypes
import math
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from course_lib import Lost, RankLost
from course_lib.collectives.allreduce_ring import allreduce_ring
from course_lib.comm.errors import DeadlockError, LaunchTimeout, PeerFinishedError, WorkerKilled
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import bounded_staleness, data_parallel, downpour, parameter_server
from course_lib.training import SGD, KeepShards, Plan
from tests.faults.table import Case, row

ENDS = {
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "os._exit": lambda: os._exit(0),
    "crash": lambda: ctypes.string_at(0),
}


@row(75, "a rank is lost and the others go on", limit_s=1.0, workers=3, least=2, variants=ENDS,
     posix=True, spawned=("killed",))  # fmt: skip
def others_hear_of_a_loss_and_go_on(case: Case) -> None:
    fault, end = case.fault, case.variant

    def work(comm):
        if comm.rank == comm.size - 1:
            time.sleep(0.05)
            fault()
            end()
        try:
            comm.barrier()
        except RankLost as error:
            return error.rank, time.perf_counter()

    values = case.run(work, survive=True).values
    assert isinstance(values.pop(), Lost)
    assert {rank for rank, _ in values} == {len(values)}
    told_s = max(told_s for _, told_s in values)
    case.times_s.append(told_s - float(Path(case.fault.path).read_text()))


@row(76, "a rank is killed that holds a lock, and the others go on", limit_s=1.0, workers=3,
     least=2, posix=True)  # fmt: skip
def a_lock_of_a_dead_rank_is_given_back(case: Case) -> None:
    fault = case.fault

    def work(comm):
        victim = comm.size - 1
        if comm.rank == victim:
            for peer in range(comm.size):  # of every mailbox, its own too
                comm._progress._mailboxes[peer]._acquire()
            fault()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.2)
        told = []
        for verb in (lambda: comm.send(np.ones(3), victim), comm.barrier):
            try:
                verb()
            except RankLost as error:
                told.append(error.rank)
        if comm.size > 2 and comm.rank < 2:
            comm.sendrecv(np.ones(100_000), dst=1 - comm.rank, src=1 - comm.rank)
        return told

    *values, lost = case.run(work, survive=True).values
    case.reported()
    assert isinstance(lost, Lost)
    assert values == [[len(values)] * 2] * len(values)


def serve(comm):
    while True:
        try:
            src, asked = comm.recv_any()
        except (RankLost, PeerFinishedError):
            return None
        try:
            comm.send(np.full(int(asked[0]), src), dst=src)
        except RankLost:
            continue


def ask(comm, group):
    sizes = [2, 3_000, 100_000]
    for n in range(60):
        comm.send(np.full(sizes[n % 2], sizes[n % 3]), dst=0)
        assert set(comm.recv(src=0)) == {comm.rank}
        try:
            if group is not None:
                assert allreduce_ring(group, np.ones(sizes[n % 3]))[0] == group.size
        except RankLost:
            group = None
    return comm.incarnation


@row(77, "ranks are killed at random and started again", workers=4, least=3, posix=True)
def who_is_killed_at_random_is_started_again(case: Case) -> None:
    folder, rng = case.folder, random.Random(case.workers)

    def work(comm):
        (folder / f"{comm.rank}-{comm.incarnation}-{os.getpid()}").touch()
        group = None
        if comm.incarnation == 0:
            try:
                group = comm.split(int(comm.rank > 0))
            except RankLost:
                group = None
        return serve(comm) if comm.rank == 0 else ask(comm, group)

    def kill():
        for _ in range(2):
            time.sleep(rng.uniform(0.01, 0.2))
            files = [path for path in folder.iterdir() if not path.name.startswith("0-")]
            if files:
                victim = rng.choice(sorted(files))
                os.kill(int(victim.name.rpartition("-")[2]), signal.SIGKILL)
                victim.unlink()

    killer = threading.Thread(target=lambda: _quietly(kill))
    killer.start()
    try:
        result = case.run(work, survive=True, restart=2, time_limit_s=60.0)
    finally:
        killer.join()
    lost = [fault.rank for fault in result.trace.faults if fault.kind == "RankLost"]
    assert result.values == [None, *(lost.count(rank) for rank in range(1, case.workers))]


def _quietly(step) -> None:
    try:
        step()
    except ProcessLookupError:  # it had ended
        return


class Mortal(LogisticRegression):
    """A model in whose second gradient the last rank is killed; the others take their time."""

    def __init__(self, n_features, comm, fault):
        super().__init__(n_features)
        self.left, self.fault = 1 if comm.rank == comm.size - 1 else math.inf, fault

    def gradient(self, w, batch, weight=1.0):
        if self.left > 1:
            time.sleep(0.005)  # so that on a busy computer, too, the last rank's turn comes
        if self.left == 0:
            self.fault()
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        return super().gradient(w, batch, weight)


def trained(comm, scheme, fault):
    X = np.arange(40.0)[:, None] / 20 - 1
    return scheme(comm, Mortal(1, comm, fault), X, (X[:, 0] > 0).astype(int), Plan(0.2, 4, 6)).w


ASYNCHRONOUS = {"downpour": downpour, "bounded_staleness": bounded_staleness}


@row(79, "a replica is killed and asynchronous training goes on", workers=4, least=3,
     variants=ASYNCHRONOUS, posix=True, spawned=("downpour",))  # fmt: skip
def others_compute_what_a_lost_replica_had(case: Case) -> None:
    *values, lost = case.run(trained, case.variant, case.fault, survive=True).values
    assert isinstance(lost, Lost)
    assert len({w.tobytes() for w in values}) == 1


class DiesInStep(SGD):
    """What steps a server's shard; in the third step of its first life the server is killed."""

    fault = None

    def step(self, grad, norm=None):
        if self.fault is not None and self.n_steps == 2:
            self.fault()
            os.kill(os.getpid(), signal.SIGKILL)
        super().step(grad, norm)


@row(81, "a server is killed that keeps a part of the model, and is started again", workers=4,
     least=3, posix=True)  # fmt: skip
def a_server_goes_on_from_its_checkpoint(case: Case) -> None:
    fault, folder = case.fault, tempfile.mkdtemp()

    def work(comm):
        def optimizer(w, plan):
            stepper = DiesInStep(w, plan)
            stepper.fault = fault if comm.rank == 0 and not comm.incarnation else None
            return stepper

        X, y, plan = np.arange(40.0)[:, None] / 20 - 1, np.arange(40) > 20, Plan(0.2, 4, 2)
        return downpour(
            comm, LogisticRegression(1), X, y.astype(int), plan, keep=KeepShards(folder, every=1),
            optimizer=optimizer,
        ).w  # fmt: skip

    try:
        result = case.run(work, survive=True, restart=1)
    finally:
        shutil.rmtree(folder)
    assert len({w.tobytes() for w in result.values}) == 1
    assert [note.value for note in result.trace.notes_named("lost_updates")] == [0]


SYNCHRONOUS = {"data_parallel": data_parallel, "parameter_server": parameter_server}


@row(80, "a rank is killed in the middle of synchronous training", limit_s=1.0, workers=4, least=2,
     variants=SYNCHRONOUS, posix=True, spawned=("data_parallel",))  # fmt: skip
def synchronous_training_ends_with_a_rank(case: Case) -> None:
    error = case.failing(WorkerKilled, trained, case.variant, case.fault)
    assert error.rank == case.workers - 1


@row(78, "deadlocks and time limits of those who survive", limit_s=2.0, workers=3, least=3,
     posix=True)  # fmt: skip
def who_survives_is_still_watched(case: Case) -> None:
    fault, last = case.fault, case.workers - 1

    def work(comm, verb):
        if comm.rank == last:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            comm.recv(src=last)
        except RankLost:
            fault(0.5 if verb == "loop" else 0.0)
        while verb == "loop":
            time.sleep(0.01)
        comm.recv(src=(comm.rank + 1) % last)

    error = case.failing(DeadlockError, work, "recv", survive=True)
    assert error.cycle == list(range(last))
    late = case.failing(LaunchTimeout, work, "loop", survive=True, time_limit_s=0.5)
    assert f"rank {last} is lost: rank {last} was killed by SIGKILL" in str(late)
