"""The search's measurement: what is finished is kept, and times are parts of random search's."""

import json

from benchmarks.search import RESULTS, Asked, main, spread

TINY = Asked(seeds=1, trials=4, most=3, workers=2, drawn=8)


def test_a_tiny_measurement_sums_up_and_trains_nothing_twice(tmp_path, capsys):
    runs, output = tmp_path / "runs.jsonl", tmp_path / "search.json"
    words = ["--runs", str(runs), "--output", str(output)]
    assert main(words, TINY) == 0
    found, lines = json.loads(output.read_text()), runs.read_text()
    assert len(lines.splitlines()) >= 4
    (row,) = found["rows"]
    assert row["random"]["ends_after"] == 1.0
    assert 0 < row["random"]["near_after"] <= 1.0
    assert 0 < found["sums"]["asha"]["utilisation"]["median"] <= 1.0
    assert main(words, TINY) == 0
    assert runs.read_text() == lines
    assert json.loads(output.read_text())["rows"] == found["rows"]


def test_what_never_came_is_later_than_all_that_came():
    assert spread([0.2, None, 0.4]) == {"median": 0.4, "low": 0.2, "high": None, "never": 1}
    assert spread([0.2, None, None])["median"] is None


def test_the_kept_results_are_of_what_was_asked():
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    asked = Asked(**found["asked"])
    assert (len(found["rows"]), asked.workers) == (20, 8)
    assert asked.trials >= 64
