"""No engine can be fast with a wrong sum: every result is compared with the exact one."""

import numpy as np
import pytest

from benchmarks.exchange import Task, contribution, measure, slowest
from benchmarks.ours import Ours
from course_lib import run
from course_lib.comm.errors import RunError


class OffByOne(Ours):
    name = "off by one"

    def spoil(self, found):
        found[7] += 1
        return found


class ShiftedByOne(Ours):
    name = "shifted by one"

    def spoil(self, found):
        return np.roll(found, 1)


class TooShort(Ours):
    name = "too short"

    def spoil(self, found):
        return found[:-1]


def spoiled(comm, engine_class, spoiler, which):
    """Measure with an engine of which one rank spoils one sum of a batch."""
    engine = engine_class(comm)
    prepare = engine.prepare

    def prepare_spoiled(x, n_calls):
        sum_up = prepare(x, n_calls)

        def one_spoiled():
            sums = sum_up()
            if comm.rank == spoiler:
                sums[which] = engine.spoil(sums[which])
            return sums

        return one_spoiled

    engine.prepare = prepare_spoiled
    return measure(engine, Task((1024,), n_batches=1))


@pytest.mark.parametrize("which", [0, 50, -1])
@pytest.mark.parametrize(
    ("engine_class", "told"),
    [
        (OffByOne, "place 7 holds 25.0, expected 24.0"),
        (ShiftedByOne, "place 0 holds"),
        (TooShort, r"shape \(255,\), expected \(256,\)"),
    ],
)
def test_one_wrong_sum_on_one_rank_is_detected(engine_class, told, which):
    with pytest.raises(RunError, match=told):
        run(spoiled, engine_class, 1, which, workers=2, backend="simulated")


def test_a_wrong_sum_in_a_real_process_is_detected():
    with pytest.raises(RunError, match="off by one, rank 1 of 2, 1,024 bytes: place 7"):
        run(spoiled, OffByOne, 1, 3, workers=2)


def test_right_sums_are_not_complained_about():
    measured = run(
        lambda comm: measure(Ours(comm), Task((1024,), n_batches=2, n_pings=3)),
        workers=2, backend="simulated",
    ).values  # fmt: skip
    assert {what: len(batches) for what, batches in measured[0].items()} == {"1024": 2, "ping": 2}


def test_contributions_are_whole_and_so_small_that_float32_sums_them_exactly():
    total = sum(contribution(rank, 64 * 1024).astype(np.float64) for rank in range(4))
    assert np.array_equal(total, total.astype(np.float32))
    assert np.array_equal(total, contribution(0, 64 * 1024) * 10)


def test_the_slowest_rank_counts_batch_by_batch():
    ranks = [{"1024": [1.0, 5.0]}, {"1024": [2.0, 3.0]}]
    assert slowest(ranks) == {"1024": [2.0, 5.0]}
