"""A schedule of service times is data: written by hand, read off a trace, and played again."""

import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.service import ServiceTimes
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import backup_workers, bounded_staleness, distbelief, downpour, hogwild
from course_lib.split import shards_by_partition
from course_lib.trace.events import Compute, Note
from course_lib.trace.replay import find_note, service_times
from course_lib.trace.trace import Trace
from course_lib.training import Plan
from tests.schemes.asynchronous import BOWL, X_BOWL, Y_BOWL, free, on_bowl, staleness

MODEL = deep_mlp(3, 6, 4)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(48, 3)), RNG.integers(0, 4, size=48)
SIDES = (X[:, 0] > 0).astype(int)
PLAN = Plan(0.05, 4, 2)
LAN = Network("lan", 1e-5, 1e8, 1e7)


def blocks(comm, times):
    """Compute so often, at other times than any whole number of seconds."""
    comm.barrier()
    for k in range(times):
        with comm.compute("work", flops=1e10 * (comm.rank + 1)):
            pass
        if comm.rank == 0 and k % 2 and comm.size > 1:
            comm.send(np.zeros(3), 1)
        elif comm.rank == 1 and k % 2:
            comm.recv(0)


def durations(trace, rank):
    return [span.end_s - span.start_s for span in trace.computes if span.rank == rank]


# By hand


def test_one_computation_of_one_rank_takes_the_time_that_it_is_given():
    network = networks.ethernet_10g.with_service_times({1: [None, 5e-3, 0.0]})
    trace = run(blocks, 5, workers=2, backend="simulated", network=network).trace
    assert durations(trace, 0) == pytest.approx([1.0] * 5)
    assert durations(trace, 1) == pytest.approx([2.0, 5e-3, 0.0, 2.0, 2.0], abs=1e-12)


def test_a_gradient_that_is_held_up_by_hand_is_as_stale_as_others_are_fast():
    """The second gradient of replica 1 takes 4.5 s, in which the other makes 4 updates."""
    scheme = partial(downpour, push_returns=True)
    trace = on_bowl(scheme, 2, 12, free(2).with_service_times({1: [None, 4.5]})).trace
    late = find_note(trace, "staleness", least=2)
    assert late == Note(0, "staleness", 5, late.time_s)
    assert late.time_s == pytest.approx(5.5)
    assert find_note(trace, "staleness", least=6) is None
    usual = on_bowl(scheme, 2, 12, free(2)).trace
    assert find_note(usual, "staleness", least=2) is None


def test_what_is_kept_can_be_written_down_read_again_and_changed():
    network = LAN.with_exponential_service(4)
    scheme = partial(run, downpour, MODEL, X, Y, PLAN, workers=4, backend="simulated")
    first = scheme(network=network).trace
    kept = service_times(first)
    read = {int(rank): times for rank, times in json.loads(json.dumps(kept)).items()}
    assert scheme(network=LAN.with_service_times(read)).trace.to_json() == first.to_json()
    read[1][2] *= 50
    other = scheme(network=LAN.with_service_times(read)).trace
    assert max(staleness(other)) > max(staleness(first)) + 2


# Played again

SCHEMES = {
    "downpour": (downpour, MODEL, Y, 4),
    "bounded_staleness": (partial(bounded_staleness, bound=1), MODEL, Y, 4),
    "backup_workers": (partial(backup_workers, backups=1), MODEL, Y, 4),
    "distbelief": (
        partial(distbelief, splits=2, shards=shards_by_partition(MODEL, 2, 2)), MODEL, Y, 6,
    ),
    "hogwild": (hogwild, LogisticRegression(3), SIDES, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_times_of_a_trace_give_the_same_trace_to_the_bit(name, seed):
    scheme, model, y, workers = SCHEMES[name]
    task = partial(run, scheme, model, X, y, PLAN, workers=workers, backend="simulated")
    first = task(network=LAN.with_exponential_service(seed))
    again = task(network=LAN.with_service_times(service_times(first.trace)))
    assert again.trace.to_json() == first.trace.to_json()
    assert [v.w.tobytes() for v in again.values] == [v.w.tobytes() for v in first.values]
    other = task(network=LAN.with_exponential_service(seed + 10))
    assert other.trace.to_json() != first.trace.to_json()


def beside(comm):
    def work(own):
        for _ in range(2):
            with own.compute("beside", flops=1.5e10):
                pass

    started = comm.start(work)
    comm.sendrecv(np.zeros(4), dst=1 - comm.rank, src=1 - comm.rank)  # else both begin at once
    for _ in range(3):
        with comm.compute("own", flops=1e10):
            pass
    started.wait()


@pytest.mark.parametrize("seed", range(3))
def test_computations_beside_each_other_keep_their_times(seed):
    def traced(network):
        return run(beside, workers=2, backend="simulated", network=network).trace

    network = networks.ethernet_10g
    first = traced(network.with_exponential_service(seed))
    again = traced(network.with_service_times(service_times(first)))
    assert again.to_json() == first.to_json()


@given(
    start_s=st.floats(0, 1e6, allow_subnormal=False),
    took_s=st.floats(0, 1e6, allow_subnormal=False),
)
def test_a_time_that_is_read_off_ends_where_it_ended_to_the_bit(start_s, took_s):
    end_s = start_s + took_s
    trace = Trace("simulated", "virtual", 1, computes=[Compute(0, "", 0.0, start_s, end_s)])
    (read,) = service_times(trace)[0]
    assert start_s + read == end_s
    assert read == pytest.approx(took_s, rel=1e-9, abs=4 * math.ulp(end_s))


@pytest.mark.slow
def test_times_of_real_processes_can_be_played_in_virtual_time():
    result = run(blocks, 3, workers=2, backend="processes")
    network = networks.ethernet_10g.with_service_times(service_times(result.trace))
    played = run(blocks, 3, workers=2, backend="simulated", network=network).trace
    for rank in range(2):
        assert durations(played, rank) == pytest.approx(durations(result.trace, rank), abs=1e-12)


# The moment of interest


def test_a_moment_is_found_by_what_was_noted_then():
    notes = [Note(0, "staleness", value, float(k)) for k, value in enumerate([0, 1, 0, 3, 2, 3])]
    trace = Trace("simulated", "virtual", 1, notes=[*notes, Note(0, "w", [1.0], 9.0)])
    assert find_note(trace, "staleness") == notes[0]
    assert find_note(trace, "staleness", number=4) == notes[4]
    assert find_note(trace, "staleness", least=2) == notes[3]
    assert find_note(trace, "staleness", least=2, number=2) == notes[5]
    assert find_note(trace, "staleness", number=6) is None
    assert find_note(trace, "lost_update") is None
    assert find_note(trace, "w").time_s == 9.0


def test_the_first_lost_update_and_the_first_dropped_straggler_are_found():
    trace = run(
        hogwild, BOWL, X_BOWL, Y_BOWL, Plan(0.01, 2, 40), workers=4, backend="simulated",
        network=free(3),
    ).trace  # fmt: skip
    lost = find_note(trace, "lost_update")
    assert lost is not None
    assert lost.value >= 1
    assert not [n for n in trace.notes_named("lost_update") if n.time_s < lost.time_s]
    scheme, model, y, workers = SCHEMES["backup_workers"]
    network = LAN.with_service_times({3: [None, 1.0]})
    trace = run(scheme, model, X, y, PLAN, workers=workers, backend="simulated", network=network)
    assert find_note(trace.trace, "dropped", least=1) is not None


# Bad input


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ServiceTimes([1.0]), "seconds must be a dict of rank to a list of times, got"),
        (lambda: ServiceTimes({-1: []}), "a rank of seconds must be an int of 0 or more, got -1"),
        (lambda: ServiceTimes({"1": []}), "a rank of seconds must be an int of 0 or more"),
        (lambda: ServiceTimes({0: 1.0}), r"seconds\[0\] must be a list of times, got 1.0"),
        (lambda: ServiceTimes({0: [1, -1]}), r"seconds\[0\]\[1\] must be 0 or more and finite"),
        (lambda: ServiceTimes({0: [math.inf]}), r"seconds\[0\]\[0\] must be 0 or more and finite"),
        (lambda: ServiceTimes({0: ["1"]}), r"seconds\[0\]\[0\] must be a number, got '1'"),
        (lambda: replace(LAN, service={}), "service must be an ExponentialService, ServiceTimes"),
    ],
)
def test_what_cannot_be_is_named(make, told):
    with pytest.raises((TypeError, ValueError), match=told):
        make()


def test_times_of_a_rank_that_there_is_not_are_refused_before_the_run():
    with pytest.raises(ValueError, match="network 'lan' has times of rank 2, but workers=2"):
        run(blocks, 1, workers=2, backend="simulated", network=LAN.with_service_times({2: [1.0]}))


def test_networks_with_a_schedule_are_equal_hash_and_can_be_shipped():
    import pickle

    network = LAN.with_service_times({1: [None, 0.5]})
    assert network == LAN.with_service_times({1: (None, 0.5)}) != LAN
    assert pickle.loads(pickle.dumps(network)) == network
    assert len({network, LAN.with_service_times({1: [None, 0.5]})}) == 1
