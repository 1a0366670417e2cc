"""Explore: what is asked is computed once, what a page holds, and what is refused."""

import io
import json

import numpy as np
import pytest
from PIL import Image

from course_lib import networks
from course_lib.collectives import allreduce_ring
from course_lib.viz import Chart, chart, explore, knob
from course_lib.viz.animation.bake import MOST_BYTES, MOST_SETTINGS
from course_lib.viz.animation.explore import as_picture
from course_lib.viz.animation.pages import pack
from course_lib.watch import watch_collective


def cost(workers, n_bytes):
    return {"server": 2.0 * workers * n_bytes, "ring": 2.0 * n_bytes}


def counted(fn):
    """Return a function of the same values, and the list of settings that it was asked for."""
    asked = []

    def wrapped(**settings):
        asked.append(settings)
        return fn(**settings)

    return wrapped, asked


def replies_of(widget):
    """Collect what a widget sends to the browser."""
    sent = []
    widget.layout.send = sent.append
    return sent


def test_the_first_setting_is_there_and_others_are_computed_once_when_asked():
    fn, asked = counted(cost)
    widget = explore(fn, workers=[2, 4, 8], n_bytes=knob([10, 20], start=20))
    assert asked == [{"workers": 2, "n_bytes": 20}]
    assert list(widget.found) == ["0,1"]
    sent = replies_of(widget)
    for _ in range(2):
        widget._answer(widget, {"key": "2,0"}, [])
    assert asked[1:] == [{"workers": 8, "n_bytes": 10}]
    assert [reply["key"] for reply in sent] == ["2,0", "2,0"]
    assert sent[0]["picture"]["chart"]["bars"][0] == ["server", 160.0, "160", False]


def test_an_error_becomes_a_sentence_and_not_a_silence():
    widget = explore(lambda n: {"a": 1.0 / n}, n=[1, 0])
    sent = replies_of(widget)
    widget._answer(widget, {"key": "1"}, [])
    assert sent == [{"key": "1", "error": "ZeroDivisionError: float division by zero"}]
    assert widget.traits_shown()["found"]["1"].startswith("ZeroDivisionError")


def test_a_page_holds_every_setting_of_a_small_grid_and_each_picture_once():
    widget = explore(lambda n, twice: {"a": float(n)}, n=[1, 2, 3], twice=[False, True])
    page = widget.traits_shown()
    assert len(page["found"]) == 6
    assert len(page["pictures"]) == 3
    assert page["found"]["1,0"] == page["found"]["1,1"]
    assert (page["live"], page["aside"]) == (False, "")


def test_a_page_of_a_large_grid_is_thinned_keeps_ends_and_start_and_says_so():
    fn = lambda n, m: {"a": float(n), "b": float(m)}  # noqa: E731
    page = explore(fn, n=knob(range(100), start=37), m=[1, 2, 3, 4, 5]).traits_shown()
    texts = page["knobs"][0]["texts"]
    assert len(page["found"]) <= MOST_SETTINGS
    assert {texts[0], texts[-1], texts[page["knobs"][0]["start"]]} == {"0", "99", "37"}
    assert page["aside"] == f"this page has {len(page['found'])} of 500 settings"


def test_a_page_keeps_the_values_that_it_is_to_have_and_a_kernel_has_all():
    fn, asked = counted(lambda **settings: {str(settings): 1.0})
    knobs = {name: knob([1, 2, 3, 4, 5], start=2, page=[2]) for name in "abcd"}
    widget = explore(fn, e=list("vwxyz"), f=knob([1, 2, 3, 4], page=[1, 4]), **knobs)
    assert [len(one["texts"]) for one in widget.knobs] == [5, 4, 5, 5, 5, 5]
    page = widget.traits_shown()
    assert [one["texts"] for one in page["knobs"]] == [list("vwxyz"), ["1", "4"], *[["2"]] * 4]
    assert len(asked) == len(page["found"]) == 10
    assert page["aside"] == "this page has 10 of 12,500 settings"


@pytest.mark.parametrize("page", [[], [1], [2, 9]])
def test_a_page_s_values_are_a_knob_s_and_have_the_start(page):
    with pytest.raises(ValueError, match=r"^page must be some of \[1, 2\], and 2 among them, got"):
        knob([1, 2], start=2, page=page)


def test_a_page_of_large_pictures_is_thinned_until_it_fits():
    def big(n):
        return {f"curve {n}": list(enumerate(np.random.default_rng(n).normal(size=4_000)))}

    widget = explore(big, n=range(1, 40))
    n_settings = len(widget.traits_shown()["found"])
    assert 2 < n_settings < 39
    assert 0.3 * MOST_BYTES < len(pack(json.dumps(widget.traits_shown()))) <= MOST_BYTES


@pytest.mark.parametrize(
    "knobs",
    [
        {name: knob([1, 2, 3], start=2) for name in "abcdef"},
        {name: [False, True] for name in "abcdefgh"},
        {"a": knob([1, 2, 3], start=2), **{name: list("vwxyz") for name in "bcd"}},
    ],
    ids=["sliders of three", "switches", "choices"],
)
def test_what_can_hardly_be_thinned_is_thinned_nevertheless(knobs):
    """Sliders of three values that begin in the middle once kept all of them, for ever."""
    page = explore(lambda **settings: {str(settings): 1.0}, **knobs).traits_shown()
    assert MOST_SETTINGS / 3 < len(page["found"]) <= MOST_SETTINGS
    starts = [one["texts"][one["start"]] for one in page["knobs"]]
    assert starts == [one["texts"][one["start"]] for one in explore(cost_of_all, **knobs).knobs]


def cost_of_all(**settings):
    return {"all": float(len(settings))}


def test_one_picture_too_large_for_a_page_is_there_all_the_same_and_others_are_not_computed():
    fn, asked = counted(
        lambda n: {"": list(enumerate(np.random.default_rng(n).normal(size=60_000)))}
    )
    page = explore(fn, n=knob(range(2, 30), start=9)).traits_shown()
    assert [one["texts"] for one in page["knobs"]] == [["9"]]
    assert len(page["pictures"]) == 1
    assert page["aside"] == "this page has 1 of 28 settings"
    assert len(asked) < 10


def test_values_need_no_hash_and_equal_ones_are_kept_apart():
    fn, asked = counted(lambda sizes: {"n": float(len(str(sizes)))})
    page = explore(fn, sizes=[[1, 2], [3], 1, True]).traits_shown()
    assert [settings["sizes"] for settings in asked] == [[1, 2], [3], 1, True]
    assert page["knobs"][0]["texts"] == ["[1, 2]", "[3]", "1", "on"]


def test_an_interrupt_is_told_too_and_nothing_failed_is_kept():
    failing = [KeyboardInterrupt(), ValueError("planted")]

    def fn(n):
        if n and failing:
            raise failing.pop(0)
        return {"a": 1.0 + n}

    widget = explore(fn, n=[0, 1])
    sent = replies_of(widget)
    for _ in range(3):
        widget._answer(widget, {"key": "1"}, [])
    assert [reply.get("error") for reply in sent] == [
        "KeyboardInterrupt",
        "ValueError: planted",
        None,
    ]


def test_what_fn_returns_may_be_a_trace_or_a_watched_run():
    watched = watch_collective(allreduce_ring, workers=2, length=2)
    for made in (watched, watched.trace, watched.player()):
        assert repr(as_picture(made)).startswith("Player(2 ranks, ring: 4 messages")


def test_a_picture_that_is_not_shown_sends_nothing_to_the_browser():
    widget = explore(lambda n: {"a": float(n)}, n=[1, 2])
    assert widget.comm is widget._first.comm is None
    assert widget.model_id == widget.comm.comm_id
    widget.close()


def test_what_it_says_is_the_same_in_every_run():
    widget = explore(cost, workers=knob([2, 8], label="workers P"), n_bytes=[4000])
    assert repr(widget) == "Explore(workers P 2 to 8; n_bytes 4,000 to 4,000): " + repr(
        chart(cost(2, 4000))
    )
    data, _ = widget._repr_mimebundle_()
    assert data["image/png"].startswith("iVBOR")
    assert data["text/plain"] == repr(widget)


@pytest.mark.parametrize(
    ("fn", "knobs", "error", "text"),
    [
        (cost, {}, ValueError, "knobs must be named"),
        (cost, {"workers": "24", "n_bytes": [1]}, TypeError, "workers must be a sequence"),
        (cost, {"workers": [], "n_bytes": [1]}, ValueError, "values must hold at least one"),
        (lambda n: 3, {"n": [1]}, TypeError, "fn must return a picture .* got int"),
    ],
)
def test_what_cannot_be_explored_is_refused_by_name(fn, knobs, error, text):
    with pytest.raises(error, match=text):
        explore(fn, **knobs)


def test_a_knob_starts_and_is_named_as_told():
    with pytest.raises(ValueError, match=r"start must be one of \[1, 2\], got 3"):
        knob([1, 2], start=3)
    with pytest.raises(ValueError, match="texts must be 2"):
        knob([1, 2], texts=["one"])
    assert knob([1, 2]).kind == "slider"
    assert knob([True, False]).kind == knob(["ring", "tree"]).kind == "choice"
    assert knob(np.arange(3)).kind == knob(np.linspace(0, 1, 3)).kind == "slider"
    assert knob([0.1 + 0.2, 1e6]).texts == ("0.3", "1,000,000")
    assert knob([allreduce_ring, networks.wan, None]).texts == ("allreduce_ring", "wan", "none")
    assert knob({"near": 1, "far": 2}, unit="m") == knob([1, 2], texts=["near m", "far m"])
    assert knob([1000, 2000], unit="bytes").texts == ("1,000 bytes", "2,000 bytes")


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        ({}, {}, "data must hold a number or a curve"),
        ({"a": 0.0}, {"x_log": True}, "needs values above 0"),
        ({"a": 1e-300, "b": 1.0}, {"x_log": True}, "needs values from 1e-150 on, got 1e-300"),
        ({"a": [(1, float("nan"))]}, {}, "must hold a finite number"),
        ({"a": 1.0}, {"x_range": (0, float("nan"))}, r"x_range must be two numbers .*\(0, nan\)"),
        ({"a": 1.0}, {"x_range": (1, 1)}, "the lower one first, got"),
        ({"a": 1.0}, {"x_range": 3}, "x_range must be two numbers .* got 3"),
        ({"a": [(1, 2)]}, {"y_range": (0, 1), "y_log": True}, "y_range must be .* logarithmic"),
        ({"a": 1.0}, {"told": "b"}, r"told must name one of the bars \['a'\], got 'b'"),
        ({"a": 1.0}, {"reference": "a"}, "reference must name curves, and data has none"),
        ({"a": [(1, 2)]}, {"told": "a"}, "told must name bars, and data has none, got 'a'"),
        ({"a": [(1, 2)]}, {"points": {"p": (1, float("inf"))}}, r"points\['p'\] must be 2 finite"),
        ({"a": [(1, 2)]}, {"band": (0, float("nan"), "x")}, r"band must be 2 finite .*\(0, nan\)"),
        ({"a": [(1, 2)]}, {"x_ticks": [float("nan")]}, r"x_ticks must be finite .*\[nan\]"),
        ({"a": [(1, 2)]}, {"spread": {"b": []}}, "spread must name one of the curves"),
    ],
)
def test_a_chart_of_nothing_is_refused(data, options, text):
    with pytest.raises(ValueError, match=text):
        chart(data, **options)


def test_names_of_a_chart_may_be_numbers_and_its_axes_are_wide():
    drawn = chart({1: 2.0, 2: 1.0}, told="2").chart
    assert [(bar[0], bar[3]) for bar in drawn["bars"]] == [("1", False), ("2", True)]
    with pytest.raises(ValueError, match="data must have names that differ when written"):
        chart({1: 2.0, "1": 1.0})
    numbered = chart({1: [(0, 1), (1, 2)]}, spread={1: [[(0, 2), (1, 3)]]}, points={2: (0, 1)})
    assert numbered.still().startswith(b"\x89PNG")
    wide = [(1e-150, 1e-150), (1e150, 1e150)]
    assert chart({"a": wide}, x_log=True, y_log=True).still().startswith(b"\x89PNG")
    assert chart({"a": [(0, -1e150), (1, 1e150)]}).still().startswith(b"\x89PNG")


def test_a_chart_has_a_gap_where_a_curve_is_no_finite_number():
    points = [(0, 1), (1, float("inf")), (2, 1e200), (3, 3)]
    (line,) = chart({"loss": points}).chart["lines"]
    assert (line["x"], line["y"], line["gaps"]) == ([0, 1, 3], [1, None, 3], [(1, True)])
    made = chart({"loss": points})
    assert json.loads(json.dumps(made.chart, allow_nan=False))["y_range"] == [0.9, 3.1]
    assert made.still() != chart({"loss": [points[0], points[3]]}).still()
    assert "gaps" not in chart({"loss": points[:1]}).chart["lines"][0]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"loss": [0.3, 0.2]}, r"got \[0.3, 0.2\] for 'loss'"),
        ({"ring": 1.0, "tree": [(1, 2)]}, "got 1.0 for 'ring'"),
        ({"ring": "fast"}, "got 'fast' for 'ring'"),
    ],
)
def test_what_is_neither_bars_nor_curves_is_refused_by_name(data, told):
    with pytest.raises(TypeError, match=rf"data must hold .* list of points \(x, y\); {told}"):
        chart(data)


def test_what_is_no_function_is_not_explored():
    with pytest.raises(TypeError, match="fn must be a function of the knobs, got 3"):
        explore(3, workers=[1, 2])


def test_a_chart_writes_seconds_and_bytes_as_people_read_them():
    assert chart({"a": 0.00025}, unit="s").chart["bars"][0][2] == "250 µs"
    bars = chart({"a": float("inf"), "b": float("nan"), "c": 1.0}).chart["bars"]
    assert json.loads(json.dumps(bars, allow_nan=False)) == bars, "a page can hold it"
    assert [bar[1:3] for bar in bars] == [[0.0, "inf"], [0.0, "?"], [1.0, "1"]]
    assert chart({"a": 2.0e6}, unit="bytes").chart["bars"][0][2] == "2 MB"
    assert isinstance(chart({"a": [(1, 2), (2, 3)]}, spread={"a": [[(1, 1), (2, 4)]]}), Chart)


def test_a_chart_stands_below_another_and_its_still_has_room_for_both():
    bars = chart({"0": 25.0, "1": 75.0}, unit="%")
    curves = {"loss": [(0, 1.0), (1, 0.5)]}
    both = chart(curves, below=bars)
    assert both.chart["under"] == bars.chart
    assert "below" not in both.chart
    stills = [Image.open(io.BytesIO(made.still())) for made in (chart(curves), bars, both)]
    assert len({still.width for still in stills}) == 1
    alone, under, together = (still.height for still in stills)
    assert together == pytest.approx(alone + under, abs=2)
