"""Every algorithm against gloo: the right way round, in results and in README.md."""

import copy
import json
from itertools import product

import pytest

from benchmarks import algorithms, readme
from benchmarks.__main__ import main
from benchmarks.algorithms import PEER, algorithm_entries, algorithm_table
from benchmarks.exchange import Task
from benchmarks.plan import KB, MB
from benchmarks.samples import Key, Samples
from course_lib import run
from course_lib.collectives import ALLREDUCES
from course_lib.comm.errors import RunError
from tests.residue import assert_nothing_left, residue


def samples_of(seconds, sizes=(KB, MB), processes=(2, 4)):
    """Return samples in which each engine takes the seconds told, by round."""
    samples = Samples()
    for (engine, rounds), n_bytes, group in product(seconds.items(), sizes, processes):
        for took_s in rounds:
            samples.add(
                Key(f"all-reduce of {n_bytes} bytes, by algorithm", group, engine), [took_s]
            )
    return samples


def test_an_algorithm_that_takes_a_quarter_of_gloos_time_is_four_times_as_fast():
    entries = algorithm_entries(samples_of({PEER: [8.0, 6.0], "ring": [2.0, 2.0]}))
    assert len(entries) == 4
    assert entries[0] == {
        "algorithm": "ring", "processes": 2, "bytes": KB, "times_as_fast": 3.5, "low": 3.0,
        "high": 4.0,
    }  # fmt: skip


def test_sums_of_other_measurements_are_left_alone():
    samples = Samples()
    for engine in (PEER, "ours", "MPICH"):
        samples.add(Key("1024", 2, engine), [1.0])
    assert algorithm_entries(samples) == []


def test_the_table_has_a_column_for_each_algorithm_and_both_numbers_of_processes_in_a_cell():
    seconds = {PEER: [1.0], "ring": [0.5], "central": [4.0]}
    lines = algorithm_table(algorithm_entries(samples_of(seconds)), 7).splitlines()
    head = "| times as fast as gloo, 2 / 4 processes, 7 rounds | ring | central |"
    rows = [f"| {n_bytes} | 2 / 2 | 0.25 / 0.25 |" for n_bytes in ("1 KB", "1 MB")]
    assert lines == [head, "|---|---|---|", *rows]


def test_the_readme_holds_what_the_results_say():
    found = json.loads(readme.RESULTS.read_text(encoding="utf-8"))
    text = readme.README.read_text(encoding="utf-8")
    assert {entry["algorithm"] for entry in found["algorithms"]} == set(ALLREDUCES)
    assert {entry["processes"] for entry in found["algorithms"]} == {2, 4}
    other = copy.deepcopy(found)
    other["algorithms"][0]["times_as_fast"] *= 2
    assert readme.updated(text, found) == text, "run python -m benchmarks.readme"
    assert readme.updated(text, other) != text


@pytest.mark.slow
def test_a_tiny_run_measures_all_eight_beside_gloo(tmp_path, capsys):
    run(lambda comm: comm.rank, workers=1)  # starts the fork server, which stays
    before = residue()
    output = tmp_path / "results.json"
    words = f"--only algorithms --sizes 1024 --processes 2 --rounds 1 --output {output}"
    assert main(words.split()) == 0
    assert_nothing_left(before)
    found = json.loads(output.read_text(encoding="utf-8"))
    assert found["algorithm_rounds"] == 1
    assert [entry["algorithm"] for entry in found["algorithms"]] == list(ALLREDUCES)
    seconds = {entry["engine"]: entry["median"] for entry in found["seconds"]}
    for entry in found["algorithms"]:
        ratio = seconds[PEER] / seconds[entry["algorithm"]]
        assert entry["times_as_fast"] == pytest.approx(ratio, rel=0.01)
    assert "halving_doubling" in capsys.readouterr().out


def test_a_wrong_sum_stops_the_measurement(monkeypatch):
    monkeypatch.setitem(algorithms.ALLREDUCES, "ring", lambda comm, x, out: x)
    with pytest.raises(RunError, match="WrongSum"):
        run(algorithms._work, "ring", Task((1024,)), workers=2, backend="simulated")
