"""``train`` with a scheme that divides the model prints the losses of ``--scheme serial``."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from course_lib import run
from course_lib.cli.train import main
from course_lib.cli.train_arguments import read_arguments
from course_lib.train.checkpoint import load
from course_lib.train.problems import MODELS
from course_lib.train.worker import work
from tests.train.tasks import few_digits, task_of, trained

EPOCHS = 2
TASKS = [
    *(("sharded", model, {"stage": s}) for model in ("deep_mlp", "alexnet") for s in "123"),
    *(("split_weights", model, {}) for model in ("deep_mlp", "alexnet")),
    *(
        ("hybrid", "alexnet", {"splits": 2, "join": join})
        for join in ("all_at_once", "by_turns", "by_slices")
    ),
    ("hybrid", "alexnet", {"splits": 1, "join": "all_at_once"}),
    ("hybrid", "alexnet", {"splits": 4, "join": "by_slices"}),
    ("hybrid", "deep_mlp", {"splits": 2, "join": "all_at_once"}),
]


@cache
def plan_of(model):
    return replace(MODELS[model].usual, epochs=EPOCHS, batch_size=70)  # of 206: 3 steps


@cache
def serial(model):
    return trained("serial", plan=plan_of(model), model=model, data=few_digits())


def rows_of(scheme, model, workers, options, folder=None):
    task = task_of(scheme, folder, plan=plan_of(model), model=model, data=few_digits(), **options)
    return run(work, task, workers=workers, backend="simulated").values[0]


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "model", "options"), TASKS)
@pytest.mark.parametrize("workers", [2, 4])
def test_losses_are_those_of_one_process(scheme, model, options, workers):
    if options.get("splits", 1) > workers:
        return
    rows = rows_of(scheme, model, workers, options)
    for row, like in zip(rows, serial(model), strict=True):
        # Sums of parts round otherwise; forgetting a part of the model changes the first digits.
        np.testing.assert_allclose(row[1:3], like[1:3], rtol=1e-9)
    assert abs(rows[0].loss - rows[1].loss) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "model", "options"),
    [TASKS[0], TASKS[1], TASKS[2], ("split_weights", "deep_mlp", {}), TASKS[-3]],
)
def test_a_checkpoint_holds_the_whole_model(scheme, model, options, tmp_path):
    """As the serial run has it, put together from all ranks."""
    divided, alone = tmp_path / "divided", tmp_path / "alone"
    divided.mkdir()
    alone.mkdir()
    rows_of(scheme, model, 4, options, divided)
    trained("serial", alone, plan=plan_of(model), model=model, data=few_digits())
    np.testing.assert_allclose(load(divided).w, load(alone).w, rtol=0, atol=1e-12)


UNDRAWN = """
import numpy as np
from course_lib.models.chain import Chain
from course_lib.models.deep_mlp import deep_mlp
from course_lib.train import Problem
from course_lib.training import Plan


class Undrawn(Chain):
    def initial(self, seed=0):
        raise MemoryError("nobody has room for the whole model")

    def outputs(self, w, X):
        assert len(self.parts) < 4, "nobody has room for the whole model"
        return super().outputs(w, X)


def problem():
    whole = deep_mlp(6, 8, 8, 8, 3)
    X, y = np.random.default_rng(0).normal(size=(30, 6)), np.arange(30) % 3
    data = X[:24], y[:24], X[24:], y[24:]
    return Problem(Undrawn(whole.parts, (6,)), data, Plan(0.1, 12), score="test accuracy")
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        *(
            (words, None)
            for words in (
                "model_parallel", "pipeline --microbatches 4", "split_weights", "sharded --stage 3",
                "hybrid",
            )
        ),
        ("data_parallel", "nobody has room for the whole model"),
    ],
)  # fmt: skip
def test_the_command_never_makes_the_model_whole_where_no_rank_can(words, told, tmp_path, capsys):
    file = tmp_path / "undrawn.py"
    file.write_text(UNDRAWN)
    given = ["--problem", f"{file}:problem", "--backend", "simulated", "--workers", "2"]
    given += ["--scheme", *words.split()]
    if told is None:
        assert main(given) == 0
        assert "1." in capsys.readouterr().out
        return
    with pytest.raises(SystemExit):  # tried on a few examples before the start
        main(given)
    assert told in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "--scheme split_weights --model deep_mlp --workers 2",
        "--scheme hybrid --splits 2 --join by_turns --model alexnet --workers 2",
        "--scheme sharded --stage 3 --model deep_mlp",
    ],
)
def test_the_command_prints_them_on_real_processes(words, capsys):
    common = ["--epochs", "1", "--batch-size", "480"]
    assert main([*words.split(), *common]) == 0
    found = capsys.readouterr().out.splitlines()
    model = words.split("--model ")[1].split()[0]
    assert main(["--scheme", "serial", "--model", model, *common]) == 0
    alone = capsys.readouterr().out.splitlines()
    assert found[-1].split()[:3] == alone[-1].split()[:3]  # epoch, loss, test accuracy


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "--scheme hybrid --model mlp",
            "--scheme hybrid trains --model alexnet or deep_mlp, not 'mlp'",
        ),
        (
            "--scheme sharded --model mlp",
            "--scheme sharded trains --model deep_mlp or alexnet, not 'mlp'",
        ),
        ("--scheme sharded --stage 4 --model alexnet", "--stage knows 1, 2, 3; not '4'"),
        (
            "--scheme hybrid --splits 3 --model alexnet",
            "--model alexnet cannot be split over --workers 4 by --scheme hybrid: splits must "
            "divide the number of ranks, so that replicas x splits = 4; got 3",
        ),
        ("--scheme hybrid --join late --model alexnet", "--join knows all_at_once, by_turns, by"),
        (
            "--scheme hybrid --join by_turns --model deep_mlp",
            "join must be all_at_once for a model without convolutions, got by_turns; --model "
            "alexnet can be",
        ),
        (
            "--scheme split_weights --model deep_mlp --workers 33 --backend simulated",
            "each of 33 ranks must have one of the 32 outputs of fc1 at least: use 32 ranks at",
        ),
        (
            "--scheme split_weights --model alexnet --workers 11 --backend simulated",
            "one of the 10 outputs of fc8 at least: use 10 ranks at most; --model deep_mlp can be",
        ),
        (
            "--scheme data_parallel --splits 2",
            "--splits is for --scheme distbelief or hybrid, not data_parallel",
        ),
    ],
)
def test_what_cannot_be_divided_is_refused_before_anything_is_started(words, told, capsys):
    with pytest.raises(SystemExit):
        read_arguments(words.split())
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scheme", "model"),
    [("hybrid", "alexnet"), ("pipeline", "deep_mlp"), ("nn_data_parallel", "mlp")],
)
def test_where_no_model_is_said_the_first_is_taken_that_the_scheme_can_train(scheme, model):
    assert read_arguments(["--scheme", scheme]).task.model == model
