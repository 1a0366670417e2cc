"""Explore: what is asked is computed once, what a page holds, and what is refused."""

import json

import pytest

from course_lib.viz import Chart, chart, explore, knob
from course_lib.viz.animation.explore import MOST_BYTES, MOST_SETTINGS


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
    widget.send = sent.append
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


def test_a_page_of_large_pictures_is_thinned_until_it_fits():
    def big(n):
        return {f"curve {n}": [(float(x), float(x * n)) for x in range(2_000)]}

    page = explore(big, n=range(1, 40)).traits_shown()
    size = len(json.dumps(page["pictures"], separators=(",", ":")))
    assert 1 < len(page["found"]) < 39
    assert size <= MOST_BYTES + 100


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
    assert knob([1000, 2000], unit="bytes").texts == ("1,000 bytes", "2,000 bytes")


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        ({}, {}, "data must hold a number or a curve"),
        ({"a": 0.0}, {"x_log": True}, "needs values above 0"),
        ({"a": [(1, float("nan"))]}, {}, "must hold a finite number"),
    ],
)
def test_a_chart_of_nothing_is_refused(data, options, text):
    with pytest.raises(ValueError, match=text):
        chart(data, **options)


def test_a_chart_writes_seconds_and_bytes_as_people_read_them():
    assert chart({"a": 0.00025}, unit="s").chart["bars"][0][2] == "250 µs"
    assert chart({"a": 2.0e6}, unit="bytes").chart["bars"][0][2] == "2 MB"
    assert isinstance(chart({"a": [(1, 2), (2, 3)]}, spread={"a": [[(1, 1), (2, 4)]]}), Chart)
