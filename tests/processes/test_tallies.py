"""What a rank has sent is counted once, whenever the garbage collector ends a communicator."""

import gc
import warnings
from collections import Counter

import numpy as np
import pytest

from course_lib import run
from course_lib.collectives import allreduce_direct
from course_lib.comm.processes.rank.rank_context import FORGOTTEN, Tallies

MANY = 1_000


def total(tallies):
    counts = Counter()
    for tally in tallies:
        counts.update(tally.sent)
    return counts


def test_a_communicator_counts_once_while_it_is_used_and_when_it_is_over():
    tallies = Tallies()
    for number in range(MANY):
        tally = tallies.open(f"start {number}")
        tally.sent[1] += 2
        if number % 3:
            tallies.end(tally)
    assert total(tallies) == {1: 2 * MANY}
    assert sum(tally.name != FORGOTTEN for tally in tallies) < 2 * MANY // 3


def test_one_that_ends_while_the_tallies_are_read_counts_once():
    tallies = Tallies()
    used = [tallies.open(f"start {number}") for number in range(MANY)]
    for tally in used:
        tally.sent[1] += 1
    counts = Counter()
    for tally in tallies:
        counts.update(tally.sent)
        while used:  # as the collector may, at any moment
            tallies.end(used.pop())
    assert counts == total(tallies) == {1: MANY}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["processes", "torch"])
def test_no_warning_of_messages_that_were_received_whenever_the_collector_runs(backend):
    def reduce_often(comm):
        gc.disable()  # what is over lies there in circles, to be found at a nasty moment
        for _ in range(100):
            allreduce_direct(comm, np.ones(3))
        gc.set_threshold(gc.get_count()[0] + 500)  # some objects later, while the run is reported
        gc.enable()
        return comm.rank

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(reduce_often, workers=3, backend=backend, trace=False)
    assert result.values == [0, 1, 2]
