"""torch.distributed.pipelining as a second opinion: it checks our schedules, and runs them."""

import numpy as np
import pytest

from course_lib import run
from course_lib.models.chain_module import as_module
from course_lib.models.deep_mlp import deep_mlp
from course_lib.pipelines import SCHEDULES, interleaved, to_torch, to_torch_csv
from course_lib.schemes import pipeline, train
from course_lib.schemes.pipeline import joined
from course_lib.training import Plan
from course_lib.training.plan import Share

# PyTorch's own test of its schedules, test/distributed/pipelining/test_schedule.py: stages a rank,
# micro-batches, ranks. Over the last torch takes ten seconds and more.
OF_TORCHS_TESTS = [
    (2, 2, 2), (2, 4, 4), (2, 8, 2), (2, 8, 4), (2, 8, 8), (4, 4, 4), (4, 8, 4), (4, 8, 8),
    (4, 16, 4), (4, 32, 4), (4, 64, 4), (4, 16, 16), (4, 32, 32), (3, 2, 2), (3, 8, 2), (3, 12, 4),
    (4, 6, 3), (4, 10, 5), (2, 3, 4), (2, 4, 4), (2, 10, 4), (2, 15, 4),
    pytest.param(4, 128, 64, marks=pytest.mark.soak),
]  # fmt: skip
SMALL = [(2, 4), (4, 8), (4, 10), (3, 7), (1, 2), (8, 16)]


def private(*names):
    """Return what torch keeps for itself, or skip."""
    found = pytest.importorskip("torch.distributed.pipelining.schedules")
    if missing := [name for name in names if not hasattr(found, name)]:
        pytest.skip(f"this torch has no {', '.join(missing)} in distributed.pipelining.schedules")
    return [getattr(found, name) for name in names]


def accepted(schedule):
    """Have torch check a schedule, add the messages and walk through it; return its steps."""
    read, check, add_messages, simulate = private(
        "_Action", "_validate_schedule", "_add_send_recv", "_simulate_comms_compute"
    )
    actions = {
        rank: [read.from_str(text) for text in order] for rank, order in to_torch(schedule).items()
    }
    homes = check(actions, schedule.n_ranks, schedule.n_stages, schedule.microbatches)
    assert homes == dict(enumerate(schedule.placement))
    with_messages = add_messages(actions, homes.__getitem__, schedule.n_stages)
    texts = [str(action) for order in with_messages.values() for action in order]
    assert sum("SEND" in text for text in texts) == schedule.n_messages
    return simulate(with_messages, homes.__getitem__, schedule.n_stages)


@pytest.mark.parametrize(("P", "M"), SMALL)
@pytest.mark.parametrize("name", SCHEDULES)
def test_torch_accepts_every_schedule_and_counts_as_many_messages(name, P, M):
    if name == "interleaved" and M % (M // P):
        M += 1  # rounds of equal length
    steps = accepted(SCHEDULES[name](P, M))
    assert len(steps) == P


@pytest.mark.parametrize(("v", "M", "P"), OF_TORCHS_TESTS)
def test_torch_accepts_what_its_own_tests_ask_for(v, M, P):
    for name, make in SCHEDULES.items():
        if name in ("interleaved", "zb_h1") and M < P:
            with pytest.raises(ValueError, match=f"got {M}"):
                make(P, M)
            continue
        accepted(interleaved(P, M, v) if name == "interleaved" else make(P, M))


def test_torch_refuses_what_we_refuse():
    """Its dry run is no rubber stamp."""
    orders = to_torch(SCHEDULES["1f1b"](2, 4))
    read, check = private("_Action", "_validate_schedule")
    actions = {rank: [read.from_str(text) for text in order] for rank, order in orders.items()}
    actions[1].remove(read.from_str("1B3"))
    with pytest.raises(AssertionError, match="expected 4 total backwards"):
        check(actions, 2, 2, 4)


@pytest.mark.parametrize(("P", "M"), [(2, 4), (4, 8), (4, 10), (4, 16), (8, 16), (4, 5)])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("gpipe", "GPipe"), ("1f1b", "1F1B"), ("interleaved", "Interleaved1F1B"),
     ("zb_v", "ZBVZeroBubble")],
)  # fmt: skip
def test_the_order_of_actions_is_torchs(ours, theirs, P, M):
    found = pytest.importorskip("torch.distributed.pipelining._schedule_visualizer")
    expected = [
        [str(action) for action in order if action and "REDUCE" not in str(action)]
        for order in found.get_schedule_ops(theirs, P, M)
    ]
    orders = list(to_torch(SCHEDULES[ours](P, M)).values())
    if ours == "1f1b":
        # What torch 2.13 shows for the last rank has no first micro-batch, and one too many; its
        # runtime does not use it.
        expected, orders = expected[:-1], orders[:-1]
    assert orders == expected


@pytest.mark.parametrize(("P", "M"), [(2, 4), (4, 8), (4, 10), (4, 16), (8, 16)])
def test_zb_h1_is_what_torch_would_do_with_one_stage_a_rank(P, M):
    """Its class refuses one stage; the function that the class calls does not."""
    (actions_of,) = private("_get_1f1b_rank_ops")
    for rank, order in to_torch(SCHEDULES["zb_h1"](P, M)).items():
        ahead = P - 1 - rank
        found = actions_of(
            1, P, ahead, M - ahead, ahead, rank, lambda _, r=rank: r, lambda _, r=rank: r,
            num_1f1b_microbatches=rank, enable_zero_bubble=True,
        )  # fmt: skip
        assert order == [str(action) for action in found if action]


# Run by torch

SIZES = (6, 8, 7, 5, 4)
LAYERS, M, STEPS, ROWS, RATE = len(SIZES) - 1, 8, 3, 16, 0.1


def data():
    rng = np.random.default_rng(1)
    return rng.normal(size=(STEPS * ROWS, SIZES[0])), rng.integers(0, SIZES[-1], STEPS * ROWS)


def by_torch(comm, schedule, folder):
    """Train by torch's runtime, which reads our schedule; return losses and parameters by stage."""
    import torch
    from torch import distributed
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

    model, (X, y) = deep_mlp(*SIZES), data()
    per_stage = LAYERS // schedule.n_stages
    group = distributed.new_group(backend="gloo")
    cpu = torch.device("cpu")
    modules = {
        stage: as_module(model, range(stage * per_stage, (stage + 1) * per_stage))
        for stage in schedule.stages_of(comm.rank)
    }
    stages = [
        PipelineStage(module, stage, schedule.n_stages, cpu, group=group)
        for stage, module in modules.items()
    ]
    runtime = _PipelineScheduleRuntime(
        stages, schedule.microbatches, loss_fn=torch.nn.functional.cross_entropy
    )
    file = folder / f"{schedule.name}.{comm.rank}.csv"
    file.write_text(to_torch_csv(schedule))
    runtime._load_csv(str(file), "compute_only")
    sgds = [torch.optim.SGD(module.parameters(), RATE) for module in modules.values()]
    losses = []
    for step in range(STEPS):
        rows = slice(step * ROWS, (step + 1) * ROWS)
        given = (torch.from_numpy(X[rows]),) if 0 in modules else ()
        of_step = [] if schedule.n_stages - 1 in modules else None
        target = torch.from_numpy(y[rows]) if of_step is not None else None
        for sgd in sgds:
            sgd.zero_grad()
        runtime.step(*given, target=target, losses=of_step)
        if of_step is not None:
            losses.append(float(np.mean([loss.item() for loss in of_step])))
        for sgd in sgds:
            sgd.step()
    distributed.destroy_process_group(group)
    return losses, {
        stage: np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])
        for stage, module in modules.items()
    }


def by_both(comm, names, folder):
    """Train by torch and by our own executor, in the same world."""
    found = []
    for name in names:
        ours = pipeline(comm, deep_mlp(*SIZES), *data(), Straight(RATE, ROWS), SCHEDULES[name], M)
        found.append((by_torch(comm, SCHEDULES[name](comm.size, M), folder), ours))
    return found


class Straight(Plan):
    """A plan that goes through the examples in the order in which they lie."""

    def shares(self, n_examples, rank=0, size=1, w=None):
        for start in range(0, n_examples, self.batch_size):
            yield Share(np.arange(start, start + self.batch_size), 1.0)


@pytest.mark.slow
def test_torchs_runtime_trains_by_our_schedules_and_finds_what_our_executor_finds(tmp_path):
    private("_PipelineScheduleRuntime")
    found = run(by_both, list(SCHEDULES), tmp_path, workers=2, backend="torch").values
    model, (X, y) = deep_mlp(*SIZES), data()
    serial = train(model, X, y, Straight(RATE, ROWS))
    assert len(serial.losses) == STEPS
    for number, make in enumerate(SCHEDULES.values()):
        theirs, ours = zip(*(of_rank[number] for of_rank in found), strict=True)
        losses = [losses for losses, _ in theirs if losses]
        parts = {stage: w for _, own in theirs for stage, w in own.items()}
        by_torch = np.concatenate([parts[stage] for stage in sorted(parts)])
        by_us = joined(make(2, M), model, [value.w for value in ours])
        # Three steps, each with some hundred additions in another order.
        np.testing.assert_allclose(by_torch, by_us, rtol=0, atol=1e-14)
        np.testing.assert_allclose(by_us, serial.w, rtol=0, atol=1e-14)
        np.testing.assert_allclose(losses, [ours[value_of_last(make)].losses], rtol=1e-13)
        np.testing.assert_allclose(losses, [serial.losses], rtol=1e-13)
    scaled = train(model, X, y, Straight(RATE / M, ROWS))  # torch divides by M, or does not
    assert np.abs(scaled.w - serial.w).max() > 1e-3


def value_of_last(make):
    """Return the rank of the last stage, which knows the losses."""
    return make(2, M).placement[-1]
