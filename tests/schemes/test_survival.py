"""Training that survives losses: no acknowledged update is lost, none is made twice.

In virtual time by schedules of crashes, on real processes by kills.
"""

import os
import signal
import time
from dataclasses import replace
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
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import (
    asynchronous_averaging,
    backup_workers,
    bounded_staleness,
    data_parallel,
    downpour,
    parameter_server,
    staleness_aware,
    surviving_servers,
    train,
)
from course_lib.training import KeepShards, Plan
from course_lib.viz import loss_curve

simulated = partial(run, backend="simulated")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X @ [1.0, -2.0, 0.5] > 0).astype(int)
PLAN = Plan(0.2, 5, 6)


class Mortal(LogisticRegression):
    """A model in whose gradient one rank's first life ends, by a kill on real processes.

    The others take their time, so that on a busy computer, too, the victim's turn comes.
    """

    def __init__(self, n_features, comm=None, victim=0, after=1):
        super().__init__(n_features)
        self.is_slow = comm is not None and comm.rank != victim
        self.left = after if comm and comm.rank == victim and not comm.incarnation else None

    def gradient(self, w, batch, weight=1.0):
        if self.is_slow:
            time.sleep(0.005)
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                assert WORKER_VARIABLE in os.environ
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)
        return super().gradient(w, batch, weight)


class Counts(LinearRegression):
    """A model whose parameters say how often each example is in them."""

    def initial(self, seed=0):
        return np.zeros(self.n_parameters)

    def gradient(self, w, batch, weight=1.0):
        grad = np.zeros_like(w)
        grad[batch[0][:, 0]] = -1.0
        return 1.0, grad


N_BATCHES = 9
CALM = Plan(1.0, 1, 1)


def schedule(seed):
    """Draw a network, and which replicas crash when, and whether they come back."""
    rng = np.random.default_rng(seed)
    n_replicas = int(rng.integers(1, 5))
    speeds = (1e4, *10.0 ** rng.uniform(2, 4, size=n_replicas))
    network = Network("random", float(rng.choice([0.0, 0.001, 0.1])), 1e5, speeds)
    crashes = []
    for rank in range(1, 1 + n_replicas):
        at_s = 0.0
        for _ in range(rng.integers(0, 3)):
            at_s += float(rng.exponential(0.2)) + 1e-6
            back_s = None
            if rng.random() < 0.6 or n_replicas == 1:
                back_s = at_s + float(rng.choice([1e-6, rng.exponential(0.2)]))
            crashes.append(Crash(rank, at_s, back_s))
            if back_s is None:
                break
            at_s = back_s
    if n_replicas > 1:  # somebody lives on
        spared = int(rng.integers(1, 1 + n_replicas))
        crashes = [each for each in crashes if each.rank != spared]
    return n_replicas, network, crashes


def counted(scheme, seed, n_batches=N_BATCHES):
    """Train by a random schedule; return the run's result."""
    n_replicas, network, crashes = schedule(seed)
    X = np.arange(n_batches)[:, None]
    return simulated(
        scheme, Counts(n_batches - 1), X, np.zeros(n_batches), CALM, workers=1 + n_replicas,
        network=network, survive=True, faults=Faults(crashes), time_limit_s=20.0,
    )  # fmt: skip


def check_history(result):
    """Hold what the server has applied against what replicas were told; say what is wrong.

    A lot that a replica is sent after a push acknowledges that push. All that is acknowledged, and
    each lot, is in the model once.
    """
    values = [value for value in result.values if not isinstance(value, Lost)]
    w = values[0].w
    assert (w <= 1).all(), "a push is applied twice"
    assert (w >= 1).all(), "a lot is lost"
    assert {value.w.tobytes() for value in values} == {w.tobytes()}
    pushes = (message for message in result.trace.messages if message.tag == "gradient")
    end_s = max(message.received_s or 0.0 for message in pushes)
    for rank, value in enumerate(result.values):
        assert not isinstance(value, Lost) or "tags do not match" not in value.reason, value
        if isinstance(value, Lost) and "has already returned" in value.reason:
            faults = result.trace.faults
            crash_s = max(f.time_s for f in faults if (f.kind, f.rank) == ("Crash", rank))
            assert crash_s >= end_s, "who is back is not served"


def check_many(scheme, n):
    for seed in range(n):
        check_history(counted(scheme, seed))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [downpour, bounded_staleness, partial(downpour, warm_start=3)])
def test_in_random_schedules_of_crashes_every_lot_is_applied_once(scheme):
    check_many(scheme, 150)


@pytest.mark.parametrize("n_batches", [2, 3])
@pytest.mark.parametrize("scheme", [downpour, bounded_staleness, partial(downpour, warm_start=3)])
def test_who_finds_nothing_to_do_takes_over_from_who_is_lost(scheme, n_batches):
    for seed in range(40):
        check_history(counted(scheme, seed, n_batches))


RESEND = """self.send(np.array([lot]), src, tag="lot")
"""
PLANTED = {
    "a push is made twice if its answer fails": (
        bounded_staleness, "Replicas",
        ("self.done(src)", "old = self._out.pop(src, None)"),
        (RESEND, f"{RESEND}        if src not in self._out: self._again.append(old)\n"),
    ),
    "an acknowledged push is dropped": (
        bounded_staleness, "serve", ("sgd.step(message", "version % 5 == 3 or sgd.step(message"),
    ),
    "a lot is given twice": (
        bounded_staleness, "Replicas", ("lot = self._again.popleft()", "lot = self._again[0]"),
    ),
    "a lot is lost": (
        downpour, "Replicas", ("self._again.append(self._out.pop(rank))", "self._out.pop(rank)"),
    ),
    "who is back is thought to have pushed in its former life": (
        downpour, "Replicas", ("self._lose(src)  # it", "pass  # it"),
    ),
    "nobody is suspected": (
        downpour, "Replicas", ("if not self._comm.survives or", "if True or"),
    ),
    "who is back at the end is not served": (
        downpour, "Replicas", ("while times_lost < 2:", "while times_lost < 1:"),
    ),
    "the clock of the dead is waited for": (
        bounded_staleness, "serve", ("clocks.pop(lost, None)", "pass"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_broken_protocol_is_found(name, monkeypatch):
    scheme, broken, *changes = PLANTED[name]
    module = surviving_servers if scheme is downpour else import_module(scheme.__module__)
    source = getsource(getattr(module, broken))
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    names = {**vars(import_module(getattr(module, broken).__module__))}
    exec(source, names)
    monkeypatch.setattr(module, broken, names[broken])
    with pytest.raises((AssertionError, RunError)):
        check_many(scheme, 150)


@pytest.mark.parametrize("elastic", [False, True])
def test_averaging_mixes_in_each_lot_once_whoever_is_lost(elastic):
    scheme = partial(asynchronous_averaging, elastic=elastic)
    for seed in range(20):
        n_replicas, network, crashes = schedule(seed)
        result = simulated(
            scheme, LogisticRegression(3), X, Y, PLAN, workers=1 + n_replicas, network=network,
            survive=True, faults=Faults(crashes), time_limit_s=20.0,
        )  # fmt: skip
        alive = [value for value in result.values if not isinstance(value, Lost)]
        assert len({value.w.tobytes() for value in alive}) == 1
        assert len(result.trace.notes_named("staleness")) == len(Y) // 5 * 6
        assert loss_of(alive[0].w) < 0.8 * loss_of(LogisticRegression(3).initial())


class Told(LinearRegression):
    """A model whose rank notes which batch it computes."""

    def __init__(self, n_features, note):
        super().__init__(n_features)
        self.note = note

    def gradient(self, w, batch, weight=1.0):
        self.note("batch", float(batch[1][0]))
        return super().gradient(w, batch, weight)


def mixed_in(*crashes, n_batches=8, workers=4, n_features=4000):
    """Average with crashes; return the result, and the batches whose models were mixed in."""

    def averaging(comm):
        X, y = np.ones((n_batches, n_features)), np.arange(float(n_batches))
        model = Told(n_features, comm.note)
        return asynchronous_averaging(comm, model, X, y, Plan(1e-5, 1, 1))

    result = simulated(
        averaging, workers=workers, survive=True, faults=Faults(crashes), time_limit_s=20.0
    )
    trace, mixed = result.trace, []
    end_s = max(note.time_s for note in trace.notes_named("staleness"))
    for rank in range(1, workers):
        own = [note.value for note in trace.notes_named("batch") if note.rank == rank]
        sent = [m for m in trace.messages if (m.src, m.tag) == (rank, "model")]
        pairs = zip(own, sent, strict=False)  # the last one may have been lost before it was sent
        mixed += [batch for batch, m in pairs if m.received_s and m.received_s <= end_s]
    return result, sorted(mixed)


def test_a_replica_that_is_lost_while_it_is_answered_has_its_batch_mixed_in_once():
    for at_s in np.linspace(1e-6, 1.6e-4, 60):
        _, mixed = mixed_in(Crash(1, 0.0), Crash(2, float(at_s)))
        assert mixed == list(range(8)), at_s
        result, _ = mixed_in(Crash(1, float(at_s), float(at_s) + 1e-6))
        lost = [value for value in result.values if isinstance(value, Lost)]
        assert all("has already returned" in value.reason for value in lost), (at_s, lost)


@pytest.mark.parametrize("n_lost", [1, 2])
def test_averaging_gives_who_finds_nothing_to_do_what_others_leave(n_lost):
    for at_s in np.linspace(1e-6, 8e-5, 20):
        crashes = [Crash(1 + k, float(at_s) * (1 + k)) for k in range(n_lost)]
        result, mixed = mixed_in(*crashes, n_batches=2)
        assert mixed == [0, 1], at_s
        assert not isinstance(result.values[3], Lost), at_s


@pytest.mark.parametrize(
    "scheme",
    [downpour, bounded_staleness, asynchronous_averaging, partial(backup_workers, backups=1)],
)
@pytest.mark.parametrize("back_s", [None, 2.5e-4])
def test_the_loss_of_every_step_is_drawn_whoever_is_lost(scheme, back_s):
    X = np.random.default_rng(0).normal(size=(64, 1))
    trained = partial(
        simulated, scheme, LinearRegression(1), X, 2 * X[:, 0] + 1, Plan(1e-6, 4, 2),
        workers=4, survive=True,
    )  # fmt: skip
    of_all = loss_curve(trained().trace)
    curve = loss_curve(trained(faults=Faults([Crash(1, 2e-4, back_s)])).trace)
    assert len(of_all) == len(curve) == 32
    assert [at_s for at_s, _ in curve] == sorted(at_s for at_s, _ in curve)
    n_off = 0
    for (_, whole), (_, one) in zip(of_all, curve, strict=True):
        n_off += not np.isclose(whole, one, rtol=1e-3)  # the steps are too small to change it
    # Of a step that two of three workers make, the loss is that of fewer examples.
    assert n_off == 0 or isinstance(scheme, partial)


@pytest.mark.slow
@pytest.mark.parametrize("backups", [1, 2])
def test_backup_workers_go_on_as_long_as_there_are_enough(backups):
    scheme = partial(backup_workers, backups=backups)

    def after(*crashes):
        return simulated(scheme, LogisticRegression(3), X, Y, PLAN, workers=4, survive=True,
            faults=Faults(crashes),
        )  # fmt: skip

    whole_s = after().elapsed_s
    crashes = [Crash(rank, rank * whole_s / 5) for rank in range(1, 1 + backups)]
    result = after(*crashes)
    assert [isinstance(value, Lost) for value in result.values].count(True) == backups
    alive = {value.w.tobytes() for value in result.values if not isinstance(value, Lost)}
    assert len(alive) == 1
    assert loss_of(result.values[0].w) < 0.7 * loss_of(LogisticRegression(3).initial())
    with pytest.raises(RunError, match=r"are lost: recv_any goes on waiting for the others|rank 3"):
        after(*crashes, Crash(3, 0.7 * whole_s))


@pytest.mark.slow
def test_a_backup_worker_that_is_started_again_takes_part():
    def after(at_s):
        return simulated(backup_workers, LogisticRegression(3), X, Y, PLAN, survive=True,
            restart=1, faults=Faults([Crash(2, at_s)] if at_s else []),
        )  # fmt: skip

    whole_s = after(0).elapsed_s
    for part in np.linspace(0.05, 0.95, 10):
        result = after(part * whole_s)
        assert len({value.w.tobytes() for value in result.values}) == 1
        again = [m for m in result.trace.messages if m.tag == "gradient" and m.src == 2]
        assert part > 0.8 or len(again) > 3


@pytest.mark.parametrize("restart", [0, 1])
@pytest.mark.parametrize(
    "scheme",
    [downpour, bounded_staleness, staleness_aware, backup_workers, asynchronous_averaging],
)
def test_without_its_server_a_training_ends_and_says_so(scheme, restart):
    with pytest.raises(RunError, match="rank 0"):
        simulated(scheme, LogisticRegression(3), X, Y, PLAN, survive=True, restart=restart,
            faults=Faults([Crash(0, 3e-4)]),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"push_returns": True}, "push_returns must be False where the run has survive=True"),
        ({"keep": KeepShards("."), "on_epoch": print}, "on_epoch"),
    ],
)
def test_what_cannot_survive_is_refused(options, told):
    with pytest.raises(RunError, match=told):
        simulated(partial(downpour, **options), LogisticRegression(3), X, Y, PLAN, survive=True)


def trained(comm, scheme, victim):
    plan = replace(PLAN, learning_rate=0.95) if scheme is asynchronous_averaging else PLAN
    return scheme(comm, Mortal(3, comm, victim), X, Y, plan)


def loss_of(w):
    return LogisticRegression(3).loss(w, (X, Y))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "restart"),
    [(downpour, 0), (downpour, 1), (bounded_staleness, 1), (asynchronous_averaging, 1)],
)
def test_a_real_replica_is_killed_and_training_reaches_its_loss(scheme, restart):
    result = run(trained, scheme, 2, workers=5, survive=True, restart=restart, time_limit_s=60.0)
    expected = loss_of(train(LogisticRegression(3), X, Y, PLAN).w)
    alive = [value for value in result.values if not isinstance(value, Lost)]
    assert len(alive) == 4 + restart  # the server and three of four replicas, or all
    assert isinstance(result.values[2], Lost) == (restart == 0)
    assert len({value.w.tobytes() for value in alive}) == 1
    assert loss_of(alive[0].w) == pytest.approx(expected, rel=0.2)  # who comes when is chance
    untrained = loss_of(LogisticRegression(3).initial())
    assert untrained - expected > 5 * 0.2 * expected  # nothing learned is far outside


@pytest.mark.parametrize("scheme", [data_parallel, parameter_server])
def test_synchronous_training_cannot_go_on_without_a_rank(scheme):
    with pytest.raises(RunError):
        simulated(scheme, LogisticRegression(3), X, Y, PLAN, survive=True,
            faults=Faults([Crash(2, 1e-4)]),
        )  # fmt: skip
