"""What lecture 10 runs: a memory that loses additions, odds, a bowl, steps on shared memory."""

from itertools import permutations

import numpy as np
import pytest

from course_lib import run
from course_lib.lectures import lecture_10
from course_lib.lectures.lecture_10 import drawn, in_turn, on_memory, outcomes
from course_lib.lectures.lecture_10.speed import APART, of_round
from course_lib.trace.events import Compute
from course_lib.training import Plan


def by_hand(order):
    """Follow turns of cores that count: load, store."""
    counter, loaded = 0, {}
    for core in order:
        if core in loaded:
            counter = loaded.pop(core) + 1
        else:
            loaded[core] = counter
    return counter


@pytest.mark.parametrize("order", sorted(set(permutations([1, 1, 2, 2]))))
def test_turns_on_the_memory_end_where_the_counter_does_by_hand(order):
    played = in_turn(order)
    assert played.kept == by_hand(order)
    assert len(played.lost_at) == played.made - played.kept
    turns = [m.src for m in played.trace.messages if m.tag in ("load", "store")]
    assert turns == [*order]


def test_all_outcomes_are_those_of_all_orders():
    orders = set(permutations([1] * 4 + [2] * 2))
    assert outcomes([2, 1]) == {by_hand(order) for order in orders} == {1, 2, 3}
    assert outcomes([3]) == {3}
    assert min(outcomes([4, 4])) == 2


def test_a_memory_that_adds_loses_nothing_and_one_that_keeps_what_is_stored_loses():
    updates = drawn(3, 4, 6, 6)
    stored, added = (on_memory(updates, seed=2, by_memory=by_memory) for by_memory in (0, 1))
    assert added.kept == added.made == stored.made == 72
    assert stored.kept < 60
    assert stored.lost_at
    assert added.lost_at == []


def test_boxes_and_messages_show_what_is_in_the_parameters():
    played = in_turn([1, 2, 1, 2])
    shown = played.contributions
    assert shown.goals == [2]
    assert shown.called == "parameter"
    assert [sum(fill.counts) for fill in shown.fills if fill.rank == 0] == [1, 1]
    sent = [m.tag for m in played.trace.messages]
    levels = [sum(counts) for each in shown.carried for counts in each.values()]
    assert sent == ["load", "answer", "load", "answer", "store", "store"]
    assert levels == [0, 0, 1, 1]
    several = on_memory([[[0, 1, 2]], [[2, 3]]]).player().scene["labels"]
    assert "parameters 0 to 2" in str(several)


@pytest.mark.parametrize(("P", "k", "d"), [(2, 3, 5), (3, 2, 4), (4, 4, 4), (1, 2, 9)])
def test_the_lost_share_is_the_mean_over_many_draws(P, k, d):
    rng = np.random.default_rng(0)
    kept = np.mean([
        len({*np.concatenate([rng.permutation(d)[:k] for _ in range(P)])}) for _ in range(3000)
    ])  # fmt: skip
    assert lecture_10.lost_share(P, k, d) == pytest.approx(1 - kept / (P * k), abs=0.01)
    assert lecture_10.lost_share(2 * P, k, d) > lecture_10.lost_share(P, k, d) + 0.1


@pytest.mark.slow
def test_with_a_lock_a_round_is_one_step_of_all_and_without_it_most_are_lost():
    ends = {lock: lecture_10.on_bowl(0.2, lock, steps=3) for lock in ("one", "none")}
    slopes = {lock: trace.notes_named("w")[-1].value[1] - 1 for lock, trace in ends.items()}
    assert slopes["one"] == pytest.approx(-((1 - 4 * 0.2) ** 3), rel=1e-9)
    assert slopes["none"] == pytest.approx(-((1 - 0.2) ** 3), rel=1e-9)
    picture = lecture_10.walks(0.2, "equal").landscape
    assert [walk["name"] for walk in picture["walks"]] == ["a lock", "no lock"]


def test_the_explorer_shows_what_was_trained():
    here = {(2, "all 100", "none"): 30.0, (1, "all 100", "none"): 20.0}
    head, row = lecture_10.explorer_chart(2, 100, "none", here).chart["below"]
    told, trace = dict(zip(head, row, strict=True)), lecture_10.trained(100, 2)
    lost = 100 * lecture_10.share_lost(trace, 100)
    assert float(told["stores lost, %"]) == pytest.approx(lost, abs=0.06)
    assert lost > 20
    assert told["times as fast, here"] == "1.50"
    _, row = lecture_10.explorer_chart(2, 100, "none", {}).chart["below"]
    assert row[-1] == "not measured"
    losses = [loss for _, loss in lecture_10.losses(trace)]
    assert len(losses) == lecture_10.EPOCHS
    total = sum(note.value for note in trace.notes_named("loss_partial"))
    assert np.mean(losses) == pytest.approx(total / (lecture_10.EPOCHS * 24))


def test_a_loss_is_noted_over_all_examples_when_they_are_loaded_and_at_the_end():
    model, X, y = lecture_10.problem(100)
    alone, together = (lecture_10.trained(100, workers).notes_named("loss") for workers in (1, 4))
    assert [len(alone), len(together)] == [6 * 48 + 1, 6 * 12 + 1]
    assert {note.rank for note in together} == {0}
    w, expected = model.initial(), []
    for examples, _ in Plan(lecture_10.STEP, 1, lecture_10.EPOCHS).shares(len(y)):
        expected.append(model.loss(w, (X, y)))
        w = w - lecture_10.STEP * model.gradient(w, (X[examples], y[examples]))[1]
    expected.append(model.loss(w, (X, y)))
    assert [note.value for note in alone] == pytest.approx(expected, rel=1e-9)
    assert together[0].value == pytest.approx(np.log(2))
    assert together[0].time_s == 0 < together[1].time_s < alone[2].time_s


def test_steps_on_shared_memory_are_those_of_one_process_where_rows_never_meet():
    rows = lecture_10.two_halves(rows=20, columns=60)
    assert set(rows[0][0].ravel()) & set(rows[0][1].ravel()) == set()

    def steps(comm):
        w = comm.shared_array(60)
        lecture_10.torch_steps(comm.rank, w, *rows)
        comm.barrier()
        return w.copy()

    found = run(steps, workers=2, backend="simulated").values[0]
    alone = np.zeros(60)
    for process in (1, 0):
        lecture_10.torch_steps(process, alone, *rows)
    np.testing.assert_array_equal(found, alone)
    assert np.abs(alone).max() > 0.1


def test_a_count_in_turn_is_whole():
    assert run(lecture_10.count_with_us, 50, workers=2, backend="simulated").values == [100, 100]


def test_paces_are_laid_out_beside_one_worker_without_a_lock():
    paces = {
        (1, "a", "none"): 2e6, (1, "a", "one"): 1e6, (2, "a", "none"): 3e6, (2, "a", APART): 4e6,
    }  # fmt: skip
    rows = {row[0]: row[1:] for row in lecture_10.pace_table(paces).rows}
    assert rows == {
        "1 worker, no lock: steps a second": ["2,000,000"],
        "1 worker, one lock: times as fast": ["0.5"],
        "2 workers, no lock: times as fast": ["1.5"],
        "2 workers, a vector each, no lock: times as fast": ["2"],
    }


def test_a_round_counts_if_all_were_at_work_for_most_of_it():
    first, second = Compute(0, "", 0.0, 1.0, 2.0), Compute(1, "", 0.0, 1.1, 1.95)
    assert of_round([first, second]) == (1.0, True)
    assert of_round([first, second._replace(start_s=1.5)]) == (1.0, False)
    after = second._replace(start_s=2.5, end_s=3.0)
    assert of_round([first, after]) == (2.0, False)
    assert of_round([first]) == (1.0, True)


@pytest.mark.slow
def test_the_price_sheet_has_downpour_and_every_lock():
    rows = {row[0]: row[1:] for row in lecture_10.price_sheet(2).rows}
    assert [row[0] for row in rows.values()] == ["3", "0", "0", "0"]
    assert rows["Hogwild, no lock"][2] != "0"
    assert rows["Hogwild, one lock"][2] == rows["Hogwild, 8 locks"][2] == "0"
