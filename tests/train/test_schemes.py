"""Every scheme of the catalogue trains, stops and goes on, to the bit as if it had not stopped."""

import re
from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest
import torch

from course_lib import run
from course_lib.cli.train import main
from course_lib.pipelines import SCHEDULES
from course_lib.trace.trace import Trace
from course_lib.train.catalogue import OPTIONS, SCHEMES
from course_lib.train.checkpoint import load, save
from course_lib.train.problems import MODELS, load_data
from course_lib.train.worker import work
from course_lib.training import AdamW, Cosine, Plan, from_torch
from tests.train.tasks import (
    CASES,
    PLAN,
    WORKERS,
    bits_in,
    few_digits,
    task_of,
    trained,
    workers_of,
)

HALF = replace(PLAN, epochs=3)
# Averaging models after each step is averaging gradients: momentum is linear, shares are equal.
AS_SERIAL = {"every": 1}
# They cut a network into stages, or its layers into parts.
IN_STAGES = ("model_parallel", "pipeline")
DIVIDED = ("sharded", "split_weights", "hybrid")
# Their epochs have no end that all ranks share.
UNSETTLED = tuple(name for name, scheme in SCHEMES.items() if not scheme.settles)
# They are other algorithms.
OTHERS = ("one_shot_averaging", "diloco", "gossip", "compressed", "hogwild")
# The rest train networks only; all have tests of their own.
OTHERWISE = (*OTHERS, "nn_data_parallel", *IN_STAGES, *DIVIDED, *UNSETTLED)
# One does nothing for a model of one layer, the other cannot train it.
NETWORKS_ONLY = ("priority", "nn_data_parallel")


def test_every_scheme_and_every_option_has_its_case():
    assert list(CASES) == list(SCHEMES)
    for name, scheme in SCHEMES.items():
        assert set(CASES[name]) == set(scheme.options) <= set(OPTIONS)


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name not in UNSETTLED])
def test_a_training_in_two_parts_is_the_whole_training_to_the_bit(scheme, tmp_path):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    whole.mkdir()
    halves.mkdir()
    plan, model = PLAN, "logistic"
    if scheme in NETWORKS_ONLY:
        plan, model = replace(PLAN, batch_size=200), "mlp"  # networks take long
    if scheme in IN_STAGES:
        plan, model = replace(PLAN, batch_size=200), "deep_mlp"
    task = partial(trained, scheme, model=model)
    if scheme in DIVIDED:
        plan = replace(PLAN, batch_size=105, learning_rate=0.05)
        task = partial(trained, scheme, model=SCHEMES[scheme].models[0], data=few_digits())
    rows = task(whole, plan=plan)
    task(halves, plan=replace(plan, epochs=3))
    assert bits_in(halves) != bits_in(whole)
    parts = task(halves, plan=plan, resume=True)
    assert bits_in(halves) == bits_in(whole)
    assert [row[:3] for row in parts] == [row[:3] for row in rows]
    assert task(halves, plan=plan, resume=True) == parts  # nothing is left


@pytest.mark.parametrize("scheme", [name for name in UNSETTLED if name != "distbelief"])
def test_one_without_shared_ends_of_epochs_goes_on_from_the_servers_model(scheme, tmp_path):
    plan = replace(PLAN, momentum=0.0, epochs=6)
    whole = trained(scheme, plan=plan)
    first = trained(scheme, tmp_path, plan=replace(plan, epochs=3))
    kept = load(tmp_path)
    (state,) = kept.states[0]
    assert state.n_steps >= 3 * 13 // 5  # where it is in the warm-up
    parts = trained(scheme, tmp_path, plan=plan, resume=True)
    assert parts[:3] == first
    assert len(parts) == len(whole) == 6
    assert parts[-1].loss < first[-1].loss
    # What was on its way is lost, no more: what it comes to is nearly what it would have come to.
    assert parts[-1].loss == pytest.approx(whole[-1].loss, rel=0.15)
    anew = trained(scheme, plan=replace(plan, epochs=3))
    assert parts[3].loss < anew[0].loss - 0.02  # the likely mistake: it begins anew
    assert trained(scheme, tmp_path, plan=plan, resume=True) == parts  # nothing is left


@pytest.mark.parametrize("every", [2, 50])  # 13 steps an epoch: no multiple, and more than all
def test_replicas_that_average_go_on_in_the_schedule_again_and_again(every, tmp_path):
    for epochs in (1, 2, 4, 6):
        plan = replace(PLAN, epochs=epochs)
        trained("asynchronous_averaging", tmp_path, plan=plan, resume=epochs > 1, every=every)
        (state,) = load(tmp_path).states[0]
        assert state.n_steps == epochs * 13 // (WORKERS - 1)


def test_distbelief_goes_on_from_what_its_server_keeps_of_each_machine(tmp_path):
    plan = Plan(0.05, 35, epochs=4)
    train = partial(trained, "distbelief", tmp_path, data=few_digits())
    first = train(plan=replace(plan, epochs=2))
    kept = load(tmp_path)
    assert [state.n_steps for state in kept.states[0]] == [2 * 6] * 3
    kind = MODELS["deep_mlp"]
    loss, _ = kind.evaluate(kind.make(few_digits()), few_digits(), kept.w)
    assert loss == pytest.approx(first[-1].loss)
    as_pieces = np.concatenate([state.w for state in kept.states[0]])  # the likely mistake
    assert kind.evaluate(kind.make(few_digits()), few_digits(), as_pieces)[0] > loss + 0.05
    parts = train(plan=plan, resume=True)
    assert parts[:2] == first
    assert parts[-1].loss < first[-1].loss


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [name for name in UNSETTLED if name != "distbelief"])
@pytest.mark.parametrize("backend", ["simulated", "processes"])
def test_without_waiting_three_epochs_of_digits_are_enough(scheme, backend, capsys):
    words = f"--scheme {scheme} --model mlp --epochs 3 --workers 5 --backend {backend}"
    assert main(words.split()) == 0  # four beside the server
    *_, accuracy = re.findall(r"([0-9.]+) %", capsys.readouterr().out)
    assert float(accuracy) >= 75


EVERYTHING = Plan(
    0.02, 100, 4, weight_decay=0.1, warmup_steps=6, schedule=Cosine(10), clip=0.3, accumulate=2
)


@pytest.mark.parametrize("optimizer", [AdamW, from_torch(torch.optim.NAdam)])
@pytest.mark.parametrize(
    "scheme", ["data_parallel", "sharded_data_parallel", "sharded_parameter_server",
               "parameter_averaging", "priority", "diloco", "compressed"],
)  # fmt: skip
def test_so_is_one_with_another_optimizer_and_all_that_a_plan_can_say(scheme, optimizer, tmp_path):
    without = {name: getattr(Plan(), name) for name in SCHEMES[scheme].without}
    plan = replace(EVERYTHING, **without)
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    whole.mkdir()
    halves.mkdir()
    options = {"optimizer": optimizer, "model": "logistic"}
    trained(scheme, whole, plan=plan, **options)
    trained(scheme, halves, plan=replace(plan, epochs=2), **options)
    kept = load(halves)
    trained(scheme, halves, plan=plan, resume=True, **options)
    assert bits_in(halves) == bits_in(whole)
    # The likely mistakes: the optimizer's state is lost, or its step, which corrects the means.
    for changed in ({"kept": {}}, {"n_steps": 0}):
        states = [[state._replace(**changed) for state in own] for own in kept.states]
        lost = tmp_path / next(iter(changed))
        lost.mkdir()
        save(lost, replace(kept, states=states))
        trained(scheme, lost, plan=plan, resume=True, **options)
        assert np.abs(load(lost).w - load(whole).w).max() > 1e-6


class Endless:
    """A plan that tells a scheme of no epoch's end."""

    def __init__(self, plan):
        self._plan = plan

    def steps_per_epoch(self, n_examples):
        return 10**6

    def __getattr__(self, name):
        return getattr(self._plan, name)


def test_an_exchange_that_is_still_on_its_way_when_an_epoch_ends_would_be_noticed(monkeypatch):
    plan = replace(PLAN, epochs=2, batch_size=200)
    right = trained("priority", plan=plan, model="mlp")
    serial = trained("serial", plan=plan, model="mlp")
    np.testing.assert_allclose([row[1] for row in right], [row[1] for row in serial], 1e-9)
    scheme = SCHEMES["priority"]

    def unsettling(comm, model, X, y, plan, **options):
        return scheme.train(comm, model, X, y, Endless(plan), **options)

    monkeypatch.setitem(SCHEMES, "priority", replace(scheme, train=unsettling))
    unsettled = trained("priority", plan=plan, model="mlp")
    assert all(abs(a.loss / b.loss - 1) > 1e-4 for a, b in zip(unsettled, serial, strict=True))


@pytest.mark.parametrize(
    "forgotten",
    ["the momentum", "the warm-up", "the order of the examples", "a rank's own model", "the step"],
)
def test_going_on_without_one_thing_would_be_noticed(forgotten, tmp_path, monkeypatch):
    scheme = "parameter_averaging"
    trained(scheme, tmp_path, plan=HALF)
    kept = load(tmp_path)
    if forgotten == "the step":  # 39 steps are no multiple of 5: when to average next
        module = import_module("course_lib.schemes.parameter_averaging")
        monkeypatch.setattr(
            module, "enumerate", lambda shares, start: enumerate(shares, start=1), raising=False
        )
    elif forgotten == "the order of the examples":
        rows = [row._replace(epoch=row.epoch - 1) for row in kept.rows[1:]]
        save(tmp_path, replace(kept, rows=rows))
    else:
        model = kept.states[0][0].w
        changed = {
            "the momentum": {"kept": {}},
            "the warm-up": {"n_steps": 0},
            "a rank's own model": {"w": model},
        }[forgotten]
        states = [[state._replace(**changed) for state in own] for own in kept.states]
        save(tmp_path, replace(kept, states=states))
    resumed = trained(scheme, tmp_path, resume=True)
    assert [row[:3] for row in resumed[-3:]] != [row[:3] for row in trained(scheme)[-3:]]


PLACES = {
    "a rank's own model": 0, "the outer parameters": 1, "the outer momentum": 2,
    "the residual": 1, "the last Q": 2,
}  # fmt: skip
"""Where it stands among what a rank keeps."""


@pytest.mark.parametrize(
    ("scheme", "options", "forgotten"),
    [
        ("diloco", {}, "the outer parameters"),
        ("diloco", {}, "the outer momentum"),
        ("compressed", {}, "the residual"),
        ("compressed", {"compressor": "powersgd"}, "the residual"),
        ("compressed", {"compressor": "powersgd"}, "the last Q"),
        ("gossip", {"graph": "hypercube"}, "a rank's own model"),
    ],
)
def test_what_schemes_keep_that_send_less_is_kept_and_would_be_missed(
    scheme, options, forgotten, tmp_path
):
    place = PLACES[forgotten]
    model = "deep_mlp" if "compressor" in options else "logistic"
    data = "digits" if "compressor" in options else "moons"
    plan = Plan(0.02, 100 if data == "moons" else 720, epochs=4)
    task = partial(trained, scheme, model=model, data=data, **options)
    whole, halves, lost = (tmp_path / name for name in ("whole", "halves", "lost"))
    for folder in (whole, halves, lost):
        folder.mkdir()
    task(whole, plan=plan)
    task(halves, plan=replace(plan, epochs=2))
    kept = load(halves)
    task(halves, plan=plan, resume=True)
    assert bits_in(halves) == bits_in(whole)
    states = []
    for own in kept.states:
        w = own[place].w * 0 if place else kept.states[0][0].w
        states.append([*own[:place], own[place]._replace(w=w), *own[place + 1 :]])
    save(lost, replace(kept, states=states))
    task(lost, plan=plan, resume=True)
    assert bits_in(lost) != bits_in(whole)


def train_all(comm, tasks):
    return [work(comm, task) for task in tasks]


def test_every_scheme_ends_every_epoch_where_the_serial_one_does(world):
    plan = replace(PLAN, epochs=2)
    data = load_data("moons")  # by name, each process would have to load scikit-learn first
    tasks = [
        task_of(name, data=data, plan=plan, **(AS_SERIAL if "every" in CASES[name] else {}))
        for name in CASES.keys() - {"serial", *OTHERWISE}
    ]
    found = world(train_all, tasks, workers=WORKERS).values[0]
    serial = trained("serial", plan=plan)
    for task, rows in zip(tasks, found, strict=True):
        # Sums of 4 parts round otherwise; another batch or rate changes the third digit.
        np.testing.assert_allclose(
            [row[1:3] for row in rows], [row[1:3] for row in serial], 1e-9, err_msg=task.scheme
        )
        assert all(row.seconds > 0 for row in rows)
    other = trained("serial", plan=replace(plan, seed=4))
    assert abs(other[-1].loss / serial[-1].loss - 1) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("scheme", IN_STAGES)
@pytest.mark.parametrize("model", ["deep_mlp", "alexnet"])
def test_a_model_in_stages_prints_the_rows_of_the_serial_one(scheme, model):
    """Digits, all schedules and two numbers of workers; a test in ``test_command`` has processes.

    Sums over micro-batches round otherwise; another order of the examples changes the third digit.
    """
    plan = replace(PLAN, epochs=1, learning_rate=0.05, batch_size=58)
    serial = trained("serial", plan=plan, model=model, data=few_digits())
    for workers in (2, 4):
        for schedule in SCHEDULES if scheme == "pipeline" else [None]:
            options = {} if schedule is None else {"schedule": schedule, "microbatches": 4}
            task = task_of(scheme, plan=plan, model=model, data=few_digits(), **options)
            rows = run(work, task, workers=workers, backend="simulated").values[0]
            np.testing.assert_allclose(
                [row[1:3] for row in rows], [row[1:3] for row in serial], 1e-9
            )
    other = trained("serial", plan=replace(plan, seed=4), model=model, data=few_digits())
    assert abs(other[-1].loss / serial[-1].loss - 1) > 1e-4


def traced(scheme, folder=None, epochs=2):
    task = task_of(scheme, folder, plan=replace(PLAN, epochs=epochs))
    return run(work, task, workers=workers_of(scheme), backend="simulated").trace


def tags(trace: Trace) -> list:
    return [message.tag for message in trace.messages]


def test_nothing_is_sent_for_the_account_where_all_ranks_hold_the_same(tmp_path):
    for scheme in ("data_parallel", "parameter_server"):
        assert "state" not in tags(traced(scheme, tmp_path))
    for scheme in ("parameter_averaging", "sharded_parameter_server"):
        assert tags(traced(scheme)).count("state") == 2 * 3  # an epoch, a rank other than 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [*IN_STAGES, *DIVIDED])
def test_who_holds_a_part_sends_it_to_nobody_but_for_a_checkpoint(scheme, tmp_path):
    plan = replace(PLAN, epochs=2, batch_size=720)
    for folder, n_kept in ((None, 0), (tmp_path, 2)):
        task = task_of(scheme, folder, plan=plan, model="deep_mlp", data="digits")
        trace = run(work, task, workers=WORKERS, backend="simulated").trace
        assert tags(trace).count("state") == n_kept * (WORKERS - 1)


def test_an_epochs_virtual_time_is_that_of_its_steps_alone():
    steps = 13
    rows = trained("data_parallel", plan=replace(PLAN, epochs=3))
    once = trained("data_parallel", plan=replace(PLAN, epochs=1))
    assert rows[1].seconds == pytest.approx(rows[2].seconds, rel=1e-9)
    assert rows[0].seconds == once[0].seconds > rows[1].seconds  # and the first broadcast
    assert rows[1].seconds > steps * 6 * 20e-6  # a ring of 4 on ethernet_10g has 6 rounds


def test_a_plan_from_a_later_epoch_on_has_the_same_steps_as_the_end_of_the_whole_plan():
    whole = [share.examples.tolist() for share in PLAN.shares(100, rank=1, size=3)]
    later = replace(PLAN, first_epoch=4)
    end = [share.examples.tolist() for share in later.shares(100, rank=1, size=3)]
    assert later.steps_per_epoch(100) == 4  # 100 examples in batches of 32
    assert end == whole[16:] != whole[:8]
