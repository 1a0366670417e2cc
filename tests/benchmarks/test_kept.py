"""A run of the benchmarks that was stopped goes on where it was."""

import dataclasses

from benchmarks.kept import Kept
from benchmarks.plan import QUICK
from benchmarks.samples import Key

KEY = Key("1024", 2, "ours")


def test_what_was_measured_is_there_again_and_goes_when_the_run_is_over(tmp_path):
    path = tmp_path / "build" / "kept.json"
    first = Kept(QUICK, path)
    first.samples.add(KEY, [0.25])
    first.samples.peak_bytes[KEY].append(7.0)
    first.add(("allreduce", "latency"))
    first.samples.add(KEY, [0.5])
    first.add(("busy",))

    again = Kept(QUICK, path)
    again.load()
    assert again.done == ["allreduce", "latency", "busy"]
    assert again.samples.rounds == {KEY: [0.25, 0.5]}
    assert again.samples.peak_bytes == {KEY: [7.0]}
    again.remove()
    assert list(path.parent.iterdir()) == []


def test_another_plan_does_not_go_on_with_it(tmp_path):
    path = tmp_path / "kept.json"
    kept = Kept(QUICK, path)
    kept.samples.add(KEY, [0.25])
    kept.add(("allreduce", "latency"))
    for rounds, expected in ((QUICK.rounds, [0.25]), (QUICK.rounds + 1, [])):
        other = Kept(dataclasses.replace(QUICK, rounds=rounds), path)
        other.load()
        assert other.samples.rounds.get(KEY, []) == expected
