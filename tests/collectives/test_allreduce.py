"""The all-reduce that chooses: by what all ranks know alike, and what is fastest."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.collectives import ALLREDUCES, allreduce
from course_lib.collectives.allreduce import ALGORITHMS
from course_lib.comm.rates import USUAL, Rates, keep_rates, kept_rates
from course_lib.comm.simulated.communicator import SimulatedCommunicator
from course_lib.comm.simulated.network import Network
from course_lib.costs.choice import CANDIDATES, choose_allreduce, combined_bytes
from tests.programs import REPOSITORY

FEW_ROUNDS, FEW_BYTES = 800, 8_000_000


def names(trace):
    return {event.name for event in trace.collectives}


def total(comm, n_bytes, rates=None):
    return allreduce(comm, np.full(n_bytes // 8, comm.rank + 1.0), rates=rates)


def test_it_has_the_algorithms_that_are_compared():
    assert tuple(ALGORITHMS) == CANDIDATES
    assert all(ALLREDUCES[name] is fn for name, fn in ALGORITHMS.items())


@pytest.mark.parametrize(
    ("n_bytes", "taken"), [(FEW_ROUNDS, "butterfly"), (FEW_BYTES, "halving_doubling")]
)
def test_the_trace_shows_what_was_taken_inside_the_call(n_bytes, taken):
    result = run(total, n_bytes, backend="simulated")
    assert names(result.trace) == {"allreduce", f"allreduce_{taken}"}
    assert all(set(value) == {10.0} for value in result.values)


def test_real_processes_send_what_the_simulator_sends_for_the_same_rates():
    rates = Rates(1e-5, 1e-9, 0.0, "planted")
    for n_bytes in (FEW_ROUNDS, 200_000):
        traces = [
            run(total, n_bytes, rates, backend=backend, workers=3).trace
            for backend in ("simulated", "processes")
        ]
        virtual, real = ([len(trace.messages), names(trace)] for trace in traces)
        assert virtual == real


def test_a_tensor_and_a_split_group_go_by_the_same_rates():
    def work(comm):
        half = comm.split(comm.rank % 2)
        assert half.rates is comm.rates
        started = comm.start(lambda child: child.rates)
        assert started.wait() is comm.rates
        return allreduce(half, torch.full((3,), comm.rank)).tolist()

    assert run(work, backend="simulated").values == [[2] * 3, [4] * 3] * 2


@settings(max_examples=60)
@given(
    size=st.integers(1, 9), length=st.integers(0, 3000), alpha_s=st.floats(0, 1e-3),
    bandwidth=st.floats(1e6, 1e11),
)  # fmt: skip
@example(size=4, length=1, alpha_s=1e-4, bandwidth=1e9)
@example(size=6, length=3000, alpha_s=0.0, bandwidth=1e7)
def test_nothing_is_faster_in_virtual_time(size, length, alpha_s, bandwidth):
    network = Network("any", alpha_s, bandwidth, flops_per_s=1e9)

    def taken_s(algorithm):
        array = np.zeros(length)
        return run(algorithm, array, workers=size, backend="simulated", network=network).elapsed_s

    choice = choose_allreduce(size, 8 * length, 8, alpha_s, 1 / bandwidth)
    seconds = {name: taken_s(ALGORITHMS[name]) for name in CANDIDATES}
    assert taken_s(allreduce) == seconds[choice.name]
    # A bound may be above what is taken, so that another is chosen; never the other way round.
    assert seconds[choice.name] <= choice.seconds[0][1] * (1 + 1e-9)
    for name, predicted_s in choice.seconds:
        if predicted_s <= seconds[name] * (1 + 1e-9):  # exact
            assert seconds[choice.name] <= seconds[name] * (1 + 1e-9)


def test_by_latency_or_bytes_alone_another_one_would_be_taken():
    numbers = {"alpha_s": 1e-4, "beta_s_per_byte": 1e-9}
    for n_bytes, without in ((FEW_ROUNDS, "alpha_s"), (FEW_BYTES, "beta_s_per_byte")):
        taken = choose_allreduce(4, n_bytes, 8, **numbers)
        assert choose_allreduce(4, n_bytes, 8, **numbers | {without: 0.0}).name != taken.name


def test_who_adds_less_is_taken_where_adding_counts():
    numbers = {"size": 2, "n_bytes": 80_000, "item_bytes": 8, "alpha_s": 1e-5}
    assert choose_allreduce(**numbers, beta_s_per_byte=1e-9).name == "butterfly"
    added = choose_allreduce(**numbers, beta_s_per_byte=1e-9, gamma_s_per_byte=1e-9)
    assert added.name == "ring"


@pytest.mark.parametrize(("size", "length"), [*itertools.product(range(1, 9), (1, 7, 840))])
def test_the_bytes_that_are_added_are_counted(monkeypatch, size, length):
    added = [0] * size
    receive, exchange = SimulatedCommunicator._recv, SimulatedCommunicator._sendrecv

    def count(verb):
        def counting(comm, *args):
            data, sent = verb(comm, *args)
            *_, out, op = args if verb is exchange else args[:-1]
            added[comm.rank] += out.nbytes if op is not None else 0
            return data, sent

        return counting

    monkeypatch.setattr(SimulatedCommunicator, "_recv", count(receive))
    monkeypatch.setattr(SimulatedCommunicator, "_sendrecv", count(exchange))
    for name, algorithm in ALGORITHMS.items():
        added[:] = [0] * size
        run(algorithm, np.zeros(length), workers=size, backend="simulated")
        told = combined_bytes(name, size, 8 * length, 8)
        halvings = size.bit_length() - 1 if name == "halving_doubling" and length % 8 else 0
        assert max(added) <= told <= max(added) + 8 * halvings, name


def test_a_choice_says_why():
    told = str(choose_allreduce(4, 1000, 4, alpha_s=2e-5, beta_s_per_byte=1e-9))
    assert told == "butterfly for 1 KB on 4 ranks: 42 µs; halving_doubling 81.5 µs, ring 122 µs"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


def told_rates(comm):
    return comm.rates


def test_processes_go_by_what_was_kept_for_them(home):
    assert kept_rates("processes") == USUAL["processes"]
    file = keep_rates("processes", Rates(1.0, 2.0, 3.0, "measured"))
    keep_rates("torch", Rates(4.0, 5.0, 6.0, "measured"))
    keep_rates("mpi", Rates(7.0, 8.0, 9.0, "measured"))
    assert file.is_relative_to(home)
    assert [kept_rates(name).numbers for name in USUAL] == [(1, 2, 3), (4, 5, 6), (7, 8, 9)]
    assert run(told_rates, workers=2).values == [kept_rates("processes")] * 2
    of_network = networks.ethernet_10g.rates
    assert run(told_rates, workers=2, backend="simulated").values == [of_network] * 2


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "processes": [1, 2]}', "[" * 100_000,
     '{"schema": 1, "processes": [1, -2, 3]}', '{"schema": 1, "processes": [1, NaN, 3]}',
     '{"schema": 1, "processes": "123"}', '{"schema": 1, "processes": [true, 1, 1]}',
     f'{{"schema": 1, "processes": [1{"0" * 400}, 1, 1]}}'],
)  # fmt: skip
def test_a_damaged_file_is_told_and_written_anew(home, text):
    file = home / ".course_lib" / "rates.json"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.warns(UserWarning, match=r"rates\.json is damaged.*bench allreduce --keep"):
        assert kept_rates("processes") == USUAL["processes"]
    keep_rates("processes", Rates(1.0, 2.0, 3.0, ""))
    assert kept_rates("processes").numbers == (1, 2, 3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_lies_in_the_way_of_the_file_is_neither_waited_for_nor_written_to(home):
    file, other = home / ".course_lib" / "rates.json", home / "other"
    file.parent.mkdir()
    os.mkfifo(file)  # who opens it waits for ever
    other.write_text("as it was")
    file.with_suffix(".new").symlink_to(other)
    assert kept_rates("processes") == USUAL["processes"]
    keep_rates("processes", Rates(1.0, 2.0, 3.0, ""))
    assert kept_rates("processes").numbers == (1, 2, 3)
    assert other.read_text() == "as it was"


SCRIPT = """
import os, sys
rank = int(os.environ["RANK"])
os.environ["HOME"] = os.environ["USERPROFILE"] = sys.argv[1 + rank]  # as on a computer of its own
import numpy as np
from course_lib import run
from course_lib.collectives import allreduce

def work(comm, length):
    allreduce(comm, np.ones(length))
    return comm.rates.numbers

result = run(work, 2000, backend="torch")
taken = sorted({event.name for event in result.trace.collectives})
sys.stdout.write(f"{rank} {result.values[rank]} {taken}\\n")
"""


@pytest.mark.slow
def test_two_computers_with_other_fits_take_the_same_algorithm(tmp_path):
    # Alone, the one would take the butterfly and the other the ring.
    fits = [(1e-3, 1e-12, 0.0), (1e-9, 1e-6, 1e-6)]
    alone = [choose_allreduce(2, 16_000, 8, *fit).name for fit in fits]
    assert alone == ["butterfly", "ring"]
    (tmp_path / "work.py").write_text(SCRIPT)
    homes = []
    for number, fit in enumerate(fits):
        homes.append(tmp_path / (200 * str(number)) / (200 * "x") / (200 * "y"))
        (homes[-1] / ".course_lib").mkdir(parents=True)
        rates = homes[-1] / ".course_lib" / "rates.json"
        rates.write_text(json.dumps({"schema": 1, "torch": fit}))
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         "work.py", *map(str, homes)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, cwd=tmp_path, timeout=120, check=False,
        capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    taken = ["allreduce", "allreduce_butterfly"]
    assert sorted(done.stdout.splitlines()) == [f"{n} {fits[0]} {taken}" for n in (0, 1)]
