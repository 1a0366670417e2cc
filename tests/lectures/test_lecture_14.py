"""What lecture 14 runs: trials, searches over them, requests that are answered, and a queue."""

import numpy as np
import pytest

from course_lib.lectures import lecture_14
from course_lib.lectures.lecture_14 import STRATEGIES, TIMES, searched, served
from course_lib.search import rungs


@pytest.fixture(scope="module", autouse=True)
def every_trial_has_a_stated_loss():
    """Nothing is trained here: a loss is looked up in a formula, and trial 3 is the best."""
    from course_lib.lectures.lecture_14 import trials

    patch = pytest.MonkeyPatch()
    patch.setattr(trials, "curve", lambda k: [abs(k - 3.25) + 1 / e for e in range(1, 28)])
    searched.cache_clear()
    yield
    patch.undo()
    searched.cache_clear()


@pytest.mark.parametrize("workers", [2, 3, 4])
@pytest.mark.parametrize("trials", [1, 4, 7])
def test_the_formula_for_a_step_of_all_trials_is_a_run(trials, workers):
    exchange_ms = lecture_14.ALLREDUCE_MS * (2 * (workers - 1) / workers) / 1.5
    told = lecture_14.steps_ms(trials, workers, exchange_ms)
    seen = [1e3 * lecture_14.traced(trials, shared, workers).end_s for shared in (True, False)]
    assert seen == pytest.approx(told, rel=1e-5)
    assert told[0] > 1.01 * trials * lecture_14.STEP_MS / workers, "were the exchange forgotten"


def test_with_how_many_trials_sharing_wins():
    said = lecture_14.steps_chart(4, 1.0).chart["said"]
    assert said == "Side by side is slower with 1, 2, 5 trials."
    assert lecture_14.steps_chart(4, 6.0).chart["said"] == "Side by side is never slower."


@pytest.mark.parametrize("method", STRATEGIES)
@pytest.mark.parametrize("times", TIMES.values())
def test_a_search_finds_the_best_trial_and_notes_the_best_loss_so_far(method, times):
    found = searched(method, times=times)
    assert found.best.job.trial == 3
    losses = [outcome.loss for outcome in found.outcomes]
    assert [loss for _, loss in found.found] == np.minimum.accumulate(losses).tolist()
    heard = [m.received_s for m in found.trace.messages if m.tag == "outcome"]
    assert [at for at, _ in found.found] == sorted(heard)
    assert 0 < found.busy <= 1
    assert found.row()["epochs"] == sum(outcome.job.resource for outcome in found.outcomes)


def test_cells_are_as_full_as_a_trial_has_come_and_a_worker_holds_one_trial():
    found = searched("halving")
    record = found.contributions
    assert record.goals == [3] * 9
    held = np.zeros((5, 9), int)
    for fill in record.fills:
        held[fill.rank, fill.chunk] = sum(fill.counts)
        assert (held[1:] > 0).sum(axis=1).max() <= 1, "a worker has one job"
    assert sorted(held[0]) == [1] * 6 + [2] * 2 + [3]
    assert held[0, 3] == 3
    assert not held[1:].any()
    jobs = [c for c, m in zip(record.carried, found.trace.messages, strict=True) if m.tag == "job"]
    reached = [rung.n_trials for rung in rungs(9, 1, 9)]
    assert sum(map(bool, jobs)) == sum(reached), "those that say there is no more carry nothing"


def test_a_death_loses_half_a_second_of_work_and_no_trial():
    died = lecture_14.with_a_death()
    assert died.trace.end_s == pytest.approx(4, abs=1e-3)
    assert sorted(outcome.job.trial for outcome in died.outcomes) == list(range(12))
    own = [fill for fill in died.contributions.fills if fill.rank == 3]
    assert [(fill.chunk, sum(fill.counts)) for fill in own[2:4]] == [(6, 1), (6, 0)]
    assert own[3].time_s == 1.5, "what the dead held is gone"


def test_the_chart_of_searches_has_a_curve_for_each_that_never_rises():
    drawn = lecture_14.search_chart(4, 9, 3, "size").chart
    assert [line["name"] for line in drawn["lines"]] == list(STRATEGIES)
    for line in drawn["lines"]:
        assert all(np.diff(line["y"]) <= 0)
        assert all(np.diff(line["x"]) >= 0)


@pytest.mark.parametrize(("trials", "eta", "longest"), [(9, 3, 9), (9, 4, 4), (27, 2, 16)])
def test_in_the_chart_random_search_trains_as_long_as_the_last_rung(trials, eta, longest):
    """Its losses after 27 epochs beside theirs after four would be another comparison."""
    below = lecture_14.search_chart(4, trials, eta, "alike").chart["below"]
    rows = {row[0]: row[1:] for row in below}
    assert rows["random search"][1] == f"{trials * longest}"
    assert rungs(trials, 1, 27, eta)[-1].resource == longest < 27


def test_the_chart_of_searches_names_all_that_are_done_first():
    with_one = lecture_14.search_chart(1, 27, 3, "alike").chart["said"]
    assert with_one.startswith("halving and ASHA are done first, 6.75 times")
    with_four = lecture_14.search_chart(4, 27, 3, "alike").chart["said"]
    assert with_four.startswith("halving is done first")


@pytest.mark.parametrize("way", ["replicas", "stages", "split layers"])
def test_every_way_gives_the_answers_of_one_worker(way):
    alone, four = served("replicas", 1).outputs, served(way).outputs
    assert sorted(four) == list(range(8))
    for k, y in alone.items():
        np.testing.assert_allclose(four[k], y, rtol=0, atol=1e-13)
        assert np.abs(four[k] - alone[(k + 1) % 8]).max() > 1e-3, "another request's"


def test_a_rank_lets_go_of_what_it_has_handed_on_and_the_last_keeps_all():
    record = served("stages").contributions
    held = np.zeros((4, 8), int)
    for fill in record.fills:
        held[fill.rank, fill.chunk] = sum(fill.counts)
    assert held.tolist() == [[0] * 8] * 3 + [[1] * 8]
    assert sum(map(bool, record.carried)) == 3 * 8


@pytest.mark.parametrize("stages", [1, 2, 4, 8])
def test_requests_that_are_all_there_leave_as_they_do_in_a_run(stages):
    one = lecture_14.service_of(stages, "1 Gbit/s")
    found = lecture_14.latencies([0.0] * 8, 1, one)
    answers = served("stages", stages).answers[-1].done_s
    assert found == pytest.approx([answers[k] for k in range(8)], rel=1e-9)


def test_many_replicas_leave_as_they_do_in_a_run():
    found = lecture_14.latencies([0.0] * 8, 4, lecture_14.service_of(1, "NVLink"))
    done = {k: at for answer in served("replicas").answers for k, at in answer.done_s.items()}
    assert found == pytest.approx([done[k] for k in range(8)], rel=1e-9)


@pytest.mark.parametrize("busy", [0.2, 0.5, 0.8])
def test_one_worker_waits_as_the_theory_of_queues_says(busy):
    """Pollaczek and Khinchine: for equal services half of busy / (1 - busy)."""
    one = lecture_14.service_of(1, "1 Gbit/s")
    came = lecture_14.arrivals(busy * one.per_second, 60_000)
    waited = (lecture_14.latencies(came.tolist(), 1, one) - one.latency_s).mean()
    told = busy / (1 - busy) / 2 / one.per_second
    assert waited == pytest.approx(told, rel=0.06)  # of 60,000 requests
    assert busy / (1 - busy) / one.per_second > 1.5 * told, "were services exponential"


def test_the_chart_of_the_queue_says_when_it_grows():
    quiet, crowded = (lecture_14.rate_chart(1, 1, rate, "NVLink").chart for rate in (200, 300))
    assert quiet["said"].startswith("As many")
    assert "grows" in crowded["said"]
    assert "points" not in crowded or not crowded["points"]


@pytest.mark.slow
def test_the_sheet_counts_messages_and_bytes_of_a_request():
    rows = {row[0]: row[1:] for row in lecture_14.price_sheet().rows}
    assert rows["4 stages"][:3] == ["131,584", "3", f"{3 * 4 * 256 * 8:,}"]
    ring = 4 * 4 * 6  # four pairs, four ranks, 2 (P - 1) messages
    biases = 4 * (256 // 4 + 256)  # the first layer of a pair has a part of it, the second all
    held = 8 * 256 * 256 // 4 + biases
    counted = [f"{held:,}", str(ring), f"{ring * 4 * 256 * 8 // 4:,}"]
    assert rows["4 split layers"][:3] == counted
    assert rows["one worker"][1] == rows["4 replicas"][1] == "0"
