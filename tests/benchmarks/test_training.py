"""The training step: every engine trains the same, and the rows say rightly who is faster."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import training
from benchmarks.__main__ import main
from benchmarks.digits import SYNCHRONOUS, digits_key
from benchmarks.lesson import SIZES, WrongLoss, check_losses, lesson
from benchmarks.rows import rows
from benchmarks.samples import Samples
from benchmarks.split import WAYS, split_key
from benchmarks.training import ALONE, DDP, DDP_IN_BUCKETS, OURS, step_key
from course_lib import run
from course_lib.models.mlp import mlp
from course_lib.schemes import train
from tests.residue import assert_nothing_left, residue


def samples_of(processes=2, **seconds_of_engine):
    samples = Samples()
    for engine, rounds in seconds_of_engine.items():
        for seconds in rounds:
            samples.add(step_key(processes, engine), [seconds])
    return samples


def test_a_step_is_held_against_the_faster_way_of_torch():
    found = samples_of(**{OURS: [1.0, 1.0], DDP: [1.9, 1.9], DDP_IN_BUCKETS: [1.6, 1.6]})
    (row,) = rows(found)
    assert (row.peer, row.value, row.verdict) == (DDP_IN_BUCKETS, 1.6, "must met, goal missed")
    assert row.what.startswith("data-parallel training step, MLP 784-1024-1024-10, 64 examples")


@pytest.mark.parametrize(
    ("alone_s", "verdict"),
    [(0.96, "goal met"), (0.91, "must met, goal missed"), (0.89, "must missed")],
)
def test_nine_tenths_of_what_two_processes_do_that_do_not_talk_are_needed(alone_s, verdict):
    (row,) = rows(samples_of(**{OURS: [1.0], ALONE: [alone_s]}))
    assert row.verdict == verdict
    assert rows(samples_of(4, **{OURS: [1.0], ALONE: [alone_s]})) == []


def test_each_way_to_divide_a_model_is_held_against_torch_and_against_our_text_over_gloo():
    samples, way = Samples(), WAYS["split"]
    for engine, seconds in ((way.ours, 1.0), (way.over_gloo, 2.0), (way.peer, 0.9)):
        samples.add(split_key(way, 2, engine), [seconds])
    by_hand, over_gloo = rows(samples)
    assert (by_hand.peer, by_hand.value, by_hand.verdict) == ("torch + gloo", 0.9, "must missed")
    assert (over_gloo.peer, over_gloo.verdict) == ("split_weights, over gloo", "goal met")
    assert by_hand.what.startswith("step of MLP 784-2048-512-2048-10, columns, then rows, 64 exam")


def test_digits_are_told_by_the_slowest_scheme():
    samples = Samples()
    for number, scheme in enumerate(SYNCHRONOUS, start=21 - len(SYNCHRONOUS)):
        samples.add(digits_key(scheme), [float(number)])
    (row,) = rows(samples)
    assert (row.measured, row.verdict) == ("20 s", "must met, goal missed")


def test_a_step_lasts_until_all_ranks_have_ended_it_and_the_first_ones_do_not_count():
    ends_s = [[0, 9, 18, 19, 21], [0, 9, 18, 21, 22]]
    assert training.seconds(ends_s) == [3, 1]  # rank by rank the longest would be 3 and 2
    assert sum(training.seconds(ends_s)) == 22 - 18


def test_another_learning_rate_or_other_batches_are_no_training_of_the_same():
    X, y, plan = lesson(workers=1, n_steps=4)
    model = mlp(*SIZES, dtype="float32")
    losses = train(model, X, y, plan).losses
    check_losses("itself", losses, losses)
    # The likely mistakes: gradients that are added, not averaged, and the same part on every rank.
    for wrong in (replace(plan, learning_rate=0.2), replace(plan, seed=1)):
        with pytest.raises(WrongLoss, match=r"a stranger: the loss of step [01] is"):
            check_losses("a stranger", train(model, X, y, wrong).losses, losses)
    with pytest.raises(WrongLoss, match="step 3 is nan"):
        check_losses("a stranger", [*losses[:3], float("nan")], losses)


def test_times_are_those_of_the_trace_step_by_step():
    def three_steps(comm):
        for _ in range(3):
            with comm.compute("gradient", flops=1e9):
                pass
            with comm.compute("update", flops=comm.rank * 1e9):
                pass

    result = run(three_steps, workers=2, backend="simulated")
    first, second = np.diff(training.ends(result.trace, 2))
    assert len(first) == len(second) == 2
    np.testing.assert_allclose(second, 2 * first, rtol=1e-9)


@pytest.mark.soak  # `make bench` does it at full length
def test_a_tiny_run_trains_the_same_with_every_engine_and_leaves_nothing(tmp_path, capsys):
    run(lambda comm: comm.rank, workers=1)  # starts the fork server, which stays
    before = residue()
    output = tmp_path / "results.json"
    words = f"--quick --only training --processes 2 --rounds 1 --output {output}"
    assert main(words.split()) == 0
    assert_nothing_left(before)
    found = json.loads(output.read_text(encoding="utf-8"))
    seconds = {entry["engine"]: entry["median"] for entry in found["seconds"]}
    assert set(seconds) == {*training.SCHEMES, ALONE, DDP, DDP_IN_BUCKETS}
    against_torch, scaling = found["rows"]
    fastest = min(seconds[name] for name in training.SCHEMES)
    ratio = min(seconds[DDP], seconds[DDP_IN_BUCKETS]) / fastest
    assert against_torch["value"] == pytest.approx(ratio, rel=0.01)
    assert scaling["value"] == pytest.approx(seconds[OURS] / seconds[ALONE], rel=0.01)
    assert "torch DDP + gloo" in capsys.readouterr().out
