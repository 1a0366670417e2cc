"""What lecture 05 runs: sums on boxes, rings that only look like one, prices, the game."""

import json
import math

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.collectives import ALLREDUCES, allreduce_ring
from course_lib.lectures import lecture_05
from course_lib.measure import virtual_s

SEVEN = [7, 5, 6, 1, 2, 3, 4]


def sums_of(trace):
    return [[n.value for n in trace.notes if n.rank == rank] for rank in range(trace.size)]


def test_every_rank_notes_the_sums_that_it_holds_and_when():
    trace = lecture_05.with_sums(ALLREDUCES["tree"], SEVEN, 80)
    assert sums_of(trace) == [
        [7, 15, 28], [5, 6, 8, 28], [6, 9, 13, 28], [1, 28], [2, 28], [3, 28], [4, 28],
    ]  # fmt: skip
    received = {(m.dst, m.received_s) for m in trace.messages}
    later = [note for note in trace.notes if note.time_s > 0]
    assert {(note.rank, note.time_s) for note in later} <= received


def test_a_sum_that_is_wrong_is_seen():
    def forgets_its_own(comm, x):
        return comm.sendrecv(x, dst=1 - comm.rank, src=1 - comm.rank)

    assert [held[-1] for held in sums_of(lecture_05.with_sums(forgets_its_own, [1, 2], 80))] == [
        2, 1,
    ]  # fmt: skip


def test_what_the_lecture_lets_you_try_counts_everybody_twice():
    def every_distance(comm, x):
        total = x.copy()
        for distance in (1, 2, 3):
            partner = comm.rank ^ distance
            total += comm.sendrecv(total, dst=partner, src=partner)
        return total

    held = sums_of(lecture_05.with_sums(every_distance, [1, 2, 3, 4], 80))
    assert [of_rank[-1] for of_rank in held] == [20] * 4


def test_a_rank_with_chunks_has_no_one_sum():
    with pytest.raises(ValueError, match="must send whole vectors, got allreduce_ring with 4"):
        lecture_05.with_sums(allreduce_ring, [1, 2, 3, 4], 320)


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    "allreduce",
    [lecture_05.direct_in_turn, lecture_05.unchunked_ring, lecture_05.twice_round,
     lecture_05.double_tree_16k, lecture_05.hierarchical],
)  # fmt: skip
def test_variants_add_up_on_every_rank_and_leave_their_argument(allreduce, workers):
    def summed(comm):
        x = np.arange(9.0) * (comm.rank + 1)
        total = allreduce(comm, x)
        return total, np.array_equal(x, np.arange(9.0) * (comm.rank + 1))

    for total, is_kept in run(summed, workers=workers, backend="simulated").values:
        assert np.array_equal(total, np.arange(9.0) * sum(range(1, workers + 1)))
        assert is_kept


def test_the_meter_tells_rings_apart_whose_sums_are_equal():
    rings = {"chunks": allreduce_ring, "whole": lecture_05.unchunked_ring}
    chunks, whole = lecture_05.meter(rings, 1_280).rows
    assert chunks[1] == whole[1] == "10"
    assert (chunks[2:4], whole[2:4]) == (["1.5 n", "1.875 n"], ["3 n", "15 n"])


def test_ten_rounds_of_a_butterfly_send_ten_vectors():
    trace = run(lecture_05.ten_rounds, np.ones(10), workers=4, backend="simulated").trace
    assert trace.bytes_sent() == [800] * 4
    assert trace.rounds() == 10
    assert {m.src ^ m.dst for m in trace.messages} == {1, 2}


@pytest.mark.parametrize(("workers", "reach"), [(7, 2), (8, 3), (12, 2)])
def test_nobody_sends_less_than_the_bound(workers, reach):
    bound, *bars = lecture_05.busiest_nic(workers).chart["bars"]
    assert bound[1] == pytest.approx(2 * (workers - 1) / workers, rel=1e-4)
    assert sum(bar[1] == bound[1] for bar in bars) == reach
    assert min(bar[1] for bar in bars) == bound[1]


def test_curves_are_times_of_the_best_and_ring_and_butterfly_meet_at_n_star():
    drawn = lecture_05.times_over_bytes(4, networks.ethernet_10g).chart
    by_name = {
        line["name"]: dict(zip(line["x"], line["y"], strict=True)) for line in drawn["lines"]
    }
    assert min(min(line.values()) for line in by_name.values()) == 1
    (name, n_star, height) = drawn["points"][0]
    assert (name, n_star) == ("n*", 200_000)
    ring, butterfly = by_name["ring"], by_name["butterfly"]
    both = ring.keys() & butterfly.keys()
    assert len(both) > 15
    assert all((ring[n] < butterfly[n]) == (n > n_star) for n in both)
    nearest = sorted(both, key=lambda n: abs(math.log(n / n_star)))[:2]
    assert min(ring[n] for n in nearest) < height < max(butterfly[n] for n in nearest)
    assert drawn["said"].endswith("8.0 α/β = 200 KB.")


@pytest.mark.parametrize("name", ["central", "all-to-all", "tree", "double tree", "ring"])
def test_a_price_is_the_simulators_time(name):
    key = {"all-to-all": "direct", "double tree": "double_tree"}.get(name, name)
    seconds = lecture_05.simulated_s(name, 8, 64_000)
    assert seconds == pytest.approx(virtual_s(ALLREDUCES[key], 8, 64_000), rel=1e-9)


def test_the_best_of_every_size_is_marked():
    sheet = lecture_05.price_sheet([8_000, 64_000], workers=4)
    for column in (1, 2):
        (best,) = (row for row, at in sheet.told if at == column)
        name = sheet.rows[best][0]
        n_bytes = (8_000, 64_000)[column - 1]
        times = {row[0]: lecture_05.simulated_s(row[0], 4, n_bytes) for row in sheet.rows}
        assert times[name] == min(times.values())


def test_the_game_hides_times_before_an_answer_and_scores_it_then():
    hidden = lecture_05.play("A", "?").chart
    assert {bar[2] for bar in hidden["bars"]} == {"?"}
    assert json.dumps(hidden, allow_nan=False)
    said = {answer: lecture_05.play("A", answer).chart["said"] for answer in lecture_05.OFFERED}
    assert [a for a, text in said.items() if "That is the best" in text] == ["butterfly"]
    assert said["butterfly"].startswith("100 points")
    seconds = {a: virtual_s(ALLREDUCES[a], 16, 2_048) for a in ("butterfly", "ring")}
    points = round(100 * seconds["butterfly"] / seconds["ring"])
    assert said["ring"].startswith(f"{points} points")
    assert lecture_05.score("A", "ring") == points < 50


def test_every_case_of_the_game_can_be_cut_into_chunks():
    for case in lecture_05.CASES.values():
        assert case.n_bytes % (8 * case.workers) == 0
        assert math.isfinite(case.network.latency_s)
