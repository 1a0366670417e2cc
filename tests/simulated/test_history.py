"""The history checker finds what a server did wrong, and nothing where it did no wrong."""

import warnings

import pytest

from course_lib import run
from course_lib.comm.errors import UnreceivedMessagesWarning
from course_lib.comm.simulated.faults import Crash, Drop, Duplicate, Faults, schedule
from course_lib.comm.simulated.network import Network
from course_lib.trace.events import Note
from course_lib.trace.trace import Trace
from tests.simulated.counting_server import MISTAKES, N_STEPS, count
from tests.simulated.history import findings

NETWORK = Network("any", 3e-5, 1e8, flops_per_s=1e9)
COPIES = Faults([Duplicate(1, 0, 2), Duplicate(2, 0, 5), Duplicate(0, 1, 3)])
LOSSES = Faults([Drop(1, 0, 3), Drop(2, 0, 6), Drop(0, 3, 4), Drop(3, 0, 1)])
RETRIES = Faults([Crash(1, 2.5e-4, 4e-4), Crash(3, 5.1e-4, 6e-4), Crash(1, 9e-4, 1e-3)])


def history(mistake="", faults=COPIES, tries=1, workers=4):
    with warnings.catch_warnings():  # late answers and copies stay unread
        warnings.simplefilter("ignore", UnreceivedMessagesWarning)
        return run(
            count, mistake, tries, workers=workers, backend="simulated", network=NETWORK,
            faults=faults,
        )  # fmt: skip


FAULTS = {
    "none": (Faults([]), 1),
    "copies": (COPIES, 1),
    "losses": (LOSSES, 2),
    "retries after crashes": (RETRIES, 1),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_right_server_makes_every_addition_exactly_once(name):
    result = history("", *FAULTS[name])
    assert findings(result.trace) == []
    assert result.values[0] == [1] * 3 * N_STEPS
    assert len(result.trace.faults) >= len(FAULTS[name][0].events)


@pytest.mark.parametrize("seed", range(15))
def test_the_right_server_is_right_under_any_copies_delays_and_crashes_of_clients(seed):
    drawn = schedule(seed, 4, within_s=5e-4, restart=2, duplicate=4, delay=3, slow_link=1)
    kept = [event for event in drawn.events if not isinstance(event, Crash) or event.rank]
    assert findings(history("", Faults(kept)).trace) == []


@pytest.mark.parametrize("name", ["copies", "losses", "retries after crashes"])
def test_a_server_that_does_not_remember_ids_applies_twice(name):
    found = findings(history("double apply", *FAULTS[name]).trace)
    assert found
    assert {text.split(":")[0] for text in found} == {"double apply"}


def test_a_server_that_does_not_remember_ids_is_right_as_long_as_nothing_is_repeated():
    assert findings(history("double apply", Faults([])).trace) == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_is_found_under_its_name(mistake):
    found = findings(history(mistake).trace)
    assert any(text.startswith(mistake) for text in found)


def test_a_client_that_numbers_its_requests_anew_in_every_life_takes_old_answers_for_new_ones():
    found = findings(history("numbers of a former life", RETRIES).trace)
    assert found
    assert all(text.startswith("stale") for text in found)


def test_a_server_that_forgets_in_a_crash_loses_updates():
    calm = history("", Faults([]), workers=2).trace
    think = calm.computes[3]  # the client asks nothing then, and so waits for no answer
    down = [think.start_s + part * (think.end_s - think.start_s) for part in (0.3, 0.6)]
    found = findings(history("", Faults([Crash(0, *down)]), workers=2).trace)
    lost = [text.split()[3] for text in found if text.startswith("lost update")]
    assert lost == ["0", "1", "2"]


def trace_of(*notes):
    return Trace("simulated", "virtual", 3, notes=[Note(*note) for note in notes])


FINAL = (0, "final", [1, 1, 0], 9.0)
HISTORIES = {
    "": [(1, "invoke", 0, 0.0), (1, "ack", 0, 1.0), (2, "invoke", 1, 1.0), (2, "ack", 1, 2.0)],
    "lost update": [
        (1, "invoke", 0, 0), (2, "invoke", 1, 0), (2, "invoke", 2, 0), (2, "ack", 2, 1)
    ],
    "invented": [(1, "invoke", 0, 0.0), (1, "ack", 0, 1.0)],
    "stale": [
        (1, "invoke", 0, 0.0), (1, "ack", 0, 1.0), (2, "invoke", 1, 0.0), (2, "ask", 0, 1.0),
        (2, "read", [0, [0, 0, 0], [0, 0, 0]], 2.0),
    ],
    "half-written": [
        (1, "invoke", 0, 0.0), (2, "invoke", 1, 0.0), (2, "ask", 0, 0.0),
        (2, "read", [0, [1, 0, 0], [1, 1, 0]], 2.0),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", HISTORIES)
def test_histories_written_by_hand(kind):
    found = findings(trace_of(*HISTORIES[kind], FINAL))
    assert [text.split(":")[0] for text in found] == ([kind] if kind else [])


def test_a_bound_allows_that_much_staleness_and_no_more():
    old = [
        (1, "invoke", 0, 0.0), (1, "invoke", 1, 0.0), (1, "ack", 0, 1.0), (1, "ack", 1, 2.0),
        (2, "ask", 0, 2.0), (2, "read", [0, [0, 0, 0], [0, 0, 0]], 3.0),
    ]  # fmt: skip
    assert findings(trace_of(*old, FINAL), bound=2) == []
    (found,) = findings(trace_of(*old, FINAL), bound=1)
    assert "rank 2 asked at 2 s and did not see additions [0, 1], confirmed before" in found


def test_what_was_not_confirmed_may_be_missing():
    assert (
        findings(trace_of((1, "invoke", 0, 0), (1, "invoke", 1, 0), (1, "invoke", 2, 0), FINAL))
        == []
    )
