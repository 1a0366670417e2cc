"""A thousand random runs give the same traces in two processes that hash strings differently."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulated.seeded_runs import seeded_trace

REPOSITORY = Path(__file__).parents[2]
# What a run must not do: let the order of a set of strings into its trace.
LEAKS_THE_ORDER_OF_A_SET = """
from tests.simulated import seeded_runs
seeded_runs.sorted = list
print("\\n".join(seeded_runs.digests(0, 50)))
"""


def start(hash_seed, *words):
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        text=True,
    )


def in_two_processes(*words):
    """Return the lines that each of two processes prints."""
    with start(1, *words) as one, start(2, *words) as other:
        lines = one.communicate()[0].splitlines(), other.communicate()[0].splitlines()
    assert (one.returncode, other.returncode) == (0, 0)
    return lines


def digests_agree(n_seeds):
    mine, other = in_two_processes("-m", "tests.simulated.seeded_runs", "0", str(n_seeds))
    assert len(mine) == len(set(mine)) == n_seeds  # and no two seeds give the same trace
    assert mine == other


@pytest.mark.slow
def test_fifty_seeds_give_the_same_traces_in_two_processes():
    digests_agree(50)


@pytest.mark.slow
@pytest.mark.soak
def test_a_thousand_seeds_give_the_same_traces_in_two_processes():
    digests_agree(1000)


@pytest.mark.slow
def test_a_set_whose_order_came_into_the_trace_would_be_seen():
    mine, other = in_two_processes("-c", LEAKS_THE_ORDER_OF_A_SET)
    assert mine != other


def test_the_seeds_meet_what_a_run_can_do():
    traces = [seeded_trace(seed) for seed in range(50)]
    messages = [message for trace in traces for message in trace.messages]
    assert {"send", "recv", "sendrecv", "recv_any", "barrier"} <= {
        wait.verb for trace in traces for wait in trace.waits
    }
    assert any("/start " in message.comm for message in messages)
    assert any("/split " in message.comm for message in messages)
    assert any(note.name == "order" for trace in traces for note in trace.notes)
    assert {message.n_bytes > 16 * 1024 for message in messages} == {True, False}
