"""Models in parts: the steps of the whole model, and the time that the schedule says."""

import re
import weakref
from collections import defaultdict
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.comm.errors import RunError
from course_lib.models.alexnet import alexnet
from course_lib.models.chain import Chain, ThreeFlops
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.mlp import mlp
from course_lib.models.torch_passes import loss_and_slope
from course_lib.pipelines import (
    SCHEDULES,
    Action,
    Schedule,
    evaluate,
    gpipe,
    interleaved,
    one_f_one_b,
    zb_v,
)
from course_lib.schemes import model_parallel, pipeline, train
from course_lib.schemes.pipeline import joined
from course_lib.training import AdamW, Cosine, Plan
from course_lib.training.stages import Stage, cut_by_flops, cut_into_stages
from course_lib.words.split import split_evenly

MODELS = {"deep_mlp": deep_mlp(64, *[9] * 7, 10), "alexnet": alexnet(2, 6)}
ROWS = 101
PLAN = Plan(learning_rate=0.05, batch_size=24, epochs=4, momentum=0.5, warmup_steps=3)
N_STEPS = 20  # in batches of 24, 24, 24, 24 and 5
# 20 steps, each with some hundred additions in another order; a mistake below is at least 10 x off.
TOLERANCE = 1e-13


def examples(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 64)), rng.integers(0, 10, size=rows)


def trained(make, model, data, plan, M, P):
    values = run(pipeline, model, *data, plan, make, M, workers=P, backend="simulated").values
    w = joined(make(P, M), model, [value.w for value in values])
    return w, np.sum([value.losses for value in values], axis=0)


def by_hand(model, X, y, plan, M, mistake=None):
    """Train on one machine with micro-batches, right or with one of the mistakes that one makes."""
    w = model.initial(plan.seed)
    velocity, old = w * 0, w.copy()
    for step, (rows, _) in enumerate(plan.shares(len(y))):
        micro = [rows[cut] for cut in split_evenly(len(rows), M) if len(rows[cut])]
        grad = w * 0
        for number, part in enumerate(micro):
            if mistake == "the last micro-batch is missing" and number == len(micro) - 1:
                continue
            weight = len(part) / len(rows)
            weight = {"means added up": 1.0, "mean of means": 1 / len(micro)}.get(mistake, weight)
            at = old if mistake == "stale weights" else w
            grad += model.gradient(at, (X[part], y[part]), weight)[1]
        old = w.copy()
        velocity = plan.momentum * velocity + grad
        w -= plan.rate(step) * velocity
    return w


MISTAKES = (
    "means added up", "mean of means", "the last micro-batch is missing", "stale weights",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "M", "sizes"),  # 6 divides the batch, 7 does not; neither the last one
    [("deep_mlp", 6, (2, 4)), ("deep_mlp", 7, (1, 2, 3, 4)), ("alexnet", 7, (4,))],
)
def test_twenty_steps_are_those_of_the_unsplit_model_whatever_the_schedule(name, M, sizes):
    model, data = MODELS[name], examples()
    serial = train(model, *data, PLAN)
    assert len(serial.losses) == N_STEPS
    found = {
        (schedule, P): trained(make, model, data, PLAN, M, P)
        for schedule, make in SCHEDULES.items()
        for P in sizes
        if schedule != "interleaved" or M % (M // P) == 0
    }
    for w, losses in found.values():
        np.testing.assert_allclose(w, serial.w, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(losses, serial.losses, rtol=1e-12)
        # All add up micro-batches in their order, so neither schedule nor cut changes a bit.
        assert w.tobytes() == found["1f1b", sizes[0]][0].tobytes()
    for mistake in MISTAKES if name == "deep_mlp" else ["stale weights"]:
        if mistake == "mean of means" and M == 6:
            continue  # no mistake where all are equally large
        w = by_hand(model, *data, PLAN, M, mistake)
        assert np.abs(w - serial.w).max() > 1e6 * TOLERANCE, mistake
    assert np.abs(by_hand(model, *data, PLAN, M) - serial.w).max() < TOLERANCE


@pytest.mark.slow
@given(
    name=st.sampled_from(sorted(SCHEDULES)),
    P=st.integers(1, 4),
    M=st.integers(1, 9),
    batch_size=st.integers(9, 30),
    rows=st.integers(9, 40),
    rendezvous=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_any_numbers_give_the_unsplit_models_step(name, P, M, batch_size, rows, rendezvous):
    if name in ("interleaved", "zb_h1") and (M < P or M % (M // P)):
        M *= P
        batch_size, rows = max(batch_size, M), max(rows, M)
    model, (X, y) = deep_mlp(5, *[4] * 7, 3), examples(rows)
    X, y, plan = X[:, :5], y % 3, Plan(0.1, batch_size, epochs=2, momentum=0.9)
    serial = train(model, X, y, plan)
    options = {"workers": P, "backend": "simulated", "rendezvous": rendezvous, "trace": True}
    result = run(pipeline, model, X, y, plan, SCHEDULES[name], M, **options)
    w = joined(SCHEDULES[name](P, M), model, [value.w for value in result.values])
    np.testing.assert_allclose(w, serial.w, rtol=0, atol=TOLERANCE)
    losses = np.sum([value.losses for value in result.values], axis=0)
    np.testing.assert_allclose(losses, serial.losses, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("P", [1, 2, 3, 4, 8])
def test_layers_over_workers_are_the_unsplit_model_to_the_bit(name, P):
    """Nobody adds anything up: each number is computed once, somewhere."""
    model, data = MODELS[name], examples()
    serial = train(model, *data, PLAN)
    result = run(model_parallel, model, *data, PLAN, workers=P, backend="simulated", trace=True)
    w = np.concatenate([value.w for value in result.values])
    assert w.tobytes() == serial.w.tobytes()
    assert [value.losses for value in result.values][-1] == serial.losses
    assert result.trace.n_messages == N_STEPS * 2 * (P - 1)


# What a rank has


class Watched(Chain):
    """A chain that counts whose parameters are made, and never makes all of them."""

    def initial_of(self, number, seed=0):
        self.made.append(number)
        return super().initial_of(number, seed)

    def initial(self, seed=0):
        raise AssertionError("the whole model")


def layers_made(comm, scheme, data, *more):
    model = Watched(MODELS["deep_mlp"].parts, (64,))
    model.made = []
    value = scheme(comm, model, *data, PLAN, *more)
    return model.made, len(value.w), value.losses


@pytest.mark.parametrize(
    ("scheme", "more", "homes"),
    [
        (model_parallel, (), [[0, 1], [2, 3], [4, 5], [6, 7]]),
        (pipeline, (one_f_one_b, 4), [[0, 1], [2, 3], [4, 5], [6, 7]]),
        (pipeline, (interleaved, 4), [[0, 4], [1, 5], [2, 6], [3, 7]]),
        (pipeline, (zb_v, 4), [[0, 7], [1, 6], [2, 5], [3, 4]]),
    ],
    ids=["model_parallel", "1f1b", "interleaved", "zb_v"],
)
def test_no_rank_makes_more_than_its_own_layers(scheme, more, homes):
    found = run(layers_made, scheme, examples(), *more, workers=4, backend="simulated").values
    layers = MODELS["deep_mlp"].layers
    assert [made for made, _, _ in found] == homes
    assert [n for _, n, _ in found] == [sum(layers[k].n_parameters for k in own) for own in homes]
    last = [7 in own for own in homes].index(True)
    assert [any(losses) for _, _, losses in found] == [rank == last for rank in range(4)]


# Messages and activations


def one_step(make, P, M, model, rows, network=None, *data):
    data = data or examples(rows)
    plan = Plan(batch_size=rows)
    return run(
        pipeline, model, *data, plan, make, M, workers=P, backend="simulated", network=network,
        trace=True,
    ).trace  # fmt: skip


@pytest.mark.parametrize("P", [2, 4])
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("of", MODELS)
def test_messages_and_bytes_are_those_of_the_cuts_and_no_parameter_travels(name, P, of):
    model, rows, M = MODELS[of], 21, 8
    schedule = SCHEDULES[name](P, M)
    trace = one_step(SCHEDULES[name], P, M, model, rows)
    assert trace.n_messages == schedule.n_messages == 2 * M * schedule.cuts
    cuts = [
        int(np.prod(model.shapes[layers.start]))  # numbers of an example that cross
        for stage, layers in enumerate(cut_into_stages(model, schedule.n_stages))
        if stage and schedule.placement[stage - 1] != schedule.placement[stage]
    ]
    assert trace.n_bytes == sum(2 * rows * 8 * numbers for numbers in cuts)


@pytest.mark.parametrize("P", [1, 2, 4])
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_activations_that_a_rank_holds_are_counted(name, P):
    schedule = SCHEDULES[name](P, 8)
    notes = one_step(SCHEDULES[name], P, 8, MODELS["deep_mlp"], 16).notes_named("activations_held")
    for rank in range(P):
        found = [note.value for note in notes if note.rank == rank]
        own = zip(schedule.orders[rank], schedule.held(rank), strict=True)
        assert found == [n for action, n in own if action.kind != "I"]
        assert max(found) == schedule.peak(rank) * schedule.n_stages / P


def test_a_stage_lets_go_of_what_it_no_longer_needs():
    stage = Stage(MODELS["deep_mlp"], range(1, 3))
    given = [np.ones((2, 9)) * m for m in range(3)]
    slopes = [np.ones((2, 9)) * m for m in range(3)]
    alive = [(weakref.ref(x), weakref.ref(slope)) for x, slope in zip(given, slopes, strict=True)]
    for m in range(3):
        stage.forward(given.pop(0), m)
    assert stage.n_held == 3
    stage.input_gradient(slopes.pop(1), 1)
    assert stage.n_held == 3
    assert alive[1][0]() is not None
    assert alive[1][1]() is not None
    stage.weight_gradient(1)
    assert stage.n_held == 2
    assert [ref() for ref in alive[1]] == [None, None]
    assert alive[0][0]() is not None
    assert stage.grad.any()


# Time


class Sized:
    """A layer that costs so many flops and computes next to nothing."""

    n_parameters = 1

    def __init__(self, name, flops):
        self.name, self._flops = name, flops

    def output_shape(self, input_shape):
        return input_shape

    def initial(self, rng):
        return np.zeros(1)

    def forward(self, w, x):
        return x, None

    def input_gradient(self, w, saved, dy):
        return dy

    def weight_gradient(self, saved, dy):
        return np.zeros(1)

    def flops(self, n_examples):
        return ThreeFlops(*(n_examples * n for n in self._flops))


def free_network(latency_s=0.0):
    """Messages of any size take a latency and no more; a flop takes a second."""
    return networks.Network("free", latency_s, float("inf"), flops_per_s=1.0)


def spans(trace):
    """When each action began and ended."""
    found = {}
    for span in trace.computes:
        if told := re.search(r"(\d+)([FIWB])(\d+)$", span.label):
            stage, kind, m = told.groups()
            found[Action(kind, int(stage), int(m))] = (span.start_s, span.end_s)
    return found


@pytest.mark.parametrize("latency_s", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("P", [1, 2, 4])
@pytest.mark.parametrize("name", SCHEDULES)
def test_in_virtual_time_everything_happens_when_the_schedule_says(name, P, latency_s):
    """Layers of different costs, and micro-batches of different sizes: all whole numbers."""
    M, rows = 8, 11
    model = Chain([Sized(f"{k}", (2 + k % 3, 3, 1 + k % 2)) for k in range(8)], (64,))
    schedule = SCHEDULES[name](P, M)
    stages = [Stage(model, layers) for layers in cut_into_stages(model, schedule.n_stages)]
    sizes = [cut.stop - cut.start for cut in split_evenly(rows, M)]

    def duration(action):
        return int(stages[action.stage].flops(action.kind, sizes[action.microbatch]))

    expected = evaluate(schedule, duration, latency_s)
    found = spans(one_step(SCHEDULES[name], P, M, model, rows, free_network(latency_s)))
    assert {action: span[0] for action, span in found.items()} == expected.begins
    assert {action: span[1] for action, span in found.items()} == expected.ends


@pytest.mark.parametrize("name", SCHEDULES)
def test_executed_pipelines_are_as_fast_as_the_literature_says(name):
    """F = I = W = 1 for a rank's part; what the first layer is spared costs nothing here."""
    P, M = 4, 8
    schedule = SCHEDULES[name](P, M)
    v = schedule.n_stages // P
    layers = [Sized(f"{k}", (0,) * 3 if k % 2 == 0 else (4 / v,) * 3) for k in range(2 * v * P)]
    found = spans(one_step(SCHEDULES[name], P, M, Chain(layers, (64,)), M, free_network()))
    makespan = max(end for _, end in found.values()) / 4
    bubble = {"gpipe": 9, "1f1b": 9, "interleaved": 4.5, "zb_h1": 3, "zb_v": 1.5}[name]
    assert makespan == schedule.times().makespan == 3 * M + bubble


def test_a_cut_by_operations_is_faster_and_the_same_steps():
    """A wide layer between narrow ones: as many layers a stage leave one rank most of the work."""
    model, (X, y), plan = deep_mlp(64, 8, 90, 90, 90, 8, 8, 8, 10), examples(24), Plan(0.05, 24)
    flops = [sum(part.flops(1)) for part in model.parts]
    slowest, found = {}, {}
    for cut in (cut_into_stages, cut_by_flops):
        slowest[cut] = max(sum(flops[k] for k in layers) for layers in cut(model, 4))
        result = run(
            partial(pipeline, cut=cut), model, X, y, plan, one_f_one_b, 8, workers=4,
            backend="simulated", network=free_network(),
        )  # fmt: skip
        w = joined(one_f_one_b(4, 8), model, [value.w for value in result.values], cut)
        np.testing.assert_allclose(w, train(model, X, y, plan).w, rtol=0, atol=TOLERANCE)
        found[cut] = result.elapsed_s
    assert slowest[cut_by_flops] == flops[2] < 0.8 * slowest[cut_into_stages]
    assert found[cut_by_flops] < 0.8 * found[cut_into_stages]


@pytest.mark.parametrize("P", [1, 2, 4])
def test_without_micro_batches_one_computes_and_the_others_wait(P):
    """Forward each rank waits for the one before it, back for the one behind: busy 1/P."""
    model = Chain([Sized(f"{k}", (3, 3 if k else 0, 3)) for k in range(4)], (64,))
    plan = Plan(batch_size=5)
    trace = run(
        model_parallel, model, *examples(5), plan, workers=P, backend="simulated",
        network=free_network(), trace=True,
    ).trace  # fmt: skip
    busy = defaultdict(float)
    steps = [span for span in trace.computes if span.label != "update"]
    for span in steps:
        busy[span.rank] += span.end_s - span.start_s
    by_time = sorted(steps, key=lambda span: (span.start_s, span.end_s))
    for before, after in pairwise(by_time):
        assert before.end_s <= after.start_s  # never two at once
    whole_s = max(span.end_s for span in steps)
    assert whole_s == sum(busy.values()) == 5 * (9 * 4 - 3)  # one layer is the first
    assert np.mean([busy[rank] for rank in range(P)]) == whole_s / P


@st.composite
def any_schedule(draw):
    """Stages anywhere, whole and halved backward passes mixed, in any order that can be done."""
    P, M = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    others = draw(st.lists(st.integers(0, P - 1), max_size=3))
    placement = tuple(draw(st.permutations([*range(P), *others])))
    left = set()
    for stage in range(len(placement)):
        for m in range(M):
            kinds = "FB" if draw(st.booleans()) else "FIW"
            left |= {Action(kind, stage, m) for kind in kinds}
    done, orders = set(), [[] for _ in range(P)]
    while left:
        ready = sorted(a for a in left if done.issuperset(a.needs(len(placement))))
        action = draw(st.sampled_from(ready))
        left.remove(action)
        done.update(action.made)
        orders[placement[action.stage]].append(action)
    return Schedule("any", tuple(map(tuple, orders)), placement, M)


@pytest.mark.slow
@given(schedule=any_schedule(), rows=st.integers(4, 9), rendezvous=st.booleans())
@settings(max_examples=40, deadline=None)
def test_whatever_order_can_be_done_is_done_and_takes_the_time_worked_out(
    schedule, rows, rendezvous
):
    model = deep_mlp(4, *[3] * 6, 2)
    X, y = examples(rows)
    X, y, plan = X[:, :4], y % 2, Plan(0.5, batch_size=rows, epochs=2)
    options = {"workers": schedule.n_ranks, "backend": "simulated", "network": free_network(0.25)}
    result = run(
        pipeline, model, X, y, plan, lambda *_: schedule, schedule.microbatches,
        rendezvous=rendezvous, trace=True, **options,
    )  # fmt: skip
    w = joined(schedule, model, [value.w for value in result.values])
    np.testing.assert_allclose(w, train(model, X, y, plan).w, rtol=0, atol=TOLERANCE)
    assert result.trace.n_messages == 2 * schedule.n_messages
    stages = [Stage(model, layers) for layers in cut_into_stages(model, schedule.n_stages)]
    sizes = [cut.stop - cut.start for cut in split_evenly(rows, schedule.microbatches)]
    expected = evaluate(
        schedule,
        lambda a: int(stages[a.stage].flops(a.kind, sizes[a.microbatch])),
        0.25,
    )
    first = spans(one_step(lambda *_: schedule, schedule.n_ranks, schedule.microbatches, model,
                           rows, free_network(0.25), X, y))  # fmt: skip
    assert {action: span[1] for action, span in first.items()} == expected.ends


# Real processes


def every_schedule(comm, model, data, plan, M):
    found = [pipeline(comm, model, *data, plan, make, M) for make in SCHEDULES.values()]
    return [*found, model_parallel(comm, model, *data, plan)]


def routes(trace):
    """The tags between each two ranks, in the order of sending."""
    found = defaultdict(list)
    for message in trace.messages:
        found[message.src, message.dst].append(message.tag)
    return found


@pytest.mark.slow
def test_in_every_world_the_same_messages_and_the_same_bits(both_worlds):
    model, data, plan = deep_mlp(64, 9, 9, 9, 10), examples(40), Plan(0.1, 20, momentum=0.9)
    serial = train(model, *data, plan)
    results = [
        world(every_schedule, model, data, plan, 6, workers=2, trace=True) for world in both_worlds
    ]
    for number, make in enumerate([*SCHEDULES.values(), None]):
        parts = [[value[number].w for value in result.values] for result in results]
        wholes = [
            joined(make(2, 6), model, part) if make else np.concatenate(part) for part in parts
        ]
        assert len({w.tobytes() for w in wholes}) == 1
        np.testing.assert_allclose(wholes[0], serial.w, rtol=0, atol=TOLERANCE)
    assert routes(results[0].trace) == routes(results[1].trace) == routes(results[2].trace)


@pytest.mark.slow
def test_messages_that_wait_for_their_receiver_do_not_stop_a_pipeline():
    """Larger than what is sent at once, both ways over one cut at the same time."""
    model, plan = deep_mlp(64, *[700] * 7, 10), Plan(0.1, 40)
    data = examples(40)
    serial = train(model, *data, plan)
    for make in (one_f_one_b, interleaved, zb_v):
        values = run(pipeline, model, *data, plan, make, 8, workers=2, backend="processes").values
        w = joined(make(2, 8), model, [value.w for value in values])
        np.testing.assert_allclose(w, serial.w, rtol=0, atol=TOLERANCE)


# Refusals


def refused(scheme, model, *more, workers=2, plan=PLAN):
    with pytest.raises(RunError) as caught:
        run(scheme, model, *examples(30), plan, *more, workers=workers, backend="simulated")
    assert caught.value.trace.n_messages == 0
    return str(caught.value)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("zb",), "TypeError: schedule must be a function .* such as gpipe .* got 'zb'"),
        ((lambda *_: "mine",), "TypeError: schedule must be a Schedule, as gpipe"),
        ((lambda _, M: gpipe(3, M),), "schedule must be for 2 ranks, got one for 3"),
        ((lambda P, _: gpipe(P, 4),), "schedule must be for 8 micro-batches, got one for 4"),
        ((gpipe, 10**12), "microbatches must be no more than .* of a batch, 24, got 1000000000000"),
        ((gpipe, 0), "microbatches must be an int of 1 or more, got 0"),
        ((partial(interleaved, chunks=5), 8), "a layer for each of 10 stages, got 8 layers"),
        ((interleaved, 1), "microbatches must be as many as there are ranks or more, 2, got 1"),
    ],
)
def test_what_a_pipeline_cannot_be_is_named_before_anything_is_sent(more, told):
    assert re.search(told, refused(pipeline, MODELS["deep_mlp"], *more))


@pytest.mark.parametrize("scheme", [model_parallel, pipeline])
def test_a_model_that_cannot_be_cut_is_refused(scheme):
    told = refused(scheme, MODELS["deep_mlp"], workers=9)
    assert "model must have a layer for each of 9 stages, got 8 layers" in told
    told = refused(scheme, mlp(64, 10))
    assert "TypeError: model must be a Chain" in told
    assert "deep_mlp(64, 32, 32, 10) of course_lib.models.deep_mlp is one" in told


def test_a_circle_of_waiting_is_refused_and_not_waited_for():
    made = gpipe(2, 2)
    orders = (made.orders[0][::-1], made.orders[1])
    circle = type(made)("mine", orders, made.placement, 2)
    told = refused(pipeline, MODELS["deep_mlp"], lambda *_: circle, 2)
    assert "got 0B1 on rank 0, which waits for 0F1 on rank 0 for ever" in told


def test_the_losses_of_micro_batches_add_up_to_the_batchs():
    """Weights of 5, 5 and 4 fourteenths: a mean of means would be another loss."""
    model, (X, y) = MODELS["deep_mlp"], examples(14)
    outputs = model.outputs(model.initial(), X)
    whole = loss_and_slope(outputs, y)[0]
    parts = [loss_and_slope(outputs[cut], y[cut])[0] for cut in split_evenly(14, 3)]
    values = run(
        pipeline, model, X, y, Plan(batch_size=14), gpipe, 3, workers=2, backend="simulated"
    ).values
    assert values[1].losses == pytest.approx([whole], rel=1e-14)
    assert abs(np.mean(parts) - whole) > 1e-6


@pytest.mark.parametrize("scheme", ["model_parallel", "gpipe", "zb_v"])
@pytest.mark.parametrize("P", [1, 2, 4])
def test_clipping_accumulation_and_any_optimizer_are_those_of_the_unsplit_model(scheme, P):
    model, data = MODELS["deep_mlp"], examples()
    plan = Plan(
        learning_rate=0.01, batch_size=24, epochs=2, clip=0.3, accumulate=3, weight_decay=0.1,
        schedule=Cosine(10),
    )  # fmt: skip
    whole = train(model, *data, plan, AdamW)
    if scheme == "model_parallel":
        values = run(
            model_parallel, model, *data, plan, AdamW, workers=P, backend="simulated"
        ).values
        w = np.concatenate([value.w for value in values])
    else:
        make = SCHEDULES[scheme]
        values = run(
            pipeline, model, *data, plan, make, 4, AdamW, workers=P, backend="simulated"
        ).values
        w = joined(make(P, 4), model, [value.w for value in values])
    losses = np.sum([value.losses for value in values], axis=0)
    # Ten steps of Adam, which divides by small numbers.
    np.testing.assert_allclose(w, whole.w, rtol=0, atol=1e-11)
    np.testing.assert_allclose(losses, whole.losses, rtol=1e-11)
    assert len(losses) == 10
    if P > 1:  # each rank clips by its own part's norm
        own = run(
            pipeline, model, *data, plan, gpipe, 4, partial(_OwnNorm, AdamW), workers=P,
            backend="simulated",
        ).values  # fmt: skip
        w = joined(gpipe(P, 4), model, [value.w for value in own])
        assert np.abs(w - whole.w).max() > 1e-6


class _OwnNorm:
    """An optimizer that clips by the norm of the part that it has."""

    def __init__(self, make, w, plan):
        self._stepper = make(w, plan)

    def step(self, grad, norm=None):
        del norm
        self._stepper.step(grad)


@pytest.mark.parametrize("scheme", [pipeline, model_parallel])
def test_what_no_rank_can_be_told_is_refused(scheme):
    plan = Plan(on_epoch=lambda epoch, w: None)
    with pytest.raises(RunError, match="on_epoch must be None"):
        run(scheme, MODELS["deep_mlp"], *examples(), plan, workers=2, backend="simulated")
