"""Shards whose servers are lost and come back: what was done since the checkpoint is counted.

In virtual time by random schedules of crashes of servers and replicas, on real processes by kills.
"""

import os
import signal
import time
from functools import partial
from importlib import import_module
from inspect import getsource

import numpy as np
import pytest

from course_lib import Lost, run
from course_lib.comm.errors import RunError
from course_lib.comm.result import WORKER_VARIABLE
from course_lib.comm.simulated.faults import Crash, Faults
from course_lib.comm.simulated.network import Network
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes import downpour, surviving_servers
from course_lib.training import SGD, KeepShards, Plan
from course_lib.training.kept_shard import KeptShard
from course_lib.training.shards import shards_evenly

simulated = partial(run, backend="simulated")
N_BATCHES = 12
MOST_SEEDS = 1000
CALM = Plan(1.0, 1, 1)


class CountsInEach(LinearRegression):
    """A model each of whose shards says how often each example is in it."""

    def __init__(self, n_shards):
        super().__init__(N_BATCHES * n_shards - 1)

    def initial(self, seed=0):
        return np.zeros(self.n_parameters)

    def gradient(self, w, batch, weight=1.0):
        grad = np.zeros_like(w)
        grad[batch[0][0, 0] :: N_BATCHES] = -1.0
        return 1.0, grad


def crashes_of(rng, rank, comes_back):
    """Draw when a rank crashes, and whether it comes back."""
    at_s = 0.0
    for _ in range(rng.integers(0, 3)):
        at_s += float(rng.exponential(0.3)) + 1e-6
        back_s = None
        if comes_back or rng.random() < 0.6:
            back_s = at_s + float(rng.choice([1e-6, rng.exponential(0.2)]))
        yield Crash(rank, at_s, back_s)
        if back_s is None:
            return
        at_s = back_s


def counted(folder, seed):
    """Train by a random schedule in which servers, which come back, and replicas crash."""
    rng = np.random.default_rng(seed)
    n_servers, n_replicas = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    speeds = (*[1e4] * n_servers, *10.0 ** rng.uniform(2, 4, size=n_replicas))
    network = Network("random", float(rng.choice([0.0, 0.001, 0.1])), 1e5, speeds)
    spared = n_servers + int(rng.integers(n_replicas))  # somebody lives on
    crashes = [
        crash
        for rank in range(n_servers + n_replicas)
        if rank != spared
        for crash in crashes_of(rng, rank, comes_back=rank < n_servers)
    ]
    model = CountsInEach(n_servers)
    scheme = partial(
        downpour, shards=shards_evenly(model.n_parameters, n_servers),
        keep=KeepShards(folder, every=int(rng.integers(1, 6))),
    )  # fmt: skip
    X = np.arange(N_BATCHES)[:, None].repeat(N_BATCHES * n_servers - 1, axis=1)
    result = simulated(
        scheme, model, X, np.zeros(N_BATCHES), CALM, workers=n_servers + n_replicas,
        network=network, survive=True, faults=Faults(crashes), time_limit_s=20.0,
    )  # fmt: skip
    return result, n_servers


def lost_of(trace, rank):
    """What a server has reported of the updates that it lost, in all its lives."""
    return max((n.value for n in trace.notes_named("lost_updates") if n.rank == rank), default=0)


def check_history(result, n_servers):
    """Hold what is in each shard against what its server has reported; say what is wrong.

    Every lot is in every shard once, but for as many as its server says were lost with it.
    """
    values = [value for value in result.values if not isinstance(value, Lost)]
    assert len({value.w.tobytes() for value in values}) == 1, "ranks have different models"
    for rank, counts in enumerate(values[0].w.reshape(n_servers, N_BATCHES)):
        assert (counts <= 1).all(), "an update is made twice"
        missing, reported = int((counts == 0).sum()), lost_of(result.trace, rank)
        assert missing == reported, f"{missing} updates are lost, {reported} reported"


def check_many(folder, n):
    for seed in range(n):
        check_history(*counted(folder, seed))


@pytest.mark.slow
def test_every_update_is_made_once_or_reported_as_lost(tmp_path):
    check_many(tmp_path, 40)


PLANTED = {
    "an update since the checkpoint is computed again": (
        "KeptShard", ("self.done.add(int(numbers[0]))", "self.done.update(range(n_kept))"),
    ),
    "what is lost is not counted": (
        "KeptShard", ("n_lost + len(self.done) - n_kept", "n_lost"),
    ),
    "the checkpoint is older than it says": (
        "KeptShard", ("len(self.done)\n        state =", "len(self.done) + 1\n        state ="),
    ),
    "an update is confirmed before it is written down": (
        "ShardServer", ("self.kept.update_done(lot)", "self.kept.done.add(lot)"),
    ),
    "a push that is sent again is made twice": (
        "ShardServer", ("if lot in self.kept.done:", "if False:"),
    ),
    "an acknowledged push is dropped": (
        "ShardServer", ("self.stepper.step(", "version % 5 == 3 or self.stepper.step("),
    ),
    "who deals forgets what others have": (
        "Replicas", ("deque(lot for lot in left if", "deque(lot for lot in () if"),
    ),
    "who was told of a loss does not ask again": (
        "_persist", ("for times in range(MOST_TIMES)", "for times in [MOST_TIMES - 1]"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_broken_protocol_is_found(name, tmp_path, monkeypatch):
    broken, *changes = PLANTED[name]
    source = getsource(getattr(surviving_servers, broken))
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    names = {**vars(import_module(getattr(surviving_servers, broken).__module__))}
    exec(source, names)
    monkeypatch.setattr(surviving_servers, broken, names[broken])
    with pytest.raises((AssertionError, RunError)):
        check_many(tmp_path, MOST_SEEDS)


@pytest.mark.parametrize("restart", [0, 1])
@pytest.mark.parametrize("victim", [0, 1])
def test_without_a_checkpoint_the_run_ends_in_words(victim, restart):
    model = CountsInEach(2)
    scheme = partial(downpour, shards=shards_evenly(model.n_parameters, 2))
    X = np.zeros((N_BATCHES, model.n_parameters - 1), dtype=int)
    with pytest.raises(RunError, match=f"^rank {victim} crashed at"):
        simulated(
            scheme, model, X, np.zeros(N_BATCHES), CALM, workers=4, survive=True, restart=restart,
            faults=Faults([Crash(victim, 1e-4)]),
        )  # fmt: skip


@pytest.mark.parametrize("victim", [0, 1])
def test_a_server_that_had_written_nothing_begins_anew_whatever_an_earlier_run_has_left(
    victim, tmp_path
):
    model = CountsInEach(2)
    scheme = partial(
        downpour, shards=shards_evenly(model.n_parameters, 2), keep=KeepShards(tmp_path)
    )
    X = np.arange(N_BATCHES)[:, None].repeat(model.n_parameters - 1, axis=1)
    for crashes in ([], [Crash(victim, 0.0, 1e-6)]):
        result = simulated(
            scheme, model, X, np.zeros(N_BATCHES), CALM, workers=4, survive=True,
            faults=Faults(crashes),
        )  # fmt: skip
        check_history(result, 2)
        assert lost_of(result.trace, victim) == 0
    left = (tmp_path / f"shard_{victim}.log").read_text().splitlines()
    assert len(left) == len(set(left))  # the earlier run's lots are not there, too


class DiesInStep(SGD):
    """An optimizer in whose step a server's first life ends, by a kill."""

    left: int | None = None

    def step(self, grad, norm=None):
        if self.left is not None and self.n_steps == self.left:
            assert WORKER_VARIABLE in os.environ
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
        super().step(grad, norm)


def trained(comm, folder):
    def optimizer(w, plan):
        stepper = DiesInStep(w, plan)
        stepper.left = 7 if comm.rank < 2 and not comm.incarnation else None
        return stepper

    model = CountsInEach(2)
    X = np.arange(N_BATCHES)[:, None].repeat(model.n_parameters - 1, axis=1)
    return downpour(
        comm, model, X, np.zeros(N_BATCHES), CALM, shards_evenly(model.n_parameters, 2),
        keep=KeepShards(folder, every=4), optimizer=optimizer,
    )  # fmt: skip


@pytest.mark.slow
def test_real_servers_are_killed_and_go_on_from_their_checkpoints(tmp_path):
    result = run(trained, tmp_path, workers=4, survive=True, restart=1, time_limit_s=60.0)
    assert not any(isinstance(value, Lost) for value in result.values)
    check_history(result, 2)
    assert [lost_of(result.trace, rank) for rank in range(2)] == [3, 3]  # 7 made, 4 kept


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"every": 0}, "every must be"),
        ({"folder": "no such folder"}, "folder must be a folder that is there, got 'no such"),
    ],
)
def test_a_keeping_that_cannot_be_is_refused(options, told, tmp_path):
    with pytest.raises(ValueError, match=told):
        KeepShards(**{"folder": tmp_path} | options)


def test_shards_are_kept_only_where_a_run_survives(tmp_path):
    model, X, y = LinearRegression(1), np.zeros((2, 1)), np.zeros(2)
    with pytest.raises(RunError, match="keep must be None where the run has no survive=True"):
        simulated(partial(downpour, keep=KeepShards(tmp_path)), model, X, y, CALM)


def test_momentum_comes_back_with_its_shard_and_half_a_line_of_the_log_is_dropped(tmp_path):
    plan = Plan(0.1, momentum=0.9)
    sgd = SGD(np.zeros(3), plan)
    kept = KeptShard(sgd, KeepShards(tmp_path, every=2), rank=0)
    for lot in range(3):
        sgd.step(np.ones(3))
        kept.update_done(lot)
    with (tmp_path / "shard_0.log").open("a") as log:
        log.write("done 1")  # of 17
    back = SGD(np.zeros(3), plan)
    again = KeptShard(back, KeepShards(tmp_path, every=2), rank=0, is_back=True)
    assert (again.done, again.n_lost, back.n_steps) == ({0, 1, 2}, 1, 2)
    back.step(np.ones(3))
    np.testing.assert_array_equal(back.w, sgd.w)
