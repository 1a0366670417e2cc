"""Bounded staleness keeps its bound in thousands of random schedules; broken protocols are found.

A model that learns nothing but which batches it has been trained on tells what every read held:
each batch adds 1 to a number of its own.
"""

from functools import partial
from importlib import import_module
from inspect import getsource

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.comm.simulated.network import Network
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import bounded_staleness, downpour, parameter_server, train
from course_lib.training import Plan
from tests.schemes.asynchronous import SERVICE, free, on_bowl

module = import_module("course_lib.schemes.bounded_staleness")
simulated = partial(run, backend="simulated")


class Memory(LinearRegression):
    """A model whose parameters say how often each batch is in them; it keeps what it has read."""

    def __init__(self, n_batches):
        super().__init__(n_batches - 1)
        self.reads = []

    def initial(self, seed=0):
        return np.zeros(self.n_parameters)

    def gradient(self, w, batch, weight=1.0):
        (number,) = (int(x) for x in batch[0][:, 0])
        self.reads.append((number, w.copy()))
        grad = np.zeros_like(w)
        grad[number] = -1.0
        return 0.0, grad


def histories(comm, cases):
    """Train once for each case; return what this rank has read, and what it had in the end."""
    found = []
    for n_batches, bound, seed in cases:
        model = Memory(n_batches)
        X = np.arange(n_batches)[:, None]
        plan = Plan(1.0, 1, 1, seed=seed)
        w, _ = bounded_staleness(comm, model, X, np.zeros(n_batches), plan, bound)
        found.append((model.reads, w))
    return found


def check(reads_of, w, bound):
    """Say what is wrong with a history: by replica, the batches in their order, and what it read.

    At clock c (its c-th read) a replica has to see all that it has pushed itself, and the first
    c - bound - 1 batches of everybody else, as far as there are so many; with bound 0 no more.
    """
    assert (w == 1).all(), "an update is lost, or made twice"
    for rank, reads in reads_of.items():
        before = np.zeros_like(w)
        for clock, (_, read) in enumerate(reads, start=1):
            assert (read >= before).all(), "older parameters than before"
            before = read
            for other, theirs in reads_of.items():
                numbers = [number for number, _ in theirs]
                if other == rank:
                    must = numbers[: clock - 1]
                elif bound is not None:
                    must = numbers[: max(clock - bound - 1, 0)]
                else:
                    must = []
                assert (read[must] == 1).all(), "an update that it must see is missing"
                if bound == 0:
                    assert not read[numbers[clock - 1 :]].any(), "an update of its own clock"


def random_schedules(seed, n_cases):
    """Draw a network and cases for one run."""
    rng = np.random.default_rng(seed)
    n_replicas = int(rng.integers(1, 5))
    speeds = 10.0 ** rng.uniform(-1, 1, size=1 + n_replicas)
    latency_s = float(rng.choice([0.0, 0.01, 1.0]))
    network = Network("random", latency_s, 1e6, tuple(speeds)).with_exponential_service(seed)
    if latency_s and rng.integers(2):  # one is far away
        network = network.with_slow_link(n_replicas, 0, float(rng.integers(2, 30)))
    bounds = [0, 0, 1, 1, 2, 3, None]
    cases = [
        (int(rng.integers(2, 10)), bounds[rng.integers(len(bounds))], i) for i in range(n_cases)
    ]
    return n_replicas, network, cases


def check_schedules(seed, n_cases):
    n_replicas, network, cases = random_schedules(seed, n_cases)
    values = simulated(
        histories, cases, workers=1 + n_replicas, network=network, trace=False
    ).values
    for k, (_, bound, _) in enumerate(cases):
        check({rank: values[rank][k][0] for rank in range(1, len(values))}, values[0][k][1], bound)


def check_many(n_runs, n_cases):
    for seed in range(n_runs):
        check_schedules(seed, n_cases)


@pytest.mark.slow
def test_two_thousand_random_schedules_keep_their_bounds():
    check_many(20, 100)


@pytest.mark.soak
def test_ten_thousand_random_schedules_keep_their_bounds():
    check_many(20, 500)


PLANTED = {
    "the bound is off by one": ("lead <= bound", "lead <= bound + 1"),
    "the clock counts pushes": (
        ("clocks[src] += 1\n            waiting", "waiting"),
        ('comm.note("staleness"', 'clocks[src] += 1\n        comm.note("staleness"'),
    ),
    "a push is made twice": (
        "sgd.step(message", "sgd.step(message.copy())\n            sgd.step(message"
    ),
    "an acknowledged update is lost": ("sgd.step(message", "version % 5 == 3 or sgd.step(message"),
    "who has finished is waited for": ("del clocks[src]", "pass"),
    "nobody is told when one has finished": (
        "nobody waits for it\n            answer_who_may_read(version)\n", "nobody waits for it\n"
    ),
    "old parameters are answered": (
        ("replicas.send(w, src, tag", "replicas.send(old[0], src, tag"),
        ("sgd.step(message", "old[0] = w.copy()\n            sgd.step(message"),
        ("waiting: list[int] = []", "waiting, old = [], [w.copy()]"),
    ),
    "the slowest is the mean": (
        "min(clocks.values(), default=0)\n            if",
        "sum(clocks.values()) / len(clocks)\n            if",
    ),
    "one that waits is answered, not all": ("for src in list(waiting):", "for src in waiting[:1]:"),
}  # fmt: skip


def planted(name):
    """The server with a mistake in it."""
    source, changes = getsource(module.serve), PLANTED[name]
    for old, new in changes if isinstance(changes[0], tuple) else (changes,):
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    names = dict(vars(module))
    exec(source, names)
    return names["serve"]


@pytest.mark.parametrize("name", PLANTED)
def test_a_broken_protocol_is_found(name, monkeypatch):
    monkeypatch.setattr(module, "serve", planted(name))
    with pytest.raises((AssertionError, RunError)):
        check_many(20, 20)


def test_one_replica_is_serial_to_the_bit():
    model, rng = mlp(3, 6, 2), np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, size=50)
    plan = Plan(0.1, 8, 2, momentum=0.9, clip=0.2)
    for bound in (0, 2, None):
        scheme = partial(bounded_staleness, bound=bound)
        values = simulated(scheme, model, X, y, plan, workers=2).values
        assert {v.w.tobytes() for v in values} == {train(model, X, y, plan).w.tobytes()}


def whole_numbers(rows):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, size=(rows, 3)), rng.integers(-4, 5, size=rows)
    return X.astype(float), y.astype(float)


@pytest.mark.parametrize("service", SERVICE)
def test_a_bound_of_0_is_synchronous_training(service):
    """Four batches at the same parameters are one of four times as many, at four times the rate."""
    model, (X, y) = LinearRegression(3), whole_numbers(32)
    found, other = (
        simulated(
            partial(bounded_staleness, bound=bound), model, X, y, Plan(2**-4, 2, 1), workers=5,
            network=SERVICE[service](4),
        ).values
        for bound in (0, 1)
    )  # fmt: skip
    expected = simulated(parameter_server, model, X, y, Plan(2**-4, 2, 1).scaled(4), workers=5)
    assert {v.w.tobytes() for v in found} == {expected.values[0].w.tobytes()}
    if service != "constant":
        assert np.abs(other[0].w - found[0].w).max() > 1e-3
    # Rates that are no powers of two: sums of four are made in another order, twenty times.
    plan = Plan(0.1, 2, 5)
    found = simulated(partial(bounded_staleness, bound=0), model, X, y, plan, workers=5,
                      network=SERVICE[service](4)).values[0]  # fmt: skip
    expected = simulated(parameter_server, model, X, y, plan.scaled(4), workers=5).values[0]
    np.testing.assert_allclose(found.w, expected.w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("service", SERVICE)
def test_no_bound_is_downpour_to_the_bit(service):
    model, (X, y) = LinearRegression(3), whole_numbers(32)
    network, plan = SERVICE[service](4), Plan(0.1, 2, 3)
    traces, values = [], []
    for scheme in (partial(bounded_staleness, bound=None), downpour):
        result = simulated(scheme, model, X, y, plan, workers=5, network=network)
        values.append([v.w.tobytes() for v in result.values])
        traces.append(result.trace)
    assert values[0] == values[1]
    assert [m.tag for m in traces[0].messages][:-4] == [m.tag for m in traces[1].messages][:-4]


@pytest.mark.parametrize("bound", [0, 1, 3])
def test_who_is_fast_enough_is_ahead_by_the_bound(bound):
    network = free(3).with_straggler(rank=2, factor=50)
    trace = on_bowl(partial(bounded_staleness, bound=bound), 3, 60, network).trace
    assert max(note.value for note in trace.notes_named("lead")) == bound
    assert len(trace.notes_named("staleness")) == 60
    free_run = on_bowl(partial(bounded_staleness, bound=None), 3, 60, network)
    assert max(note.value for note in free_run.trace.notes_named("lead")) > 10
    assert free_run.elapsed_s < trace.end_s / 3  # what the bound costs


def test_it_ends_with_one_model_in_every_world(world):
    model, rng = LogisticRegression(3), np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, size=50)
    values = world(partial(bounded_staleness, bound=1), model, X, y, Plan(0.05, 4, 4), workers=4)
    assert len({v.w.tobytes() for v in values.values}) == 1
    computed = np.array([v.losses for v in values.values]) > 0
    assert computed.sum(axis=0).tolist() == [1] * 52


@pytest.mark.parametrize(
    ("bound", "workers", "told"),
    [
        (-1, 3, "bound must be an int of 0 or more or None, got -1"),
        (1.5, 3, "bound must be an int of 0 or more or None, got 1.5"),
        (1, 1, "workers must be 2 or more, got 1"),
    ],
)
def test_what_cannot_be_is_named_before_anything_is_sent(bound, workers, told):
    model, data = LinearRegression(3), whole_numbers(8)
    with pytest.raises(RunError, match=told) as caught:
        simulated(partial(bounded_staleness, bound=bound), model, *data, Plan(), workers=workers)
    assert len(caught.value.trace.messages) == 0
