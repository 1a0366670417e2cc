"""`python -m course_lib train --problem my_file.py:problem`, and the plan on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from course_lib import run
from course_lib.cli.train import main
from course_lib.cli.train_arguments import read_arguments
from course_lib.comm.errors import WorkerError
from course_lib.models.linear_regression import LinearRegression
from course_lib.train import Problem
from course_lib.train.catalogue import SCHEMES
from course_lib.train.checkpoint import load
from course_lib.train.problem_file import check_alike, load_problem
from course_lib.training import SGD, Adam, AdamW, Cosine, Plan, StepDecay
from tests.train.tasks import bits_in

MINE = """
from __future__ import annotations

from dataclasses import dataclass
import random

import numpy as np
from beside import ROWS

from course_lib.models.logistic_regression import LogisticRegression
from course_lib.train import Problem
from course_lib.training import AdamW, Plan


@dataclass
class Sizes:
    columns: int = 3


class Mine(LogisticRegression):  # of this file: it has to travel
    pass


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 3)) + random.random() + np.random.rand()
    y = (X.sum(axis=1) > 0).astype(int)
    plan = Plan(0.05, 20, epochs=2, on_epoch=lambda epoch, w: print("after", epoch, len(w)))
    data = X[:60], y[:60], X[60:], y[60:]
    return Problem(Mine(Sizes().columns), data, plan, AdamW, "test accuracy")


def fails():
    return 1 / 0


def other():
    return 3


def leaves():
    raise SystemExit(0)
"""


SMALL = """
import numpy as np

from course_lib.models.deep_mlp import deep_mlp
from course_lib.train import Problem
from course_lib.training import Plan


def problem():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.integers(0, 3, 40)
    return Problem(deep_mlp(4, 5, 3), (X[:30], y[:30], X[30:], y[30:]), Plan(0.1, 10))
"""


def line_of(text):
    return next(k for k, line in enumerate(MINE.splitlines(), start=1) if text in line)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "beside.py").write_text("ROWS = 80\n")
    return f"{tmp_path / 'mine.py'}:problem"


def trained(capsys, *words):
    assert main([*words]) == 0
    return capsys.readouterr().out.splitlines()


def refused(capsys, *words):
    with pytest.raises(SystemExit) as error:
        main([*words])
    assert error.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_it_trains_here_and_goes_on_to_the_bit(mine, tmp_path, capsys):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    words = ["--problem", mine, "--backend", "simulated", "--weight-decay", "0.1"]
    lines = trained(capsys, *words, "--epochs", "4", "--checkpoint", str(whole))
    assert lines[1].startswith("mine.py:problem of 4 parameters on 60 examples (")
    assert lines[2].split()[:4] == ["epoch", "loss", "test", "accuracy"]
    assert sum("after" in line for line in lines) == 4  # rank 0's, once an epoch
    trained(capsys, *words, "--checkpoint", str(halves))
    again = [*words, "--epochs", "4", "--checkpoint", str(halves), "--resume"]
    trained(capsys, *again)
    assert bits_in(halves) == bits_in(whole)
    made_with = load(whole).made_with
    assert made_with["problem"] == "mine.py:problem"
    assert (made_with["optimizer"], made_with["weight_decay"]) == ("AdamW", 0.1)
    assert set(load(whole).states[0][0].kept) == {"mean", "square"}


def test_a_checkpoint_runs_no_file_and_other_data_is_not_gone_on_with(mine, tmp_path, capsys):
    words = ["--backend", "simulated", "--checkpoint", str(tmp_path / "kept")]
    trained(capsys, *words, "--problem", mine)
    mark = tmp_path / "was_run"
    (tmp_path / "mine.py").write_text(f"{MINE}\nopen({str(mark)!r}, 'w').close()\n")
    told = refused(capsys, *words, "--resume")
    assert told.endswith("was made with --problem mine.py:problem: give it again")
    assert not mark.exists()
    trained(capsys, *words, "--problem", mine, "--resume")
    assert mark.exists()
    (tmp_path / "mine.py").write_text(MINE.replace("default_rng(0)", "default_rng(1)"))
    assert "was made with --data 60 examples (" in refused(
        capsys, *words, "--problem", mine, "--resume"
    )
    told = refused(capsys, *words, "--problem", mine, "--resume", "--optimizer", "sgd")
    assert told.endswith("was made with --optimizer AdamW: give it again") or "--data" in told


@pytest.mark.slow
def test_torchruns_programs_go_on_from_what_one_of_them_sees_and_train_as_processes_do(
    mine, tmp_path, capsys
):
    folder, twin = str(tmp_path / "kept"), str(tmp_path / "twin")
    words = ["--problem", mine, "--scheme", "parameter_averaging", "--every", "3", "--checkpoint"]
    trained(capsys, *words, folder, "--epochs", "1", "--backend", "simulated", "--workers", "2")
    lines = trained(capsys, *words, twin, "--workers", "2")
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         "-m", "course_lib", "train", *words, folder, "--epochs", "2", "--resume"],
        capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip  # the ranks that there are are the workers
    assert done.returncode == 0, done.stderr
    assert "2 workers, backend torch\n" in done.stdout

    def losses(lines):
        return [line.split()[:2] for line in lines if line[:1].isdigit()]

    assert [epoch for epoch, _ in losses(lines)] == ["1", "2"]
    assert losses(done.stdout.splitlines()) == losses(lines)  # one of them prints
    assert bits_in(Path(folder)) == bits_in(Path(twin))


UNSEEDED = """
import numpy as np
from course_lib.models.linear_regression import LinearRegression
from course_lib.train import Problem
from course_lib.training import Plan

def problem():
    X = np.random.default_rng().normal(size=(40, 3))  # others in every program
    return Problem(LinearRegression(3), (X, X.sum(axis=1)) * 2, Plan(0.1, 8, 1))
"""


def test_torchruns_programs_that_have_drawn_other_examples_do_not_train(tmp_path):
    (tmp_path / "unseeded.py").write_text(UNSEEDED)
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         "-m", "course_lib", "train", "--problem", f"{tmp_path / 'unseeded.py'}:problem"],
        capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode != 0
    assert done.stderr.count("--problem: rank 1 has other examples than rank 0: the file is") == 1


@pytest.mark.parametrize("size", [1, 2, 4])
def test_what_differs_and_where_is_named(size, mine):
    parts = load_problem(mine).parts(Plan(0.1, 8, 1))
    assert list(parts) == ["examples", "test examples", "plan", "initial parameters"]

    def compare(comm, changed):
        other = comm.rank > 1 or (comm.rank == 1 and size == 2)
        check_alike(comm, parts | ({changed: "other"} if other else {}))
        return comm.rank

    assert run(compare, "nothing", workers=size, backend="simulated").values == list(range(size))
    for changed in parts if size > 1 else ():
        ranks = "rank 1 has" if size == 2 else r"ranks \[2, 3\] have"
        with pytest.raises(
            WorkerError, match=f"ProblemError: .*{ranks} other {changed} than rank 0"
        ):
            run(compare, changed, workers=size, backend="simulated")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            ":none",
            "mine.py has no function 'none'; it has Mine, Sizes, fails, leaves, other, problem",
        ),
        (":fails", f"line {line_of('1 / 0')}: ZeroDivisionError: division by zero"),
        (":leaves", f"line {line_of('raise')}: SystemExit: 0"),
        (":other", "other() must return a Problem of course_lib.train, got int"),
        ("", "--problem takes FILE.py:FUNCTION, got "),
        (":a b", "--problem takes FILE.py:FUNCTION, got "),
    ],
)
def test_what_is_wrong_with_the_file_is_named(mine, capsys, changed, told):
    assert told in refused(capsys, "--problem", mine.removesuffix(":problem") + changed)


def test_a_file_that_is_not_there_or_does_not_run_is_named(mine, tmp_path, capsys):
    assert "there is no file no.py" in refused(capsys, "--problem", "no.py:problem")
    for text, told in (
        ("1 +", "line 1: SyntaxError"),
        ("\nimport no_such", "line 2: ModuleNotFou"),
    ):
        (tmp_path / "mine.py").write_text(text)
        assert told in refused(capsys, "--problem", mine)
    assert not [name for name in sys.modules if name.startswith("course_lib_own_")]


MOVES = """
import os
from pathlib import Path

from course_lib.collectives import allreduce_ring

os.chdir(Path(__file__).parent / "elsewhere")


def mine(comm, array):
    return allreduce_ring(comm, array)
"""


@pytest.mark.parametrize("option", ["--problem", "--allreduce"])
def test_a_file_that_changes_the_folder_moves_nothing_that_is_kept(
    option, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "moves.py").write_text(MOVES + SMALL)
    named = "moves.py:problem" if option == "--problem" else "moves.py:mine"
    words = [option, named, "--backend", "simulated", "--workers", "2", "--epochs", "1"]
    kept = ["--checkpoint", "kept", "--trace", "it.json", "--perfetto", "other.json"]
    lines = trained(capsys, *words, *kept)
    monkeypatch.chdir(tmp_path)
    files = [tmp_path / name for name in ("kept", "it.json", "other.json")]
    assert lines[-3:] == [
        f"checkpoint kept in {files[0]}", *(f"trace written to {name}" for name in files[1:])
    ]  # fmt: skip
    assert all(file.exists() for file in files)
    assert not [*(tmp_path / "elsewhere").iterdir()]
    lines = trained(capsys, *words[:-1], "2", *kept, "--resume")
    assert "goes on after epoch 1 of 2; those before are the checkpoint's" in lines


def test_a_file_is_called_with_seeded_generators(mine):
    first, second = load_problem(mine), load_problem(mine)
    assert first.fingerprint == second.fingerprint
    assert first.data.X_train.tobytes() == second.data.X_train.tobytes()


X, Y = np.ones((4, 2)), np.ones(4)
HOLES = np.where(np.arange(8).reshape(4, 2) == 4, np.nan, 1.0)
STAGE_3 = ("--scheme", "sharded", "--stage", "3")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model": 3}, "model must be a Model, got int"),
        ({"data": (X, Y)}, "data must be four arrays: X_train, y_train, X_test, y_test"),
        ({"data": (X, Y, X, Y[:3])}, r"got 4 rows of X and 3 of y \(X_test and y_test\)"),
        ({"plan": 0.1}, "plan must be a Plan, got float"),
        ({"plan": type("MyPlan", (Plan,), {})()}, "plan must be a Plan, got MyPlan"),
        ({"optimizer": "adam"}, "optimizer must be a function, such as Adam or .* got 'adam'"),
        ({"optimizer": torch.optim.Adam}, r"got torch's class Adam: from_torch\(Adam\) of"),
        ({"data": (X, Y, HOLES, Y)}, "X_test must hold finite numbers, .* is nan: 1 of its 4 rows"),
        ({"data": (HOLES, Y, X, Y)}, "X_train must .* have NaN or infinity, row 2 is the first"),
        ({"data": (csr_matrix(HOLES), Y, X, Y)}, "X_train must .* row 2 is the first"),
        ({"data": (X, HOLES[:, 0], X, Y)}, "y_train must hold finite numbers"),
        ({"score": "f1"}, "score must be 'test loss' or 'test accuracy', got 'f1'"),
    ],
)
def test_a_problem_is_checked_when_it_is_made(changes, told):
    given = {"model": LinearRegression(2), "data": (X, Y, X, Y), "plan": Plan()} | changes
    with pytest.raises((TypeError, ValueError), match=told):
        Problem(**given)


def test_a_model_that_knows_what_to_make_of_nan_is_given_it():
    class Fills(LinearRegression):
        def loss(self, w, batch):
            return super().loss(w, (np.nan_to_num(batch[0]), batch[1]))

    assert Problem(Fills(2), (HOLES, Y, X, Y), Plan()).data.X_train is HOLES


# The plan on the command line, for every problem


def task_of(*words):
    return read_arguments(["--model", "logistic", "--backend", "simulated", *words]).task


def test_the_words_are_the_plan():
    words = "--weight-decay 0.1 --clip 2 --accumulate 3 --decay cosine --optimizer adamw"
    task = task_of(*words.split(), "--epochs", "2", "--batch-size", "100", "--warmup-steps", "3")
    plan = task.plan
    assert (plan.weight_decay, plan.clip, plan.accumulate) == (0.1, 2.0, 3)
    assert plan.schedule == Cosine(5)  # 400 examples, two epochs, and three steps of warm-up
    assert (task.optimizer, plan.learning_rate, plan.momentum) == (AdamW, 0.01, 0.0)
    made_with = task.keeping.made_with
    assert made_with["decay"] == "Cosine(steps=5, least=0.0)"
    assert (made_with["optimizer"], made_with["accumulate"]) == ("AdamW", 3)
    task = task_of("--decay", "step", "--batch-size", "100", "--epochs", "3")
    assert (task.plan.schedule, task.optimizer) == (StepDecay(4), SGD)
    task = task_of("--optimizer", "adam", "--learning-rate", "0.3", "--decay", "constant")
    assert (task.optimizer, task.plan.learning_rate, task.plan.schedule) == (Adam, 0.3, None)


def test_a_checkpoint_of_a_plan_without_them_is_as_before():
    assert not set(task_of().keeping.made_with) & {
        "weight_decay", "clip", "accumulate", "schedule", "optimizer", "problem",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--optimizer lion", "--optimizer knows sgd, adam, adamw, adagrad; not 'lion'"),
        ("--decay linear", "--decay knows constant, cosine, step; not 'linear'"),
        ("--clip 0", "--clip must be None or above 0, got 0"),
        ("--clip x", "--clip takes"),
        ("--weight-decay -1", "--weight-decay must be 0 or more"),
        ("--accumulate 0", "--accumulate takes"),
        ("--optimizer adam --momentum 0.9", "--momentum is for --optimizer sgd, not adam"),
        ("--scheme priority --clip 1", "clip must be None for --scheme priority, got 1.0"),
        ("--scheme nn_data_parallel --accumulate 2", "accumulate must be 1 for --scheme nn_data"),
        ("--problem x.py:f --data moons", "--problem brings its own model and data"),
    ],
)
def test_words_that_mean_nothing_are_refused_by_name(capsys, words, told):
    assert told in refused(capsys, *words.split())


def test_a_schedule_that_ends_with_the_last_step_keeps_its_epochs(tmp_path, capsys):
    words = f"--model logistic --backend simulated --decay cosine --checkpoint {tmp_path}"
    trained(capsys, *words.split(), "--epochs", "2")
    told = refused(capsys, *words.split(), "--epochs", "3", "--resume")
    assert "--decay Cosine(steps=" in told
    trained(capsys, *words.split(), "--epochs", "2", "--resume")
    index = json.loads((tmp_path / "checkpoint.json").read_text())
    assert index["epoch"] == 2


def test_a_model_that_cannot_be_split_is_refused_as_that_of_the_problem(mine, tmp_path, capsys):
    (tmp_path / "small.py").write_text(SMALL)
    words = ("--problem", f"{tmp_path / 'small.py'}:problem", "--backend", "simulated")
    told = refused(capsys, *words, "--scheme", "model_parallel", "--workers", "4")
    assert "the model of --problem cannot be split over --workers 4 by --scheme model_" in told
    assert main([*words, "--scheme", "model_parallel", "--workers", "2"]) == 0
    quiet = ', on_epoch=lambda epoch, w: print("after", epoch, len(w))'
    (tmp_path / "mine.py").write_text(MINE.replace(quiet, ""))
    for scheme in (("pipeline",), ("sharded", "--stage", "3")):
        told = refused(capsys, "--problem", mine, "--scheme", *scheme)
        assert "model must be a Chain" in told


OF_A_CHAIN = tuple(name for name, one in SCHEMES.items() if one.outputs)


@pytest.mark.parametrize("words", [("--scheme", name) for name in OF_A_CHAIN] + [STAGE_3])
def test_on_epoch_is_refused_before_the_start_where_no_rank_has_all_parameters(
    words, tmp_path, capsys
):
    called = SMALL.replace("Plan(0.1, 10)", "Plan(0.1, 10, 1, on_epoch=print)")
    (tmp_path / "called.py").write_text(called)
    problem = ("--problem", f"{tmp_path}/called.py:problem", "--backend", "simulated")
    given = (*problem, *words, "--workers", "2")
    if words[1:] == ("sharded",):  # each has them all, but in stage 3
        assert main([*given]) == 0
        return
    told = refused(capsys, *given)
    assert f"on_epoch must be None for {' '.join(words)}, got <built-in function print>" in told


def test_data_may_be_tensors(tmp_path, capsys):
    as_tensors = "torch.from_numpy(X[:30]), torch.from_numpy(y[:30]), torch.from_numpy(X[30:]), "
    text = SMALL.replace("import numpy as np\n", "import numpy as np\nimport torch\n").replace(
        "(X[:30], y[:30], X[30:], y[30:]), Plan(0.1, 10)",
        f"({as_tensors}torch.from_numpy(y[30:])), Plan(0.1, 10), score='test accuracy'",
    )
    (tmp_path / "tensors.py").write_text(text)
    words = ["--problem", f"{tmp_path}/tensors.py:problem", "--backend", "simulated"]
    assert "test accuracy" in trained(capsys, *words, "--epochs", "1")[2]
