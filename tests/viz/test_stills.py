"""Still pictures, tables and curves."""

import io
import subprocess
import sys
from itertools import combinations, pairwise

import numpy as np
import pytest
from PIL import Image

from course_lib.trace.events import Compute, Note
from course_lib.trace.trace import Trace
from course_lib.viz import (
    bars,
    chart,
    curve,
    filmstrip,
    loss_curve,
    mimebundle,
    table,
)
from course_lib.viz.charts.chart_still import chart_still
from course_lib.viz.colours import OKABE_ITO
from course_lib.viz.stills.parts import last_word
from course_lib.viz.stills.stills import timeline_still
from tests.viz.traces import accident, map_reduce, pipelined, ring


@pytest.mark.parametrize(
    ("text", "room", "left"),
    [("forward 0F3", 20, "forward 0F3"), ("forward 0F3", 5, "0F3"), ("trial 12", 3, "12"),
     ("3 @ 9", 3, "3"), ("F0 stage 1", 4, "F0"), ("", 3, "")],
)  # fmt: skip
def test_of_a_name_without_room_what_cannot_be_taken_for_another_number_stays(text, room, left):
    assert last_word(text, room) == left


def test_importing_viz_loads_neither_matplotlib_nor_a_widget_library():
    code = (
        "import sys, course_lib.viz\n"
        "import course_lib.viz.animation.snapshot, course_lib.viz.charts.curves\n"
        "print([name for name in ('matplotlib', 'anywidget', 'ipywidgets') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def labels(figure):
    return {axes.get_xlabel() for axes in figure.axes}


def test_a_timeline_has_a_lane_a_rank_and_names_its_clock():
    figure = timeline_still(map_reduce(4, 1))
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [f"rank {r}" for r in range(4)]
    assert axes.get_xlabel() == "virtual µs"
    assert axes.get_title(loc="left") == "6 messages, 528 B"


@pytest.mark.parametrize(
    ("trace", "names"),
    [
        (lambda: pipelined(halves=True), ["forward", "input gradient", "weight gradient"]),
        (lambda: pipelined(halves=False), ["forward", "backward"]),
        (map_reduce, None),
    ],
)
def test_passes_of_training_have_fills_of_their_own_which_are_named(trace, names):
    axes = timeline_still(trace()).axes[0]
    legend = axes.get_legend()
    assert names == (legend and [text.get_text() for text in legend.get_texts()])
    if legend:
        colours = [patch.get_facecolor() for patch in legend.get_patches()]
        assert len(set(colours)) == len(names)
        drawn = {tuple(c) for part in axes.collections for c in part.get_facecolor()}
        assert set(colours) <= drawn


def test_measured_time_is_called_measured():
    assert labels(timeline_still(accident())) == {"measured ms"}


def test_a_filmstrip_shows_its_moments_with_their_captions():
    figure = filmstrip(map_reduce(4, 1), "star", roles={0: "combiner"}, title="one step")
    written = " ".join(texts(figure)).replace("\n", " ")
    assert "ranks 0, 1, 2 and 3 compute map" in written
    assert "0 combiner" in written
    assert len(figure.axes) == 4 + 1


def test_figures_touch_no_global_state_of_pyplot():
    code = (
        "import sys\nfrom course_lib import Trace\nfrom course_lib.viz import timeline\n"
        "timeline(Trace('simulated', 'virtual', 2)).still()\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "most_kb"),
    [
        (lambda: timeline_still(ring(4)), 30),
        (lambda: timeline_still(map_reduce(4, 100)), 60),
        (lambda: filmstrip(map_reduce(4, 5), "star"), 60),
        (lambda: filmstrip(ring(4)), 60),
        (lambda: filmstrip(ring(16)), 90),
        (lambda: timeline_still(ring(64)), 130),
    ],
)
def test_pictures_are_small_opaque_and_in_the_courses_colours(draw, most_kb):
    png = draw().to_png()
    assert len(png) <= most_kb * 1000
    picture = Image.open(io.BytesIO(png))
    colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}
    ours = [tuple(bytes.fromhex(colour[1:])) for colour in OKABE_ITO]
    assert picture.convert("RGBA").getextrema()[3] == (255, 255)
    assert colours & set(ours)


def test_a_filmstrip_shows_the_moment_at_which_its_playhead_rests():
    trace = map_reduce(4, 1)
    told = [
        [text.get_text() for axes in filmstrip(trace, "star", 3, playhead_s=at).axes
         for text in axes.texts if text.get_text() == f"{0.37 * trace.end_s * 1e6:.2f} µs"]
        for at in (None, 0.37 * trace.end_s)
    ]  # fmt: skip
    assert [len(times) for times in told] == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 64])
@pytest.mark.parametrize("layout", ["ring", "star", "line"])
def test_any_number_of_ranks_can_be_drawn(size, layout):
    assert filmstrip(map_reduce(size, 1), layout).to_png().startswith(b"\x89PNG")


def test_an_empty_trace_can_be_drawn():
    empty = Trace("simulated", "virtual", 2)
    assert timeline_still(empty).to_png().startswith(b"\x89PNG")
    assert filmstrip(empty).to_png().startswith(b"\x89PNG")


NAME_WITH_DOLLARS = "$\\frac{a$, from $5 to $9"  # no formula, and not of valid TeX


def test_dollars_in_a_name_are_dollars():
    notes = [Note(0, NAME_WITH_DOLLARS, 1.0, 0.0), Note(0, NAME_WITH_DOLLARS, 2.0, 1.0)]
    computes = [Compute(rank, NAME_WITH_DOLLARS, 0.0, 0.0, 1.0) for rank in range(2)]
    trace = Trace("simulated", "virtual", 2, computes=computes, notes=notes)
    curves = {NAME_WITH_DOLLARS: [(1.0, 2.0), (2.0, 1.0)]}
    pictures = [
        timeline_still(trace), filmstrip(trace), curve(curves, title=NAME_WITH_DOLLARS),
        bars({NAME_WITH_DOLLARS: [3, 1]}, x_label=NAME_WITH_DOLLARS),
        chart_still(chart({NAME_WITH_DOLLARS: 1.0, "other": 2.0}).chart, NAME_WITH_DOLLARS),
    ]  # fmt: skip
    for picture in pictures:
        assert picture.to_png().startswith(b"\x89PNG")


def test_powers_at_a_logarithmic_axis_are_written_as_powers():
    figure = chart_still(chart({"loss": [(1, 0.001), (2, 100.0)]}, y_log=True).chart, "$a$")
    figure.to_png()
    (axes,) = figure.axes
    powers = [tick for tick in axes.get_yticklabels() if "10^" in tick.get_text()]
    assert powers
    assert all(tick.get_parse_math() for tick in powers)
    assert not axes.title.get_parse_math()


def test_no_name_of_a_point_is_written_over_another():
    """Where they stand close together; three are more than above and below the one before."""
    close = {f"scheme {k}": (0.2 + 0.01 * k, 0.5 + 0.005 * k) for k in range(4)}
    drawn = chart({"front": [(0, 0), (1, 1)]}, points=close, x_range=(0, 1), y_range=(0, 1))
    figure = chart_still(drawn.chart)
    figure.to_png()
    names = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(names) == 4
    assert not any(one.overlaps(other) for one, other in combinations(names, 2))


@pytest.mark.parametrize("below", [None, chart({"late": 3.0})])
def test_the_sentence_below_a_chart_is_in_its_still_and_cuts_nothing(below):
    said = "First: GPipe, in 0.61 of the time of one after the other. " * 4
    drawn = {"GPipe": 1.0, "1F1B": 2.0}
    with_it, without = (
        chart_still(chart(drawn, x_label="ms", below=below, said=text).chart) for text in (said, "")
    )
    with_it.to_png()
    (sentence,) = with_it.texts
    assert " ".join(sentence.get_text().split()) == said.strip()
    assert len(sentence.get_text().splitlines()) > 1
    box, picture = sentence.get_window_extent(), with_it.bbox
    assert 0 <= box.x0 < box.x1 <= picture.x1
    assert 0 <= box.y0 < box.y1 <= min(axes.get_tightbbox().y0 for axes in with_it.axes)
    assert not without.texts
    assert [axes.bbox.height for axes in with_it.axes] == pytest.approx(
        [axes.bbox.height for axes in without.axes]
    )


def test_a_short_logarithmic_axis_has_ticks_between_its_powers():
    figure = chart_still(chart({"rate": [(1, 2), (4, 0.1)]}, y_log=True, y_range=(0.08, 2.5)).chart)
    figure.to_png()
    (axes,) = figure.axes
    seen = {
        tick.get_text() for tick in axes.get_yticklabels() if 0.08 <= tick.get_position()[1] <= 2.5
    }
    assert seen == {"0.1", "0.2", "0.5", "1", "2"}


def test_the_name_of_a_point_on_a_curve_is_beside_the_curve():
    drawn = chart({"edge": [(0, 1), (1, 0)]}, points={"run, P = 4": (0.5, 0.5)},
                  x_range=(0, 1), y_range=(0, 1))  # fmt: skip
    figure = chart_still(drawn.chart)
    figure.to_png()
    (axes,) = figure.axes
    box = axes.texts[0].get_window_extent().transformed(axes.transData.inverted())
    along = np.linspace(box.x0, box.x1, 50)
    assert not any(box.y0 <= 1 - x <= box.y1 for x in along)


@pytest.mark.parametrize("moments", [0, 7, 2.5, "3"])
def test_a_number_of_moments_that_does_not_fit_is_refused(moments):
    with pytest.raises(ValueError, match="moments must be an int from 1 to 6, got"):
        filmstrip(ring(4), moments=moments)


def test_too_many_ranks_for_a_stage_are_refused_with_a_way_out():
    trace = Trace("simulated", "virtual", 1000)
    with pytest.raises(ValueError, match=r"at most 128 ranks .* got 1,000; timeline\(trace\)"):
        filmstrip(trace)
    assert timeline_still(trace).to_png().startswith(b"\x89PNG")


def test_a_trace_shows_itself_as_text_and_timeline():
    bundle = mimebundle(ring(4))
    assert set(bundle) == {"text/plain", "image/png"}
    assert bundle["text/plain"].splitlines()[0] == repr(ring(4))
    assert ring(4)._repr_mimebundle_() == bundle, "the same trace gives the same bytes"


def test_tables_count_by_rank_and_add_up():
    lines = repr(table(map_reduce(4, 1))).splitlines()
    assert lines[1].split() == ["0", "3", "264", "3", "264"]
    assert lines[-1].split() == ["all", "6", "528", "6", "528"]
    assert repr(table(ring(64))).splitlines()[-2].strip() == "48 more"


def test_the_html_table_is_plain():
    page = table(map_reduce(4, 1))._repr_html_()
    assert page.count("<tr>") == 1 + 4 + 1
    assert "<td>264</td>" in page
    assert not any(word in page for word in ("style", "script", "class"))


def test_the_loss_is_the_sum_over_ranks_step_by_step():
    trace = map_reduce(4, 20)
    curve_ = loss_curve(trace)
    partial = [note.value for note in trace.notes_named("loss_partial")]
    assert len(curve_) == 20
    assert sum(value for _, value in curve_) == pytest.approx(sum(partial), rel=1e-12)
    assert curve_ == sorted(curve_)
    assert curve_[-1][1] < curve_[0][1]


def test_a_step_that_a_rank_never_finished_has_no_loss():
    notes = [Note(0, "loss", 1.0, 0.1), Note(1, "loss", 2.0, 0.3), Note(0, "loss", 0.5, 0.4)]
    assert loss_curve(Trace("simulated", "virtual", 3, notes=notes), "loss") == [(0.3, 3.0)]


def test_an_unknown_note_is_refused_with_the_known_names():
    with pytest.raises(ValueError, match=r"\['loss_partial'\]\), got 'los'"):
        loss_curve(map_reduce(4, 1), "los")


def test_a_curve_has_a_gap_where_it_is_no_finite_number_and_a_cross_where_it_leaves():
    points = [(0, 2.0), (1, 3.0), (2, float("nan")), (3, float("inf")), (4, 1e300), (5, 1.0)]
    figure = curve({"serial": points, "mine": [(0, 1.0), (1, float("-inf"))], "none": []})
    lines = figure.axes[0].lines
    assert str(lines[0].get_ydata().tolist()) == "[2.0, 3.0, nan, 1.0]"
    crosses = [line.get_xydata().tolist() for line in lines if line.get_marker() == "x"]
    assert crosses == [[[2, 1]], [[1, 0]], []], "up at 2, down at 1; the last is the legend's"
    alone = [line.get_xydata().tolist() for line in lines if line.get_marker() == "o"]
    assert alone == [[[5, 1]], [[0, 1]]], "no line leads to them"
    named = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert named == ["serial", "mine", "none", "no finite number"]
    whole = curve({"serial": points[:2]}).axes[0]
    assert [text.get_text() for text in whole.get_legend().get_texts()] == ["serial"]


def test_bars_below_zero_begin_there_and_their_numbers_stand_right_of_it():
    drawn = chart({"saved": -1.5, "lost": 2.0}, unit="s").chart
    assert [text for _, _, text, _ in drawn["bars"]] == ["-1.5 s", "2 s"]
    (axes,) = chart_still(drawn).axes
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, -1.5), (0, 2)]
    assert [text.xy for text in axes.texts] == [(0, 0), (2, 1)], "names stand left of the bars"
    assert chart({"a": -0.25, "b": -0.5}).chart["x_range"] == [-0.5, 0.0]


@pytest.mark.parametrize("curves", [[(0, 1)], {"loss": [1, 2]}, {"loss": 3}])
def test_curves_that_are_no_lists_of_points_are_refused(curves):
    with pytest.raises(TypeError, match="curves"):
        curve(curves)


def test_the_names_of_many_groups_have_room_above_the_bars_and_no_group_is_refused():
    many = {f"{k}: what is sent by the rule of that name": [k, 1] for k in range(8)}
    figure = bars(many, title="What each sends")
    figure.to_png()
    (axes,) = figure.axes
    legend = axes.get_legend().get_window_extent()
    (title,) = (t.get_window_extent() for t in [*axes.texts, axes._left_title] if t.get_text())
    width, height = figure.canvas.get_width_height()
    assert 0 <= legend.x0 < legend.x1 <= width
    assert legend.y1 <= title.y0 < title.y1 <= height
    for nothing in ({}, {"a": []}, {"a": 1.0}, {"a": [1.0, float("nan")]}):
        with pytest.raises(ValueError, match="groups must hold one finite number or more by each"):
            bars(nothing)


def test_bars_of_all_groups_stand_side_by_side_and_are_named():
    figure = bars({"by name": [3, 0, 5], "by size": [4, 4, 0]}, level=2.5, x_label="shard")
    (axes,) = figure.axes
    heights = [[bar.get_height() for bar in container] for container in axes.containers]
    assert heights == [[3, 0, 5], [4, 4, 0]]
    places = sorted(bar.get_x() for container in axes.containers for bar in container)
    assert all(b - a > 0.39 for a, b in pairwise(places)), "none hides another"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["by name", "by size"]
    assert figure.to_png().startswith(b"\x89PNG")
