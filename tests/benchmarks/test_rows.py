"""The rows say who is faster, the right way round, and README.md says what the rows say."""

import copy
import json

import pytest

from benchmarks import readme
from benchmarks.hogwild import ALONE, OURS, PEER, hogwild_key
from benchmarks.pictures import FRAME, FROM_SLIDER
from benchmarks.plan import KB, MB
from benchmarks.rows import Row, rows
from benchmarks.samples import Key, Samples
from benchmarks.simulator import simulated_key
from benchmarks.sums import FLOOR


def samples_of(**seconds_of_engine):
    """Return samples in which every all-reduce of an engine takes the seconds told, by round."""
    samples = Samples()
    for engine, rounds in seconds_of_engine.items():
        for n_bytes in (KB, MB, 64 * MB):
            for seconds in rounds:
                samples.add(Key(f"{n_bytes}", 2, engine), [seconds])
    return samples


def mean_row(samples):
    """Return the row that averages over the sizes; the other tells of one of them."""
    mean, least = rows(samples)
    assert mean.what.endswith("geometric mean")
    assert "where we gain least" in least.what
    return mean


def test_a_peer_that_takes_eight_times_as_long_meets_the_goal():
    row = mean_row(samples_of(ours=[1.0, 1.0], gloo=[8.0, 8.0]))
    assert (row.value, row.verdict) == (8, "goal met")
    assert row.what == "all-reduce, 1 MB to 64 MB, 2 processes, geometric mean"


def test_sizes_are_averaged_geometrically_and_the_spread_is_that_of_the_rounds():
    samples = samples_of(ours=[1.0, 1.0, 1.0], gloo=[4.0, 2.0, 4.0])
    samples.rounds[Key(f"{64 * MB}", 2, "gloo")] = [16.0, 8.0, 16.0]
    row = mean_row(samples)
    assert (row.value, row.low, row.high) == (8, 4, 8)


@pytest.mark.parametrize("engine", ["ours", "ours, chosen", "ours, new array"])
def test_the_size_at_which_we_gain_least_is_told(engine):
    samples = samples_of(**{engine: [1.0], "gloo": [4.0]})
    samples.rounds[Key(f"{KB}", 2, "gloo")] = [0.5]
    least = rows(samples)[-1]
    assert (least.value, least.verdict) == (0.5, "must missed")
    assert least.what.endswith("where we gain least: 1 KB, 2 processes")
    names = {"ours, chosen": "all-reduce that chooses,", "ours": "all-reduce, where"}
    assert least.what.startswith(names.get(engine, "all-reduce into a new array,"))


def test_a_busy_computer_has_a_row_of_its_own():
    samples = samples_of(ours=[1.0], gloo=[8.0])
    for engine, seconds in (("ours", 1.0), ("gloo", 2.0)):
        samples.add(Key(f"{MB}, busy", 2, engine), [seconds])
    quiet, busy, least = rows(samples)
    assert (quiet.value, busy.value, least.value) == (8, 2, 8)
    assert busy.what == ("all-reduce, two busy processes beside, 1 MB, 2 processes, geometric mean")


def test_the_smallest_is_that_of_the_all_reduce_that_chooses():
    samples = samples_of(ours=[9.0], MPICH=[1.0], **{"ours, chosen": [4.0]})
    row = rows(samples)[-1]
    assert (row.what, row.value) == ("all-reduce that chooses, 1 KB, 2 processes", 4)


def test_the_value_lies_between_the_lowest_and_the_highest_round():
    """The medians of the sizes are in different rounds: 4 and 4, though no round is above 2."""
    samples = samples_of(ours=[1.0, 1.0, 1.0])
    samples.rounds[Key(f"{MB}", 2, "gloo")] = [1.0, 4.0, 4.0]
    samples.rounds[Key(f"{64 * MB}", 2, "gloo")] = [4.0, 1.0, 4.0]
    samples.rounds[Key(f"{64 * MB}", 2, "ours")] = [1.0, 1.0, 4.0]
    samples.rounds[Key(f"{MB}", 2, "ours")] = [1.0, 1.0, 4.0]
    row = mean_row(samples)
    assert (row.value, row.low, row.high) == (2, 1, 2)


@pytest.mark.parametrize(
    ("ours_s", "verdict"),
    [(0.4, "goal met"), (0.9, "must met, goal missed"), (1.1, "must missed")],
)
def test_against_the_floor_less_is_better(ours_s, verdict):
    samples = samples_of(ours=[ours_s])
    samples.add(FLOOR, [1.0])
    (row,) = rows(samples)
    assert (row.value, row.verdict) == (ours_s, verdict)


@pytest.mark.parametrize(
    ("seconds", "peak_bytes", "verdicts"),
    [
        (8.0, 0.4e9, ["goal met", "goal met"]),
        (23.0, 0.9e9, ["must met, goal missed", "must met, goal missed"]),
        (24.0, 1.1e9, ["must missed", "must missed"]),
    ],
)
def test_the_simulator_is_held_against_messages_a_second_and_gigabytes(
    seconds, peak_bytes, verdicts
):
    samples = Samples()
    key = simulated_key(1024)
    samples.add(key, [seconds])
    samples.peak_bytes[key].append(peak_bytes)
    speed, memory = rows(samples)
    assert [speed.verdict, memory.verdict] == verdicts
    assert speed.value == pytest.approx(2 * 1024 * 1023 / seconds, rel=0.01)
    assert memory.measured == f"{peak_bytes / 1e9:.2g} GB"


@pytest.mark.parametrize(
    ("frames_per_s", "from_slider_s", "verdicts"),
    [
        (60.0, 0.07, ["goal met", "goal met"]),
        (56.0, 0.12, ["must met, goal missed", "must met, goal missed"]),
        (40.0, 0.2, ["must missed", "must missed"]),
    ],
)
def test_pictures_are_held_against_frames_a_second_and_the_time_from_slider_to_picture(
    frames_per_s, from_slider_s, verdicts
):
    samples = Samples()
    samples.add(Key(FRAME, 1, "16 ranks"), [1 / 60])
    samples.add(Key(FRAME, 1, "64 ranks"), [1 / frames_per_s])
    samples.add(FROM_SLIDER, [from_slider_s])
    frames, from_slider = rows(samples)
    assert [frames.verdict, from_slider.verdict] == verdicts
    assert frames.measured == f"{frames_per_s:.1f} frames/s"
    assert frames.what.startswith("moving pictures, the least smooth of 2: ")
    assert from_slider.measured == f"{from_slider_s:.2g} s"


def test_hogwild_is_held_against_scikit_learn_and_against_one_worker():
    samples = Samples()
    for engine, seconds in ((OURS, 1.0), (PEER, 1.5), (ALONE, 1.9)):
        samples.add(hogwild_key(engine, 1000), [seconds])
    against_sklearn, against_one = rows(samples)
    assert (against_sklearn.peer, against_sklearn.value) == (PEER, 1.5)
    assert (against_one.peer, against_one.value) == (ALONE, 1.9)
    assert [row.verdict for row in rows(samples)] == ["must met, goal missed", "goal met"]


def test_the_table_in_the_readme_is_the_one_of_the_results():
    found = json.loads(readme.RESULTS.read_text(encoding="utf-8"))
    text = readme.README.read_text(encoding="utf-8")
    assert readme.updated(text, found) == text, "run python -m benchmarks.readme"

    other = copy.deepcopy(found)
    other["rows"][0]["value"] *= 2
    assert readme.updated(text, other) != text


def test_the_results_hold_every_row_and_the_verdicts_that_follow_from_them():
    found = json.loads(readme.RESULTS.read_text(encoding="utf-8"))
    assert found["machine"]["cores"] >= 1
    assert len(found["rows"]) == 32
    for known in found["rows"]:
        assert Row.from_dict(known).verdict == known["verdict"]
