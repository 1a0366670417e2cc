"""Old, lost and dropped updates are marked where they were noted, and nothing else is."""

import math

import pytest

from course_lib.trace.events import Compute, Note
from course_lib.trace.replay import find_note
from course_lib.trace.trace import Trace
from course_lib.viz import filmstrip
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.marks import Mark, Saying, ages_of, make_marks, telling_first
from course_lib.viz.animation.snapshot import boundaries, telling_moments, what_is_where
from course_lib.viz.stills.stills import timeline_still
from tests.viz.traces import map_reduce, ring, stale


def noted(*notes):
    return Trace("simulated", "virtual", 3, notes=[Note(*note) for note in notes])


def test_a_mark_stays_until_the_rank_notes_something_else():
    trace = noted(
        (0, "staleness", 0, 0.0), (0, "staleness", 2, 1.0), (1, "staleness", 1, 1.0),
        (0, "staleness", 0, 2.0), (0, "staleness", 0, 3.0), (1, "lost_update", 3, 4.0),
        (1, "staleness", 2, 4.0), (2, "dropped", 1, 5.0), (2, "loss", 7.0, 5.0),
    )  # fmt: skip
    marks, sayings = make_marks(trace, 1.0, 100)
    assert sayings == [
        Saying("2 old", "has taken a gradient 2 updates old"),
        Saying("1 old", "has taken a gradient 1 update old"),
        Saying(
            "3 lost, 2 old",
            "has overwritten 3 updates of a parameter and has taken a gradient 2 updates old",
        ),
        Saying("1 dropped", "has left out 1 gradient"),
    ]
    assert marks == [
        Mark(0, 1, 0), Mark(1, 1, 1), Mark(0, 2, -1), Mark(1, 4, 2), Mark(2, 5, 3),
    ]  # fmt: skip


def test_the_sum_that_a_rank_holds_is_said_whatever_it_is():
    marks, sayings = make_marks(noted((0, "holds", 28, 0.0), (1, "holds", 0, 1.0)), 1.0, 100)
    assert sayings == [Saying("28", "holds 28"), Saying("0", "holds 0")]
    assert marks == [Mark(0, 0, 0), Mark(1, 1, 1)]


def test_words_no_numbers_and_small_ones_are_no_marks():
    trace = noted((0, "staleness", "old", 0.0), (1, "staleness", math.nan, 0.0), (2, "w", 3, 0.0))
    assert make_marks(trace, 1.0, 100) == ([], [])


def test_of_many_marks_some_are_drawn():
    trace = noted(*((0, "staleness", 1 + k % 2, float(k)) for k in range(1000)))
    marks, sayings = make_marks(trace, 1.0, 100)
    assert len(marks) == 100
    assert len(sayings) == 2


@pytest.mark.parametrize(
    ("scheme", "name", "told"),
    [
        ("downpour", "staleness", "updates old"),
        ("hogwild", "lost_update", "has overwritten"),
        ("backup_workers", "dropped", "has left out 1 gradient"),
    ],
)
def test_the_moment_that_is_searched_for_is_seen_and_told(scheme, name, told):
    trace = stale(scheme)
    note = find_note(trace, name, least=2 if name == "staleness" else 1)
    scene = make_scene(trace)
    tick = round(note.time_s / scene.tick_s)
    assert min(abs(found - tick) for found in boundaries(scene)) <= 2
    after = what_is_where(scene, note.time_s + 3 * scene.tick_s)
    assert after.workers[note.rank].said >= 0
    assert f"{note.value} " in scene.sayings[after.workers[note.rank].said].short
    assert told in after.caption or f"rank {note.rank}: " in after.caption
    before = what_is_where(scene, 0.0)
    assert {worker.said for worker in before.workers} == {-1}


def test_what_a_server_has_lost_is_seen_when_it_is_back():
    trace = noted((0, "lost_updates", 0, 1.0), (1, "lost_updates", 3, 2.0))
    assert make_marks(trace, 1.0, 100) == (
        [Mark(1, 2, 0)], [Saying("3 lost", "has lost 3 updates in all")]
    )  # fmt: skip


def test_a_gradient_that_will_be_old_says_so_on_its_way():
    trace = stale()
    ages = ages_of(trace)
    noted_ages = [n.value for n in trace.notes_named("staleness") if n.value]
    assert sorted(ages.values()) == sorted(noted_ages)
    assert {trace.messages[number].tag for number in ages} == {"gradient"}
    scene = make_scene(trace)
    tags = {scene.labels[flight.label].tag for flight in scene.messages}
    assert {f"gradient, {age} old" for age in noted_ages} | {"gradient"} <= tags
    colours = {label.colour for label in scene.labels if "gradient" in str(label.tag)}
    assert len(colours) == 1


def test_a_filmstrip_shows_the_oldest_gradient_and_both_pictures_say_it():
    trace = stale()
    oldest = max(note.value for note in trace.notes_named("staleness"))
    scene = make_scene(trace)
    shown = [
        scene.sayings[worker.said].short
        for time_s in telling_moments(scene)
        for worker in what_is_where(scene, time_s).workers
        if worker.said >= 0
    ]
    assert f"{oldest} old" in shown
    for figure in (filmstrip(trace), timeline_still(trace)):
        texts = {text.get_text() for axes in figure.axes for text in axes.texts}
        assert f"{oldest} old" in texts


def test_where_names_compete_the_oldest_is_first_and_of_equals_the_last():
    trace = noted(
        (0, "staleness", 12, 1.0), (0, "staleness", 1, 2.0), (0, "staleness", 3, 3.0),
        (1, "lost_update", 5, 4.0), (1, "staleness", 2, 4.0), (2, "holds", 99, 5.0),
        (0, "staleness", 3, 6.0), (0, "staleness", 0, 7.0), (0, "staleness", 1, 8.0),
    )  # fmt: skip
    marks, sayings = make_marks(trace, 1.0, 100)
    told = [(much, mark.tick) for much, mark in telling_first(marks, sayings)]
    assert told == [(12, 1), (5, 4), (3, 6), (3, 3), (1, 8), (1, 2), (0, 5)]


def crowded():
    """Two old gradients on one spot, and two that are not in each other's way."""
    trace = noted((0, "staleness", 1, 1.0), (0, "staleness", 12, 4.9), (0, "staleness", 1, 4.91),
                  (0, "staleness", 2, 7.0), (0, "staleness", 0, 10.0))  # fmt: skip
    trace.computes = [Compute(0, "gradient", 0.0, 0.0, 10.0)]
    return trace


def test_a_still_timeline_names_the_oldest_gradient_beside_a_younger_one():
    (axes,) = timeline_still(crowded()).axes
    texts = [text.get_text() for text in axes.texts if text.get_text().endswith(" old")]
    assert sorted(texts) == ["1 old", "12 old", "2 old"]
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "v"]
    assert sorted(marks) == pytest.approx([1.0, 4.9, 7.0], abs=1e-3), "no mark under a name"


@pytest.mark.parametrize("trace", [ring, map_reduce])
def test_a_trace_without_such_notes_is_drawn_as_before(trace):
    scene = make_scene(trace())
    assert (scene.marks, scene.sayings) == ([], [])
    assert not {"marks", "sayings"} & {*scene.to_json()}
