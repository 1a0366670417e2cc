"""``train`` with a scheme that sends less: it learns as it stands, or says what does not fit."""

import re

import pytest

from course_lib.cli.train import main
from course_lib.cli.train_arguments import read_arguments
from course_lib.train.worker import past_edge_of
from course_lib.training import SGD, AdamW

LEARNING = [
    "local_sgd",
    "diloco",
    "gossip --graph ring",
    "gossip --graph hypercube",
    "compressed --compressor topk",
    "compressed --compressor sign",
    "compressed --compressor powersgd",
]


def rows_of(words, capsys):
    assert main(f"--scheme {words} --model mlp --epochs 3 --workers 4".split()) == 0
    output = capsys.readouterr().out
    return [line.split()[:3] for line in output.splitlines() if re.match(r"\d+ ", line)]


@pytest.mark.slow
@pytest.mark.parametrize("words", LEARNING)
def test_each_reads_three_of_four_digits_after_three_epochs_with_its_defaults(words, capsys):
    rows = rows_of(f"{words} --backend simulated", capsys)
    assert len(rows) == 3
    assert float(rows[-1][2]) >= 75


@pytest.mark.slow
@pytest.mark.parametrize("words", ["diloco", "compressed --compressor powersgd"])
def test_processes_print_what_the_simulator_prints(words, capsys):
    assert rows_of(words, capsys) == rows_of(f"{words} --backend simulated", capsys)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("compressed --k 2411", "--k must be an int from 1 to 2,410, got 2,411"),
        ("compressed --k 0", "--k takes whole numbers of 1 or more, got '0'"),
        (
            "compressed --compressor powersgd --rank 11",
            "--rank must be 10 at most for the 10 x 32 weights of fc2, got 11",
        ),
        ("compressed --rank 2", "--rank is for --compressor powersgd, not topk"),
        ("compressed --compressor sign --k 2", "--k is for --compressor topk, not sign"),
        ("compressed --compressor zip", "--compressor knows topk, sign, powersgd; not 'zip'"),
        ("gossip --graph star", "--graph knows ring, hypercube; not 'star'"),
        (
            "gossip --graph hypercube --workers 6 --backend simulated",
            "--graph hypercube needs a power of two of ranks: workers must be 2, 4, 8, ..., got 6",
        ),
        ("diloco --every 0", "--every takes whole numbers of 1 or more, got '0'"),
        ("diloco --outer-rate 0", "--outer-rate must be above 0, got 0"),
        ("diloco --outer-momentum 1", "--outer-momentum must be 0 or more and below 1, got 1"),
        ("diloco --outer-rate fast", "--outer-rate takes a"),
        ("local_sgd --outer-rate 1", "--outer-rate is for --scheme diloco, not local_sgd"),
        ("local_sgd --every 0", "--every takes whole numbers of 1 or more, got '0'"),
        ("diloco --momentum 0.5", "--momentum is for --optimizer sgd, not adamw"),
        ("data_parallel --graph ring", "--graph is for --scheme gossip, not data_parallel"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_started(words, told, capsys):
    with pytest.raises(SystemExit):
        read_arguments(["--scheme", *words.split()])
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("downpour", "learning_rate 0.2 is past 0.153, .* with 3 replicas .* 2 sin"),
        ("bounded_staleness --bound 0", "past 0.165, .* 2 / P over the largest curvature, 4.05"),
        ("downpour --workers 2", ""),
        ("staleness_aware", ""),
        ("downpour --momentum 0.5", ""),
        ("downpour --optimizer adam", ""),
        ("data_parallel", ""),
    ],
)
def test_a_rate_past_the_edge_is_told_where_it_can_be_known(words, told):
    words = f"--scheme {words} --model linear --backend simulated"
    words += "" if "adam" in words else " --learning-rate 0.2"
    asked = read_arguments(words.split())
    found = past_edge_of(asked.task, asked.workers)
    assert re.search(told, found) if told else not found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy sees it, too
@pytest.mark.parametrize(
    ("scheme", "where"), [("local_sgd", "over batch"), ("data_parallel", "after epoch 1")]
)
def test_a_training_that_diverges_ends_in_a_sentence_when_it_is_seen(scheme, where, capsys):
    words = f"--scheme {scheme} --model linear --learning-rate 1e30 --epochs 50"
    assert main(f"{words} --backend simulated".split()) == 1
    found = capsys.readouterr()
    assert f"the training has diverged: the loss {where}" in found.err
    assert "Traceback" not in found.err
    assert len(found.out.splitlines()) < 5  # no row of 50


def test_what_a_checkpoint_keeps_where_nobody_waits_is_said(tmp_path, capsys):
    for scheme, told in (("downpour", ": the server's state"), ("local_sgd", "\n")):
        folder = tmp_path / scheme
        folder.mkdir()
        words = f"--scheme {scheme} --model linear --epochs 1 --backend simulated"
        assert main([*words.split(), "--checkpoint", str(folder)]) == 0
        assert f"checkpoint kept in {folder}{told}" in capsys.readouterr().out


def numbers(words):
    task = read_arguments(f"--scheme {words} --backend simulated".split()).task
    return task.plan.learning_rate, task.plan.momentum, task.optimizer


def test_each_scheme_has_its_own_usual_numbers_and_gives_way_to_those_that_are_named():
    usual = (0.1, 0.9, SGD)
    assert numbers("data_parallel") == numbers("local_sgd") == numbers("gossip") == usual
    assert numbers("diloco") == (0.01, 0.0, AdamW)
    assert numbers("diloco --optimizer sgd") == usual
    assert numbers("diloco --learning-rate 0.02") == (0.02, 0.0, AdamW)
    # Residuals come late, as momentum does: without it, steps are as long with ten times the rate.
    rate, *rest = numbers("compressed")
    assert (round(rate, 9), *rest) == (1.0, 0.0, SGD)
    assert numbers("compressed --learning-rate 0.3") == (0.3, 0.0, SGD)
    assert numbers("compressed --momentum 0.5") == (0.1, 0.5, SGD)


def test_only_what_a_compressor_takes_is_told_and_kept():
    for words, options in (
        ("compressed", {"compressor": "topk", "k": 24}),
        ("compressed --compressor sign", {"compressor": "sign"}),
        ("compressed --compressor powersgd", {"compressor": "powersgd", "rank": 2}),
        ("local_sgd", {"every": 8, "allreduce": "ring"}),
        ("parameter_averaging", {"every": 1, "allreduce": "ring"}),
    ):
        task = read_arguments(f"--scheme {words} --backend simulated".split()).task
        assert task.options == options
