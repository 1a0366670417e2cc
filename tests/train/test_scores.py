"""What is told after an epoch: tried before the start, and refused where it would say nothing."""

import math
import re
import sys

import numpy as np
import pytest

from course_lib.cli.train import main
from course_lib.train.checkpoint import load
from course_lib.train.errors import ScoreError
from course_lib.train.scores import accuracy

FILE = """
from functools import partial

import numpy as np
import torch
from torch import nn

from course_lib.models import from_module
from course_lib.models.linear_regression import LinearRegression
from course_lib.train import Problem
from course_lib.training import Plan

F = nn.functional
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5)).astype("f4")
CLASSES = (X @ rng.normal(size=(5, 3))).argmax(1)
TRUE = (X.sum(axis=1, keepdims=True) > 0).astype("f4")


def focal(z, y):
    each = F.cross_entropy(z, y, reduction="none")
    return ((1 - torch.exp(-each)) ** 2 * each).mean()


def of(n, loss, y, score="test accuracy", **options):
    torch.manual_seed(0)
    model = from_module(nn.Linear(5, n), loss, **options)
    return Problem(model, (X[:40], y[:40], X[40:], y[40:]), Plan(0.3, 10, 2), score=score)


def problem():
    return PROBLEM
"""


def tried(tmp_path, monkeypatch, capsys, text, *words):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mine.py").write_text(FILE.replace("return PROBLEM", f"return {text}"))
    given = ["--problem", f"{tmp_path / 'mine.py'}:problem", "--backend", "simulated", *words]
    try:
        status = main(given)
    except SystemExit as ended:
        status = ended.code
    return status, capsys.readouterr()


@pytest.mark.parametrize(
    "text",
    [
        "of(3, focal, CLASSES)",
        "of(3, lambda z, y: F.cross_entropy(z, y), CLASSES)",
        "of(3, nn.MultiMarginLoss(), CLASSES)",
        "of(3, lambda z, y: F.nll_loss(z.log_softmax(1), y), CLASSES)",
        "of(3, nn.CrossEntropyLoss(), np.eye(3)[CLASSES])",  # answers numbers, not rows
        "of(1, nn.BCEWithLogitsLoss(), TRUE)",
        "of(1, lambda z, y: F.binary_cross_entropy(z.sigmoid(), y), TRUE)",
        "of(1, nn.SoftMarginLoss(), 2 * TRUE - 1)",
        "of(1, nn.SoftMarginLoss(), 2 * TRUE - 1, answer=lambda z: z > 0)",  # -1 is never told
        "of(1, lambda z, y: F.binary_cross_entropy_with_logits(z[:, 0], y), TRUE[:, 0],"
        " answer=lambda z: z > 0)",  # (n, 1) with (n,)
        "of(1, nn.MSELoss(), X[:, :1])",
        "of(1, nn.MSELoss(), X[:, :1], answer=lambda z: z.round())",  # the targets are real
        "Problem(LinearRegression(5), (X, CLASSES, X, CLASSES), Plan(), score='test accuracy')",
    ],
)  # fmt: skip
def test_an_accuracy_of_what_is_no_class_is_refused_before_the_start(
    text, tmp_path, monkeypatch, capsys
):
    status, told = tried(tmp_path, monkeypatch, capsys, text)
    assert (status, told.out) == (2, "")
    last = told.err.splitlines()[-1]
    assert "mine.py:problem: an accuracy compares " in last
    assert "answer= of from_module says what predict makes of outputs" in last


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("of(3, focal, CLASSES, answer=lambda z: z.argmax(dim=1))", 70),
        ("of(3, partial(F.cross_entropy), CLASSES)", 70),
        ("of(3, nn.CrossEntropyLoss(), np.eye(3)[CLASSES],"
         " answer=lambda z: F.one_hot(z.argmax(1), 3))", 70),
        ("of(1, nn.BCEWithLogitsLoss(), TRUE, answer=lambda z: z > 0)", 80),
        ("of(1, nn.BCEWithLogitsLoss(), TRUE, answer=lambda z: torch.sigmoid(z).round())", 80),
        ("of(1, nn.SoftMarginLoss(), 2 * TRUE - 1, answer=torch.sign)", 80),
        ("of(1, nn.MSELoss(), TRUE, answer=lambda z: z > 0.5)", 80),
    ],
)  # fmt: skip
def test_an_accuracy_of_classes_is_that_of_the_rows(text, least, tmp_path, monkeypatch, capsys):
    status, told = tried(tmp_path, monkeypatch, capsys, text, "--epochs", "6")
    assert status == 0, told.err
    (percent,) = re.findall(r"([\d.]+) %", told.out.splitlines()[-1])
    assert least <= float(percent) <= 100
    assert float(percent) % 5 == pytest.approx(0)  # of 20 rows, none more


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "Problem(of(3, None, CLASSES).model, (X, CLASSES, X[:, :4], CLASSES), score={}, "
            "plan=Plan())",
            "one of shape (4,) where those of X_train have (5,), ended in RuntimeError: mat1",
        ),
        (
            "of(3, nn.CrossEntropyLoss(), CLASSES.astype('f4'), {})",
            "its loss for X_train and y_train ended in ValueError: loss must take",
        ),
        (
            "of(3, None, CLASSES, {}, answer=lambda z: z.nothing)",
            "its answers to X_test ended in AttributeError: 'Tensor' object has no",
        ),
        (
            "Problem(type('M', (LinearRegression,), {{'loss': lambda *_: None}})(5), "
            "(X, CLASSES) * 2, Plan(), score={})",
            "for X_train and y_train ended in TypeError: loss must be one number, got None",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("score", ["test loss", "test accuracy"])
def test_what_cannot_be_computed_of_a_few_examples_is_told_before_the_start(
    text, told, score, tmp_path, monkeypatch, capsys
):
    status, found = tried(tmp_path, monkeypatch, capsys, text.format(repr(score)))
    if "answers" in told and score == "test loss":  # nobody asks for them
        assert status == 0
        return
    assert (status, found.out) == (2, "")
    assert told in found.err.splitlines()[-1]


CHAIN = """
def chain(y):
    from course_lib.models.deep_mlp import deep_mlp
    data = X[:40], CLASSES[:40], X[40:], y
    return Problem(deep_mlp(5, 4, 3), data, Plan(0.3, 10, 1), score="test accuracy")


def problem"""


@pytest.mark.parametrize("scheme", ["model_parallel", "split_weights", "data_parallel"])
def test_targets_in_a_column_are_refused_of_a_chain_that_nobody_holds(
    scheme, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(globals(), "FILE", FILE.replace("\ndef problem", CHAIN))
    words = ("--scheme", scheme, "--workers", "2")
    status, found = tried(tmp_path, monkeypatch, capsys, "chain(CLASSES[40:, None])", *words)
    assert status == 2
    assert re.search("y must have shape|in shape .4,., where y_test has .4, 1", found.err)
    status, found = tried(tmp_path, monkeypatch, capsys, "chain(CLASSES[40:])", *words)
    assert status == 0, found.err


LATER = """of(3, None, CLASSES, answer=lambda z: z.argmax(1) if len(z) < 9 else BROKEN)"""


@pytest.mark.parametrize("scheme", ["data_parallel", "parameter_averaging", "downpour"])
def test_a_score_that_fails_later_leaves_the_checkpoint_of_its_epoch(
    scheme, tmp_path, monkeypatch, capsys
):
    words = ["--checkpoint", str(tmp_path / "kept"), "--scheme", scheme, "--workers", "3"]
    words += ["--checkpoint-every", "2"]
    status, found = tried(tmp_path, monkeypatch, capsys, LATER, *words)
    assert status == 1
    first, *rest = [line for line in found.err.splitlines() if not line.startswith("warning")]
    assert first == "the test accuracy cannot be computed: NameError: name 'BROKEN' is not defined"
    assert " holds epoch 1 of 2; go on with" in " ".join(rest)
    (row,) = load(tmp_path / "kept").rows
    assert math.isfinite(row.loss)
    assert math.isnan(row.score)
    mended = LATER.replace("BROKEN", "z.argmax(1)")
    status, found = tried(tmp_path, monkeypatch, capsys, mended, *words, "--resume")
    assert status == 0, found.err
    assert [line.split()[0] for line in found.out.splitlines()[-3:-1]] == ["1", "2"]


def test_an_accuracy_is_a_part_of_the_rows():
    assert accuracy(np.array([1, 0, 2, 2]), np.array([1.0, 0, 2, 1])) == 0.75
    assert accuracy(np.array([True, False]), np.array([1, 1])) == 0.5
    rows = np.eye(3)[[0, 1, 2, 2]]
    assert accuracy(np.eye(3, dtype=int)[[0, 1, 2, 1]], rows) == 0.75  # of 12 numbers 10 are right
    assert accuracy(np.array([math.nan, 1.0]), np.array([1, 1])) == 0.5  # it has diverged
    for found, right in (
        (np.zeros((4, 1), int), np.zeros(4, int)),
        (np.full(4, 0.5), np.zeros(4)),
        (np.zeros(4), np.full(4, 0.5)),
        (np.array(["a"]), np.array([1])),
        (np.array([True]), np.array([-1])),
    ):
        with pytest.raises(ScoreError, match="an accuracy compares"):
            accuracy(found, right)
