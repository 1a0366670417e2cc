"""What lecture 11 runs: kept results, dry runs that agree with them, fronts, sites, records."""

import math
from dataclasses import replace

import pytest

from course_lib.lectures import lecture_11
from course_lib.lectures.lecture_11 import NAMES, best, on_the_front


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("straggler", [1, 10])
def test_a_dry_run_times_the_updates_is_what_was_measured(scheme, straggler):
    found = best(scheme, straggler=straggler)
    told = lecture_11.priced(found, 20e-6, 10.0)
    assert told.seconds == pytest.approx(found.median("seconds"), rel=0.03)
    assert told.n_bytes == pytest.approx(found.median("bytes"), rel=0.06)
    slower = lecture_11.priced(found, 1e-3, 10.0)
    assert scheme == "serial" or slower.seconds > 1.1 * told.seconds


def test_what_was_not_measured_is_refused():
    with pytest.raises(ValueError, match="among what was measured"):
        best("downpour", workers=5)
    found = best("downpour", 8)
    lost = replace(found, seeds=(*found.seeds[:2], *[{"is_diverged": True}] * 3))
    assert lost.median("seconds") == math.inf, "it is not there on most seeds"


@pytest.mark.slow
def test_a_kept_run_that_runs_again_is_the_same():
    kept = best("local_sgd")
    found = lecture_11.trained(kept.case, kept.rate, kept.momentum, 1, lecture_11.rules())
    assert (found["updates"], found["seconds"]) == tuple(
        kept.seeds[0][what] for what in ("updates", "seconds")
    )
    other = lecture_11.trained(kept.case, kept.rate, kept.momentum, 2, lecture_11.rules())
    assert other["updates"] != found["updates"]


@pytest.mark.slow
def test_a_race_notes_a_loss_for_each_update_and_gets_there_when_the_kept_run_did():
    made = lecture_11.near_runs(1, epochs=6, schemes=("data_parallel", "local_sgd"))
    for scheme in ("data_parallel", "local_sgd"):
        points = lecture_11.points_of(made[NAMES[scheme]])
        kept = best(scheme).seeds[4]
        at, *_ = next(point for point in points if point[-1] <= 0.1)
        assert at == kept["updates"]
        note = lecture_11.reached(made[NAMES[scheme]], 0.1)
        assert note.time_s == pytest.approx(kept["seconds"], rel=1e-9)
        assert points[at - 1][2] == pytest.approx(kept["bytes"], rel=0.02)
    with pytest.raises(ValueError, match="gets down to"):
        lecture_11.reached(made["all-reduce"], 1e-9)


def test_the_front_is_whom_nobody_beats():
    places = {"a": (1.0, 3.0), "b": (1.0, 2.0), "c": (2.0, 2.0), "d": (3.0, 1.0)}
    assert on_the_front(places | {"e": (math.inf, 0.0)}) == ["b", "d"]


def test_the_front_moves_with_the_network_and_with_the_straggler():
    fronts = {
        (straggler, latency): lecture_11.front_chart(4, straggler, latency, 10, 8, 24).chart["said"]
        for straggler in (1, 10) for latency in (0.02, 100)
    }  # fmt: skip
    assert "First: all but one" in fronts[10, 0.02]
    assert "First: local SGD" in fronts[1, 100]
    assert "one worker alone is faster" in fronts[1, 100]
    assert len(set(fronts.values())) > 2
    with_every_step = lecture_11.front_chart(4, 1, 0.02, 10, 1, 24).chart["points"]
    assert "local SGD" not in ", ".join(name for name, *_ in with_every_step), "all-reduce it is"


def test_the_fronts_table_writes_large_numbers_without_an_exponent():
    below = lecture_11.front_chart(4, 10, 100, 0.01, 1, 241).chart["below"]
    assert {len(row) for row in below} == {6}
    assert not [cell for row in below for cell in row if "e+" in cell]
    assert [cell for row in below for cell in row if "," in cell]


def test_downpour_is_ahead_from_a_straggler_on_that_grows_with_the_latency():
    few, many = (lecture_11.when_nobody_waits_wins(s, 10) for s in (20e-6, 1e-3))
    assert 1.5 < few < 2.0 < 7 < many < 10
    at_10 = lecture_11.prices(4, 10, 1e-3, 10, 8, 24)
    assert at_10["downpour"].seconds < at_10["data_parallel"].seconds, "as the front has it"
    assert lecture_11.when_nobody_waits_wins(0.1, 10) == float("inf")
    apart = [lecture_11.when_nobody_waits_wins(1e-3, 10, seed=seed) for seed in range(1, 11)]
    assert min(apart) < many < max(apart) == float("inf"), "ten seeds do not say it"
    assert "2.6 × … above 10 ×" in repr(lecture_11.ahead_from([(1, 10)]))


def test_what_a_scheme_takes_beside_one_straggler_is_what_was_measured():
    for name, row in lecture_11.who_is_late().items():
        (scheme,) = (each for each, called in NAMES.items() if called == name)
        assert row["one always"] == pytest.approx(
            best(scheme, straggler=10).median("seconds"), 0.04
        )


def test_rates_choose_the_winner():
    said = {m: lecture_11.rates_chart(m).chart["said"] for m in (0.0, 0.5, 0.9)}
    assert "0.2: Downpour" in said[0.0]
    assert "0.2: all-reduce" in said[0.9]


def test_lines_of_equal_time_are_cut_at_the_edges_and_crosses_lie_at_their_time():
    drawn = lecture_11.trade_chart(4, 10).chart
    for line in drawn["lines"]:
        assert line["y"][0] / line["x"][0] == pytest.approx(line["y"][1] / line["x"][1], rel=1e-3)
        assert drawn["y_range"][0] <= line["y"][0] < line["y"][1] <= drawn["y_range"][1]
    for names, images_per_s, epochs in drawn["points"]:
        scheme = next(key for key, text in NAMES.items() if text == names.split(",")[0])
        seconds = epochs * lecture_11.rules().n_images / images_per_s
        assert seconds == pytest.approx(best(scheme, 4, 10).median("seconds"), rel=0.04)


def test_rare_averages_win_until_their_steps_are_too_many():
    drawn = lecture_11.every_chart(100, 1).chart
    needed = dict(zip(drawn["lines"][0]["x"], drawn["lines"][0]["y"], strict=True))
    assert needed[1] > 20 * needed[64] > 20 * needed[500]
    for every, seconds in needed.items():
        kept = best("local_sgd", every=every, is_far=True).median("seconds")
        assert seconds == pytest.approx(kept, rel=0.01), "an epoch's last batch is a smaller one"
        assert 10 * 0.01 * needed[500] < 0.2, "one exchange more or less would be seen"
    near = lecture_11.every_chart(0.1, 10).chart["lines"][0]
    assert min(zip(near["y"], near["x"], strict=True))[1] == 8


@pytest.mark.parametrize(("exact", "every"), [(0.3, 1), (4.0, 4), (4.1, 5)])
def test_the_least_number_of_steps_is_rounded_up(exact, every):
    assert lecture_11.least_every(exact * 0.01, 0.01, 0.5) == every


def test_a_straggler_that_nobody_waits_for_ends_the_run_but_not_the_training():
    rows = lecture_11.three_clocks(("parameter_server", "backup_workers"))
    there, first, last = ([row[name] for row in rows.values()] for name in rows["server"])
    assert last[0] == pytest.approx(there[0], rel=0.01)
    assert last[1] > first[1] > 1.1 * there[1]
    assert there[1] < there[0] / 5


def test_two_sites_are_raced_at_their_own_rates():
    case = best("local_sgd", every=64, is_far=True).case
    assert case.is_far
    shorter = replace(lecture_11.rules(), far_epochs=1)
    assert case.n_updates(shorter) == case.updates_per_epoch(shorter) == 23
