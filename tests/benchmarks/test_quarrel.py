"""The quarrel: all are tuned alike, what is finished is kept, and the tables are the JSON's."""

import json
import math
from statistics import fmean

import pytest

from benchmarks.quarrel.__main__ import main
from benchmarks.quarrel.grid import searched
from benchmarks.quarrel.kept import Kept
from benchmarks.quarrel.measure import Asked, cases, on_grid, predicted, tuned_as
from benchmarks.quarrel.table import BEGIN, DOCS, END, RESULTS, tables, updated
from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.lectures.lecture_11.cases import Case, Rules
from course_lib.lectures.lecture_11.racing import MODEL, SCHEMES, data, network_of, trained

TINY = Rules(target=2.0, epochs=2, far_epochs=2, n_images=256)
ASKED = Asked(
    TINY, workers=(2,), stragglers=(10.0,), also=(), between=(), sent=(24,), far_every=(1, 4),
    far_workers=(2,), grid_seeds=(0,), seeds=(1,),
    rates=(0.1, 0.4), momenta=(0.5,), most_widenings=0,
)  # fmt: skip


def found_at(seconds):
    return {"is_diverged": False, "loss": 0.0, "seconds": seconds}


@pytest.mark.slow
def test_a_tiny_quarrel_runs_to_its_table_and_an_interrupted_one_goes_on(tmp_path, capsys):
    runs, output = tmp_path / "runs.jsonl", tmp_path / "quarrel.json"
    words = ["--runs", str(runs), "--output", str(output)]
    assert main(words, ASKED) == 0
    found, lines = json.loads(output.read_text()), runs.read_text().splitlines(keepends=True)
    assert {entry["case"]["scheme"] for entry in found["runs"]} == set(SCHEMES)
    assert len(lines) == found["n_runs"]
    text = tables(found)
    assert text.count("| data_parallel |") == 1
    assert "### 2 workers, one worker 10 times slower" in text
    assert "diverged" not in text

    runs.write_text("".join(lines[:-2]) + lines[-2][:40])  # as if stopped while it wrote
    capsys.readouterr()
    assert main(words, ASKED) == 0
    assert "2 new runs" in capsys.readouterr().out
    again = json.loads(output.read_text())
    assert again | {"cpu_s": 0} == found | {"cpu_s": 0}


def test_the_tables_in_the_docs_are_those_of_the_results():
    text, found = DOCS.read_text(encoding="utf-8"), json.loads(RESULTS.read_text(encoding="utf-8"))
    assert updated(text, found) == text
    found["runs"][0]["seeds"][0]["accuracy"] += 0.5
    assert updated(text, found) != text
    assert text.index(BEGIN) < text.index(END)


def test_a_grid_grows_where_its_best_is_at_an_end():
    asked = []

    def measure(rate, momentum):
        asked.append((rate, momentum))
        return found_at(abs(math.log2(rate / 3.2)) + abs(momentum - 0.95))

    grid = searched(measure, rates=(0.4, 0.8), momenta=(0.0, 0.9), most_widenings=6)
    assert grid.best == (3.2, 0.95)
    assert grid.is_inside
    assert len(asked) == len(set(asked)) == len(grid.points)
    assert {(6.4, 0.95), (3.2, 0.975)} <= set(grid.points)


def test_a_grid_grows_down_also_below_a_momentum_of_0():
    grid = searched(
        lambda rate, momentum: found_at(abs(math.log2(rate / 0.1)) + abs(momentum + 0.5)),
        (0.4, 0.8),
        (0, 0.5),
    )
    assert (grid.best, grid.is_inside) == ((0.1, -0.5), True)
    assert min(grid.points) == (0.05, -0.75)


def test_a_grid_that_may_not_grow_says_where_its_best_is():
    grid = searched(lambda rate, _: found_at(1 / rate), (0.4, 0.8), (0.0,), most_widenings=1)
    assert (grid.best[0], grid.is_inside) == (1.6, False)


def test_who_is_there_first_is_best_then_who_is_nearest_and_never_who_has_diverged():
    of_rate = {
        0.1: {"is_diverged": False, "loss": 0.3},
        0.2: {"is_diverged": False, "loss": 0.2},
        0.4: {"is_diverged": True},
    }
    grid = searched(lambda rate, _: of_rate[rate], tuple(of_rate), (0.0,), most_widenings=0)
    assert grid.best[0] == 0.2
    of_rate[0.1]["seconds"] = 1e9
    grid = searched(lambda rate, _: of_rate[rate], tuple(of_rate), (0.0,), most_widenings=0)
    assert grid.best[0] == 0.1


def test_a_point_of_the_grid_is_the_middle_of_five_seeds_and_no_lucky_one():
    tried = []

    def train(seconds):
        tried.append(seconds)
        return found_at(seconds) if seconds else {"is_diverged": False, "loss": 0.2}

    assert on_grid(train, (9, 1, 5, 0, 4)) == found_at(5) | {"n_there": 4}
    tried.clear()
    assert "seconds" not in on_grid(train, (1, 0, 0, 0, 2)), "the best of it is not the point's"
    assert tried == [1, 0, 0, 0], "most do not get there: the last seed need not be tried"


@pytest.mark.parametrize("scheme", ["serial", "parameter_server", "downpour"])
def test_a_rate_that_diverges_is_a_finding_and_no_error(scheme):
    case = Case(scheme, 1 if scheme == "serial" else 2, 16)
    for is_whole in (False, True):
        assert trained(case, 1e4, 0.9, 1, TINY, is_whole) == {"is_diverged": True}
    assert not trained(case, 0.1, 0.0, 1, TINY)["is_diverged"]


def test_any_other_failure_is_an_error():
    with pytest.raises(RunError, match="backups must be less"):
        trained(Case("backup_workers", 1, 16), 0.1, 0.0, 1, TINY)


def test_serial_training_takes_as_long_as_its_gradients():
    found = trained(Case("serial", 1, 16), 0.4, 0.5, 1, TINY, is_whole=True)
    X, y = data(TINY.n_images)[:2]
    step_s = MODEL.flops((X[:16], y[:16])) / TINY.flops_per_s
    assert found["seconds"] == pytest.approx(found["updates"] * step_s, rel=1e-9)
    assert found["bytes"] == found["whole_bytes"] == 0
    assert found["updates"] % (TINY.look_after // 16) == 0
    assert found["epochs"] == found["updates"] / 16


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["data_parallel", "parameter_server"])
def test_synchronous_schemes_may_be_tuned_by_serial_runs_of_the_same_batch(scheme):
    case = Case(scheme, 4, 64)
    of_scheme = trained(case, 0.4, 0.9, 1, TINY)
    of_serial = trained(tuned_as(case), 0.4, 0.9, 1, TINY)
    assert of_scheme["updates"] == of_serial["updates"]
    assert of_scheme["loss"] == pytest.approx(of_serial["loss"], rel=1e-12)  # sums round apart
    wrong = trained(Case("serial", 1, 16), 0.4, 0.9, 1, TINY)  # one worker's batch
    assert abs(wrong["loss"] / of_scheme["loss"] - 1) > 1e-4


@pytest.mark.slow
def test_neither_a_straggler_nor_the_network_alters_local_sgd():
    usual = Case("local_sgd", 4, 64, every=8)
    slow, far = Case("local_sgd", 4, 64, 10.0, 8), Case("local_sgd", 4, 64, 1.0, 8, is_far=True)
    assert tuned_as(slow) == tuned_as(far) == usual
    losses = [trained(case, 0.2, 0.5, 1, TINY)["loss"] for case in (usual, slow, far)]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-12)  # two sites add up in another order


@pytest.mark.slow
def test_seconds_and_bytes_over_two_sites_are_as_predicted():
    for every in (1, 3):
        case = Case("local_sgd", 4, 64, 1.0, every, is_far=True)
        found = trained(case, 0.4, 0.9, 1, TINY, is_whole=True)
        (told,) = predicted(case, [found], Asked(TINY))
        assert found["bytes"] == told["bytes"]
        # The model is looked at on rank 0, which has the mean some microseconds before others.
        assert found["seconds"] == pytest.approx(told["seconds"], rel=1e-3)
        assert 10 * 1e-3 * told["seconds"] < 0.2  # the likely mistake: an exchange more or less


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "told"), [(4, 2.4), (8, 5.9)])
def test_gradients_are_as_stale_as_the_docs_say(workers, told):
    rules, case = Rules(epochs=2), Case("downpour", workers, 16)
    X, y = data(rules.n_images)[:2]
    trace = run(
        SCHEMES[case.scheme], MODEL, X, y, case.plan(0.05, 0.0, 1, rules), workers=case.ranks,
        backend="simulated", network=network_of(case, rules),
    ).trace  # fmt: skip
    found = fmean(note.value for note in trace.notes_named("staleness"))
    assert found == pytest.approx(told, abs=0.05)  # the docs round; P - 1 would be 0.6 too many
    assert f"{told} " in DOCS.read_text(encoding="utf-8")


def test_all_take_part_alike():
    every = cases(Asked())
    assert len(set(every)) == len(every) == 1 + 2 * (8 + 7) + 7 + 5 + 4 + 3
    for case in every:
        of_one = case.batch // (1 if case.scheme in ("downpour", "bounded_staleness")
                                else case.workers)  # fmt: skip
        assert of_one == 16
        assert case.ranks - case.workers == (case.scheme in (
            "parameter_server", "backup_workers", "bounded_staleness", "downpour"
        ))  # fmt: skip


def test_a_file_of_runs_without_a_whole_line_is_begun_anew(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"run": {"ra')
    kept = Kept(path)
    assert len(kept) == 0
    assert kept.get({"rate": 1}, lambda: {"loss": 2.0}) == {"loss": 2.0}
    assert len(Kept(path)) == 1
