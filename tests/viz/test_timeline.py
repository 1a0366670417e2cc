"""The timeline as a Python object: whose runs it carries, and what a notebook keeps of it."""

import json

import pytest

from course_lib.viz import Timeline, timeline
from course_lib.viz.stills.stills import timeline_still
from tests.viz.traces import accident, map_reduce, pipelined, ring


def test_a_timeline_says_the_same_whenever_it_is_made():
    assert {repr(timeline(ring(4), title="sum")) for _ in range(2)} == {
        f"<timeline of {ring(4)!r}>"
    }
    both = timeline({"ring": ring(4), "step": map_reduce(4, 1)})
    assert repr(both) == f"<timeline of ring: {ring(4)!r}; step: {map_reduce(4, 1)!r}>"


def test_a_timeline_shows_a_widget_a_picture_and_a_text():
    shown, _ = timeline(ring(4))._repr_mimebundle_()
    assert {"image/png", "text/plain"} < set(shown)
    assert shown["text/plain"] == repr(timeline(ring(4)))
    assert timeline(ring(4)).still() == timeline_still(ring(4)).to_png()


def test_runs_go_by_their_names_or_in_order():
    assert timeline(ring(4)).names == [""]
    assert timeline(ring(4), ring(8)).names == ["first", "second"]
    made = timeline({"four": ring(4), "eight": ring(8)}, title="rings", critical_path=True)
    assert isinstance(made, Timeline)
    assert made.names == ["four", "eight"]
    assert [scene["size"] for scene in made.scenes] == [4, 8]
    assert (made.title, made.critical_path) == ("rings", True)


def test_a_still_of_two_runs_has_one_axis_which_ends_with_the_longer():
    short, long = ring(4), ring(4, length=32768)
    assert long.end_s > 2 * short.end_s
    above, below = timeline_still({"short": short, "long": long}, critical_path=True).axes
    assert above.get_xlim() == below.get_xlim()
    assert above.get_xlabel() == ""
    assert not any(tick.label1.get_visible() for tick in above.xaxis.get_major_ticks())
    assert below.get_xlabel() == "virtual µs"
    assert below.get_xlim()[1] == pytest.approx(1.005 * long.end_s * 1e6, rel=1e-3)
    assert above.get_title(loc="left").startswith("short: 24 messages")
    drawn = [segment[-1][0] for segment in above.collections[0].get_segments()]
    assert max(drawn) == pytest.approx(short.end_s * 1e6, rel=1e-3)


def test_runs_of_two_clocks_say_which_is_whose():
    above, below = timeline_still({"real": accident(), "virtual": ring(4)}).axes
    assert above.get_title(loc="left").startswith("real, measured time: 2 messages")
    assert below.get_xlabel() == "ms"


def test_a_failure_is_marked_where_it_happened():
    (axes,) = timeline_still(accident()).axes
    assert [tuple(line.get_xydata()[0]) for line in axes.lines] == [(pytest.approx(3.0), 1)]
    assert timeline_still(ring(4)).axes[0].lines[:] == []


def test_the_critical_path_is_drawn_where_it_is_asked_for():
    assert timeline(pipelined(), critical_path=True).still() != timeline(pipelined()).still()


def test_many_ranks_and_many_messages_are_held_to_a_size():
    traits = timeline(ring(64), ring(16)).traits_shown()
    assert len(json.dumps(traits, separators=(",", ":"))) < 200_000
    assert "of 8,064 messages" in traits["scenes"][0]["thinned"]


@pytest.mark.parametrize(
    ("traces", "options", "error", "said"),
    [
        ((), {}, ValueError, "traces must be 1 to 4 traces, or a dict of as many, got 0"),
        (({},), {}, ValueError, "got 0"),
        ([ring] * 5, {}, ValueError, "got 5"),
        ((3,), {}, TypeError, "trace must be a Trace, got int"),
        (({"a": 3},), {}, TypeError, "trace 'a' must be a Trace, got int"),
    ],
)
def test_what_is_no_trace_is_refused(traces, options, error, said):
    with pytest.raises(error, match=said):
        timeline(*traces, **options)


def test_even_steps_are_for_one_run():
    assert timeline(ring(4), even_steps=True).even_steps
    with pytest.raises(ValueError, match="even_steps is for one run"):
        timeline(ring(4), ring(8), even_steps=True)
