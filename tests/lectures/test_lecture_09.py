"""What lecture 09 runs: old gradients, edges, momentum, a replica that is lost and comes back."""

import numpy as np
import pytest

from course_lib import run
from course_lib.costs.asynchrony import delayed_edge, implicit_momentum, mean_square_edge
from course_lib.lectures import lecture_09
from course_lib.lectures.lecture_09 import RETURNED, ages, on_bowl, pace
from course_lib.schemes import backup_workers, downpour, parameter_server
from course_lib.trace.replay import service_times
from course_lib.training import Plan
from course_lib.viz import landscape
from course_lib.viz.charts.curves import loss_curve


@pytest.fixture(scope="module")
def seen():
    return on_bowl(RETURNED, 3, 20, pace(3, "random")).trace


def test_a_run_on_the_bowl_is_the_recursion_with_its_ages():
    made = on_bowl(RETURNED, 3, 60, pace(3, "random"), rate=0.3 / lecture_09.CURVATURE).trace
    slopes = [1.0 - note.value[1] for note in made.notes_named("w")]
    np.testing.assert_allclose(slopes, lecture_09.descend(ages(made), 0.3)[1:], atol=1e-12)
    other = lecture_09.descend([0] * 60, 0.3)[1:]
    assert np.abs(np.subtract(slopes, other)).max() > 0.01, "with fresh gradients it is another"


def test_a_scheme_that_waits_takes_as_many_gradients_and_goes_as_far():
    waited = on_bowl(parameter_server, 2, 20, pace(2), rate=0.02, waits=True)
    assert sum(m.tag == "gradient" for m in waited.trace.messages) == 20
    by_hand = 1 - (1 - 2 * 0.02 * lecture_09.CURVATURE) ** 10
    assert waited.values[0].w[1] == pytest.approx(by_hand, abs=1e-12)


def test_who_computed_an_update_is_found_by_the_order_in_which_pushes_were_received(seen):
    by_rank = lecture_09.landed(seen)
    assert sorted(number for numbers in by_rank.values() for number in numbers) == [*range(20)]
    for rank, numbers in by_rank.items():
        assert lecture_09.whose(seen, numbers[1]) == (rank, 1)
    for rank, numbers in by_rank.items():  # each reads what its own last push has made
        old = [ages(seen)[number] for number in numbers]
        assert old == [b - a - 1 for a, b in zip([-1, *numbers], numbers, strict=False)]
        assert len(service_times(seen)[rank]) == len(numbers)


def test_replicas_stand_where_the_parameters_are_that_they_have_read(seen):
    added = lecture_09.with_replicas(seen)
    server = [np.zeros(2), *(note.value for note in seen.notes_named("w"))]
    for rank, numbers in lecture_09.landed(seen).items():
        stood = [note.value for note in added.notes_named("w") if note.rank == rank]
        read = [server[number - ages(seen)[number]] for number in numbers]
        np.testing.assert_array_equal(stood, read)
    picture = landscape({"": added}, **lecture_09.VIEW)
    walks = {walk["rank"]: walk for walk in picture.landscape["walks"]}
    assert set(walks) == {0, 1, 2, 3}
    assert len(walks[0]["arrows"]) == sum(age > 0 for age in ages(seen))


@pytest.mark.parametrize("P", [1, 2, 4])
def test_the_edge_of_equal_times_is_the_formula_s(P):
    old = [min(update, P - 1) for update in range(600)]
    assert lecture_09.edge_of(old) == pytest.approx(delayed_edge(P), rel=5e-3)
    assert lecture_09.edge_of(old) != pytest.approx(delayed_edge(P + 1), rel=0.05)


def test_momentum_widens_the_edge_of_fresh_gradients_and_narrows_that_of_old_ones():
    assert lecture_09.edge_of([0] * 400, 0.5) == pytest.approx(3.0, rel=0.01)
    old = [min(update, 3) for update in range(400)]
    assert lecture_09.edge_of(old, 0.5) < 0.6 * lecture_09.edge_of(old)


def test_the_chart_of_edges_has_runs_on_their_curve():
    drawn = lecture_09.edges_chart().chart
    curves = {line["name"]: dict(zip(line["x"], line["y"], strict=True)) for line in drawn["lines"]}
    assert curves["random times, mean of squares"][4] == pytest.approx(mean_square_edge(4), 1e-4)
    for _, P, edge in drawn["points"]:
        assert edge == pytest.approx(curves["all equally long"][P], rel=0.005)


def test_random_turns_are_momentum_and_equal_ones_are_not():
    apart = {
        times: float(lecture_09.momentum_chart(4, times).chart["said"].split()[3])
        for times in ("random", "equal")
    }
    assert apart["random"] < 0.05 < 0.5 < apart["equal"]
    found = lecture_09.mean_path(4, "random", 0.4, 20, runs=20_000)
    steps, P = np.diff(found), 4
    by_formula = implicit_momentum(P) * steps[:-1] - 0.4 / P * found[1:-1]
    np.testing.assert_allclose(steps[1:], by_formula, atol=0.015)
    assert np.abs(steps[1:] - 0.5 * steps[:-1] + 0.4 / P * found[1:-1]).max() > 0.06


def test_the_explorer_says_the_edge_the_ages_and_the_pace():
    picture = lecture_09.explorer_chart(2, "equal", 0.4, 0.0, "none").chart
    assert picture["said"].startswith("Edge of stability: rate 1.00 (2.00 with fresh gradients).")
    assert "2.00 updates a second" in picture["said"]
    shares = {name: value for name, value, *_ in picture["under"]["bars"]}
    assert shares == {"0": 0.4, "1": 99.6} | dict.fromkeys(
        ("2", "3", "4 to 7", "8 to 15", "16 or more"), 0
    )
    loose = lecture_09.explorer_chart(2, "equal", 0.4, 0.0, "4").chart
    assert loose["said"] == picture["said"], "a bound that holds nobody changes nothing"
    falls = next(line for line in picture["lines"] if line["name"] == "these gradients")
    grows = lecture_09.explorer_chart(2, "equal", 1.2, 0.0, "none").chart["lines"][0]
    assert falls["y"][-1] < 1e-6 < 1e3 < grows["y"][-1]


def test_a_fetch_of_its_own_makes_gradients_younger():
    said = [
        lecture_09.staleness_chart("equal", answers).chart["said"]
        for answers in ("a push returns", "a fetch of its own")
    ]
    assert said == ["Mean: 2.98 updates.", "Mean: 1.50 updates."]


def test_whoever_waits_for_all_stops_when_one_is_lost_and_others_go_on():
    stops = lecture_09.with_a_loss(parameter_server, waits=True)
    assert stops.end_s < 4
    for scheme, waits in ((downpour, False), (backup_workers, True)):
        goes_on = lecture_09.with_a_loss(scheme, waits)
        assert goes_on.end_s > 10
        assert any(span.rank == 2 and span.start_s > 5.5 for span in goes_on.computes)


def test_a_tally_counts_every_batch_once():
    assert (
        run(lecture_09.tally, 9, workers=3, backend="simulated", survive=True).values[0].tolist()
        == [1.0] * 9
    )


@pytest.mark.slow
def test_a_tally_of_real_processes_of_which_one_ends_counts_every_batch_once():
    made = run(lecture_09.tally, 20, workers=4, survive=True, restart=1)
    assert made.values[0].tolist() == [1.0] * 20
    assert [fault.rank for fault in made.trace.faults if fault.kind == "RankLost"] == [2]


@pytest.mark.parametrize("scheme", [backup_workers, downpour])
def test_a_watched_run_notes_each_loss_when_its_update_is_made_and_of_all_examples(scheme):
    X, y = np.tile(lecture_09.X, (16, 1)), np.tile(lecture_09.Y, 16)
    model, network = lecture_09.BOWL, pace(4, latency_s=0.01).with_straggler(1, 8)
    made = run(lecture_09.watched(scheme), model, X, y, Plan(0.02, 4, 4), workers=5,
               backend="simulated", network=network)  # fmt: skip
    seen = made.trace.notes_named("loss")
    places = [note.value for note in made.trace.notes_named("w")]
    assert [note.rank for note in seen] == [0] * len(places)
    at_them = [model.loss(np.asarray(w), (X, y)) for w in places]
    np.testing.assert_allclose([note.value for note in seen], at_them, rtol=1e-12)
    updates = [span.start_s for span in made.trace.computes if span.label == "update"]
    np.testing.assert_allclose([note.time_s for note in seen], updates, atol=1e-9)
    late_s, _ = loss_curve(made.trace)[1]  # of what all ranks have noted of their batches
    assert late_s > 3 * updates[1], "a straggler says late that it has no part"


@pytest.mark.slow
def test_the_price_sheet_has_a_row_for_each_way_to_wait():
    rows = {row[0]: row[1:] for row in lecture_09.price_sheet().rows}
    assert rows["waits for all"][2:] == ["1", "2", "0"]
    assert rows["Downpour, a push returns"][2:] == ["3.16", "3", "2.98"]
