"""What a race and a landscape are drawn from: runs as points, nothing that did not happen."""

import json

import numpy as np
import pytest

from course_lib import run
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes import data_parallel, downpour, hogwild, parameter_averaging
from course_lib.training import Plan
from course_lib.viz import chart, landscape, loss_curve, race
from course_lib.viz.animation.landscape import walks_of
from course_lib.viz.charts.chart_still import chart_still
from course_lib.viz.charts.landscape_still import landscape_still
from course_lib.viz.charts.race_still import race_still
from course_lib.viz.colours import SOFT_GREY, curve_looks

X = np.linspace(-1, 1, 32)[:, None]
Y = 1 + 2 * X[:, 0] + np.sin(40 * X[:, 0])
LINE = LinearRegression(1)
PLAN = Plan(learning_rate=0.2, batch_size=8, epochs=2)


def falling(comm, rate, sums=False):
    for step in range(4):
        if sums:
            comm.note("checksum", float(comm.rank if rate > 0.6 else step))
        comm.send(np.zeros(2), (comm.rank + 1) % comm.size)
        comm.recv((comm.rank - 1) % comm.size)
        comm.note("loss_partial", rate**step / comm.size)


def simulated(program, *arguments, workers=2):
    return run(program, *arguments, workers=workers, backend="simulated")


def test_a_race_counts_updates_seconds_bytes_and_epochs():
    made = simulated(falling, 0.5)
    drawn = race({"half": made}, steps_per_epoch=2).race
    (runner,) = drawn["runners"]
    assert [axis["key"] for axis in drawn["axes"]] == ["updates", "seconds", "bytes", "epochs"]
    assert runner["loss"] == [1, 0.5, 0.25, 0.125]
    assert runner["updates"] == [1, 2, 3, 4]
    assert runner["epochs"] == [0.5, 1, 1.5, 2]
    assert runner["bytes"] == [32, 64, 96, 128]  # two ranks, 16 bytes a step each
    assert drawn["axes"][2]["unit"] == "bytes"
    factor = {"s": 1, "ms": 1e-3, "µs": 1e-6}[drawn["axes"][1]["unit"]]
    assert runner["seconds"][-1] * factor == pytest.approx(made.elapsed_s, rel=1e-4)


def test_what_is_no_run_is_told_by_its_type():
    result = run(falling, 0.5, workers=2, backend="simulated")
    with pytest.raises(TypeError, match=r'runs by their names, got Result; \{"my run"'):
        race(result)
    with pytest.raises(TypeError, match=r"trace must be a Trace, got Result; its \.trace is one"):
        loss_curve(result)
    with pytest.raises(TypeError, match="trace must be a Trace, got int"):
        race({"a number": 3})


def test_a_race_of_runs_without_messages_has_no_axis_of_bytes():
    alone = simulated(lambda comm: comm.note("loss_partial", 1.0), workers=1)
    assert [axis["key"] for axis in race({"alone": alone}).race["axes"]] == ["updates", "seconds"]


def test_several_seeds_are_a_median_and_thin_curves():
    drawn = race({"rates": [simulated(falling, rate) for rate in (0.1, 0.5, 0.9)]}).race
    assert drawn["runners"][0]["loss"] == [1, 0.5, 0.25, 0.125]
    assert [seed["of"] for seed in drawn["seeds"]] == [0, 0, 0]


def test_replicas_lie_apart_as_far_as_what_their_ranks_noted_step_by_step():
    runs = {"alike": simulated(falling, 0.5, True), "apart": simulated(falling, 0.9, True)}
    drawn = race(runs, replicas=True).race["runners"]
    assert drawn[0]["apart"] == [0, 0, 0, 0]
    assert drawn[1]["apart"] == [1, 1, 1, 1]
    assert "apart" not in race(runs).race["runners"][1]


def test_a_checksum_noted_before_the_first_step_belongs_to_no_update():
    def noted_before(comm):
        for step in range(4):
            comm.note("checksum", float(comm.rank * (4 - step)))
            if step:
                comm.note("loss_partial", 1.0)

    drawn = race({"meeting": simulated(noted_before)}, replicas=True).race["runners"][0]
    assert drawn["apart"] == [3, 2, 1], "not 4 3 2: that is where they were before their updates"


def test_what_others_are_compared_with_is_grey_and_leaves_its_colour_to_them():
    runs = {"as usual": simulated(falling, 0.5), "other": simulated(falling, 0.9)}
    drawn = race(runs, reference="as usual").race["runners"]
    assert [one.get("reference", False) for one in drawn] == [True, False]
    colours = [look["color"] for look in curve_looks(drawn)]
    assert colours == [SOFT_GREY, curve_looks(drawn[1:])[0]["color"]]
    curves = {"as usual": [(0, 1), (1, 2)], "other": [(0, 2), (1, 3)]}
    assert [one.get("reference") for one in chart(curves, reference="other").chart["lines"]] == [
        None, True,
    ]  # fmt: skip
    for wrong in (lambda: race(runs, reference="none"), lambda: chart(curves, reference="none")):
        with pytest.raises(ValueError, match="reference must name one of"):
            wrong()


def test_a_long_race_keeps_its_last_point_and_stays_small():
    def long(comm):
        for step in range(2_000):
            comm.note("loss_partial", 1 / (step + 1))

    drawn = race({"long": simulated(long, workers=1)}).race
    assert drawn["runners"][0]["updates"][-1] == 2_000
    assert len(json.dumps(drawn)) < 60_000


def test_a_race_without_runs_or_losses_is_refused():
    with pytest.raises(ValueError, match="at least one run by each name, got none by 'a'"):
        race({"a": []})
    with pytest.raises(ValueError, match="runs must hold at least one"):
        race({})
    with pytest.raises(ValueError, match="must be the name of notes"):
        race({"silent": simulated(lambda comm: None)})


def test_a_race_has_gaps_where_a_loss_is_no_finite_number():
    def diverged(comm):
        for loss in (1.0, float("inf"), float("nan"), 0.0, 2.0):
            comm.note("loss_partial", loss / comm.size)
            comm.note("checksum", loss * comm.rank)

    made = race({"it": simulated(diverged)}, replicas=True, target=0.5)
    (runner,) = made.race["runners"]
    assert runner["loss"] == [1, None, None, 0, 2]
    assert runner["apart"] == [1, None, None, 0, 2], "they are not alike"
    assert json.dumps(made.race, allow_nan=False)
    lines = race_still(made.race).axes[0].lines
    crosses = [line.get_xydata().tolist() for line in lines if line.get_marker() == "x"]
    assert crosses == [[[2, 1]], []]


def legend_of(made):
    return [text.get_text() for text in race_still(made.race).axes[0].get_legend().get_texts()]


def test_who_is_at_the_target_says_when_on_every_axis():
    runs = {"half": simulated(falling, 0.5), "most": simulated(falling, 0.9)}
    made = race(runs, target=0.3, steps_per_epoch=2)
    half, most = made.race["runners"]
    third = half["seconds"][2]
    unit = made.race["axes"][1]["unit"]
    assert half["there"] == {
        "updates": (3, "there after 3 updates"),
        "seconds": (third, f"there after {third:.3g} {unit}"),
        "bytes": (96, "there after 96 bytes"), "epochs": (1.5, "there after 1.5 epochs"),
    }  # fmt: skip
    assert "there" not in most, "its loss is never below 0.7"
    assert legend_of(made) == ["half, there after 3 updates", "most"]
    assert legend_of(race(runs)) == ["half", "most"], "without a target nobody is there"


def test_when_a_long_race_was_at_the_target_is_not_rounded_to_the_points_that_are_drawn():
    def long(comm):
        for step in range(2_000):
            comm.note("loss_partial", 1 / (step + 1))

    made = race({"long": simulated(long, workers=1)}, target=1 / 1234)
    (runner,) = made.race["runners"]
    assert 1234 not in runner["updates"]
    assert runner["there"]["updates"] == (1234, "there after 1,234 updates")


def test_a_target_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="target must be a finite number or None, got nan"):
        race({"half": simulated(falling, 0.5)}, target=float("nan"))


def test_runs_that_have_all_diverged_are_refused():
    def diverged(comm):
        comm.note("loss_partial", float("nan"))

    with pytest.raises(ValueError, match="a loss that is a finite number, got none"):
        race({"a": simulated(diverged)})


@pytest.mark.parametrize(("scheme", "n_walks"), [(data_parallel, 1), (hogwild, 4)])
def test_replicas_that_are_always_together_are_one_dot(scheme, n_walks):
    walks = walks_of("it", simulated(scheme, LINE, X, Y, PLAN, workers=4), (0.0, 0.0))
    assert len(walks) == n_walks
    assert walks[0]["replicas"] == (4 if n_walks == 1 else 1)
    assert (walks[0]["x"][0], walks[0]["y"][0]) == (0, 0)


def test_a_walk_ends_where_the_training_ended():
    made = simulated(data_parallel, LINE, X, Y, PLAN, workers=4)
    (walk,) = walks_of("it", made)
    assert (walk["x"][-1], walk["y"][-1]) == pytest.approx(tuple(made.values[0].w), rel=1e-4)
    assert len(walk["t"]) == 8


def test_averaged_replicas_spread_and_meet():
    walks = walks_of("it", simulated(parameter_averaging, LINE, X, Y, PLAN, 4, workers=4))
    places = np.array([[walk["x"], walk["y"]] for walk in walks])  # replica, coordinate, note
    spread = np.ptp(places, axis=0).max(axis=0)
    assert list(spread < 1e-9) == [False] * 4 + [True] + [False] * 4 + [True]


def test_an_arrow_begins_where_the_stale_gradient_was_computed():
    made = simulated(downpour, LINE, X, Y, PLAN, workers=4)
    trace = made.trace
    (walk,) = walks_of("it", trace, (0.0, 0.0))
    ages = [note.value for note in trace.notes_named("staleness")]
    old = [k for k, age in enumerate(ages, start=1) if age]
    assert len(walk["arrows"]) == len(old) > 2
    for k, (time_s, x, y) in zip(old, walk["arrows"], strict=True):
        assert time_s == walk["t"][k]
        assert (x, y) == (walk["x"][k - 1 - ages[k - 1]], walk["y"][k - 1 - ages[k - 1]])


def test_heights_and_losses_are_those_of_the_model():
    picture = landscape({"down": [[0.0, 0.0], [1.0, 2.0]]}, (LINE, X, Y), x_range=(0, 2))
    drawn = picture.landscape
    expected = [LINE.loss(np.array(w), (X, Y)) for w in ([0.0, 0.0], [1.0, 2.0])]
    assert drawn["walks"][0]["loss"] == pytest.approx(expected, rel=1e-4)
    assert drawn["unit"] == "steps"
    assert (min(drawn["heights"]), max(drawn["heights"])) == (0, 255)
    assert len(drawn["heights"]) == drawn["columns"] * drawn["rows"]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ({}, "runs must hold at least one"),
        ({"a": [[1.0, 2.0, 3.0]]}, r"must have shape \(steps, 2\)"),
        ({"a": "silent"}, 'has no note "w" of two numbers'),
    ],
)
def test_what_cannot_be_walked_is_refused(runs, text):
    if runs.get("a") == "silent":
        runs = {"a": simulated(lambda comm: None)}
    with pytest.raises(ValueError, match=text):
        landscape(runs, lambda a, b: a**2 + b**2)


def test_a_walk_that_diverges_is_cut_where_it_leaves_what_can_be_drawn():
    """A rate three times too large: after 99 steps beyond 1e30, after 511 no finite loss."""
    path = [(3.0 * (-2.0) ** k, 0.9**k) for k in range(700)]
    made = landscape({"rate 3": path, "good": path[:2]}, lambda a, b: a**2 + b**2)
    cut, whole = made.landscape["walks"]
    assert (len(cut["x"]), cut["left"], whole["left"]) == (99, "after step 98", False)
    assert len(made.landscape["lines"]) > 5
    assert json.dumps(made.landscape, allow_nan=False)
    (axes,) = landscape_still(made.landscape).axes
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert told == ["rate 3 (leaves what can be drawn after step 98)", "good"]
    lost = landscape({"r": [(0, 0), (1, 1), (float("nan"), 1), (2, 2)]}, lambda a, b: a + b)
    assert lost.landscape["walks"][0]["x"] == [0, 1]
    with pytest.raises(ValueError, match=r"runs\['r'\] must begin at two numbers .*\(nan, 1.0\)"):
        landscape({"r": [(float("nan"), 1)]}, lambda a, b: a + b)


def test_a_surface_may_be_constant_or_have_no_height_in_places():
    walk = {"r": [(-1.0, 1.0), (1.0, 1.0)]}
    for flat in (lambda a, b: 0 * a, lambda a, b: 3.0):
        drawn = landscape(walk, flat)
        assert (drawn.landscape["lines"], set(drawn.landscape["heights"])) == ([], {0})
        assert drawn.still().startswith(b"\x89PNG")
    log = landscape(walk, lambda a, b: np.log(a) + b).landscape
    assert log["walks"][0]["loss"] == [None, 1]
    assert log["lines"]
    assert json.dumps(log, allow_nan=False)
    with pytest.raises(ValueError, match="surface must have finite heights between"):
        landscape(walk, lambda a, b: np.nan * a)
    with pytest.raises(ValueError, match="x_range must be two numbers"):
        landscape(walk, lambda a, b: a, x_range=(0, float("inf")))


def test_both_say_what_they_are_and_have_a_still():
    made = simulated(data_parallel, LINE, X, Y, PLAN)
    pictures = race({"it": made}), landscape({"it": made}, (LINE, X, Y))
    assert repr(pictures[0]) == "Race(it (8 updates))"
    assert repr(pictures[1]) == "Landscape(it (1 dot))"
    for picture in pictures:
        assert picture.still().startswith(b"\x89PNG")


@pytest.mark.parametrize("places", [(1.2e5, 2.6e5), (2.6e5, 3.2e5), (2e3, 3e3)])
def test_names_of_points_on_one_height_are_not_written_over_each_other(places):
    names = dict(zip(("n* by lecture 00", "n* by the fit"), places, strict=True))
    marked = chart(
        {"ring": [(1e3, 0.5), (2e6, 2.0)]}, x_log=True,
        points={name: (x, 1.0) for name, x in names.items()},
    )  # fmt: skip
    figure = chart_still(marked.chart)
    figure.canvas.draw()
    axes = figure.axes[0]
    first, second = (text.get_window_extent() for text in axes.texts if text.get_text() in names)
    (at, _), (other, _) = axes.transData.transform([(x, 1.0) for x in places])
    assert not first.overlaps(second)
    for name, here, there in ((first, at, other), (second, other, at)):
        assert min(abs(name.x0 - here), abs(name.x1 - here)) < abs(there - here), "its own point's"
    assert other < at + first.width, "both right of their points they would overlap"
