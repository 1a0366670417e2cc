"""What lecture 00 shows and keeps: received numbers, hung runs, prices, alpha and beta."""

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.costs import Line
from course_lib.lectures.lecture_00 import (
    STATED,
    attempt,
    keep,
    line_over_points,
    message_prices,
    this_computer,
    with_received,
)

LINE = Line(2e-6, 2e-10, worst_ratio=1.0)
_BOTH = '{"alpha_s": %s, "beta_s_per_byte": 1}'


def double_on(comm):
    if comm.rank == 0:
        comm.send(np.array([1.0]), dst=1)
        return comm.recv(src=comm.size - 1)
    number = comm.recv(src=comm.rank - 1)
    comm.send(2 * number, dst=(comm.rank + 1) % comm.size)
    return number


def send_first(comm, x):
    comm.send(x, dst=(comm.rank + 1) % comm.size)
    return comm.recv(src=(comm.rank - 1) % comm.size)


@pytest.fixture
def notebooks(tmp_path):
    folder = tmp_path / "workbook" / "notebooks"
    folder.mkdir(parents=True)
    return folder


def test_a_number_stands_beside_its_rank_from_the_moment_when_it_is_received():
    made = run(double_on, workers=3, backend="simulated")
    notes = with_received(made).notes
    assert [(note.rank, note.value) for note in notes] == [(0, 4), (1, 1), (2, 2)]
    hop_s = made.elapsed_s / 3
    assert [note.time_s for note in notes] == pytest.approx([3 * hop_s, hop_s, 2 * hop_s])
    assert made.trace.notes == []


def test_an_attempt_is_played_to_its_end_or_to_the_waits_in_which_it_hangs():
    done, hung = (attempt(send_first, n_bytes) for n_bytes in (16_384, 16_392))
    assert done.title.startswith("all are done after")
    assert "4 messages" in repr(done)
    assert hung.title == "deadlock: 0 → 1 → 2 → 3 → 0, each waits for the next"
    assert "0 messages" in repr(hung)
    waiting = [doing[2] for doing in hung.scene["doings"]]
    assert waiting == [f"sends, or waits for rank {rank} to receive" for rank in (1, 2, 3, 0)]
    assert hung.scene["faults"] == [], "no rank has failed"


def test_a_line_is_drawn_over_medians_of_what_was_measured_and_says_how_far_it_is_off():
    points = [(1000, 1e-5), (1000, 2e-5), (1000, 9e-5), (10_000, 4e-5), (10_000, 5e-5)]
    picture = line_over_points(points, 1e-5, 1e9).chart
    lines = {line["name"]: line for line in picture["lines"] if not line["faint"]}
    assert (lines["measured"]["x"], lines["measured"]["y"]) == ([1, 10], [20, 45])
    assert lines["α + β n"]["y"] == [11, 20]
    assert "by a factor of 2.2" in picture["said"]  # 45 / 20


def test_prices_mark_what_is_mostly_latency():
    prices = message_prices([networks.ethernet_10g], {"small": 24_000, "large": 26_000})
    assert prices.rows == [["ethernet_10g", "1.25", "39.2 µs", "40.8 µs"]]
    assert prices.told == {(0, 2)}


def test_what_is_kept_in_a_workbook_is_read_there_and_nowhere_else(notebooks, tmp_path):
    assert this_computer(notebooks) == STATED
    network, said = keep(LINE, notebooks)
    assert said == "α = 2 µs, 1/β = 5 GB/s; kept in workbook/this_computer.json"
    assert this_computer(notebooks) == this_computer(notebooks.parent) == network
    assert (network.latency_s, network.bandwidth_bytes_per_s) == (2e-6, 5e9)
    assert this_computer(tmp_path) == STATED


def test_outside_of_a_workbook_nothing_is_written(tmp_path):
    network, said = keep(LINE, tmp_path)
    assert "not kept" in said
    assert network.latency_s == 2e-6
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"alpha_s": 1}', *(_BOTH % alpha for alpha in ('"x"', "-1", "NaN"))],
)
def test_a_damaged_file_counts_as_none(notebooks, text):
    (notebooks.parent / "this_computer.json").write_text(text)
    assert this_computer(notebooks) == STATED


def test_a_line_without_a_slope_is_a_network_without_a_limit(notebooks):
    keep(Line(1e-6, 0.0, worst_ratio=1.0), notebooks)
    assert this_computer(notebooks).bandwidth_bytes_per_s == float("inf")
