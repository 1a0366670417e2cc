"""Computing above, communication below, as a timeline that moves."""

import pytest

from course_lib.trace.events import Collective, Compute
from course_lib.trace.trace import Trace
from course_lib.viz import gantt, timeline
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.gantt import _lanes_of
from course_lib.viz.animation.snapshot import what_is_where

TRACE = Trace(
    "simulated", "virtual", 2,
    computes=[
        Compute(0, "forward L1", 1.0, 1.0, 2.0), Compute(0, "backward L1", 1.0, 2.0, 4.0),
        Compute(1, "forward L1", 1.0, 0.0, 4.0),
    ],
    collectives=[
        Collective(0, "broadcast_tree", 0, 0.0, 1.0, "world"),
        Collective(0, "allreduce_ring", 0, 3.0, 5.0, "world/1"),
        Collective(0, "allreduce_ring", 0, 4.0, 6.0, "world/2"),
    ],
)  # fmt: skip


def lanes(labels=()):
    """List lane, label, start and end of what is drawn."""
    drawn = _lanes_of(TRACE, 0, "a run", labels).computes
    return [(span.rank, span.label, span.start_s, span.end_s) for span in drawn]


def test_time_begins_with_the_first_computing_and_what_overlaps_has_a_lane_of_its_own():
    assert lanes(["L2", "L1"]) == [
        (0, "forward L1", 0.0, 1.0),
        (0, "backward L1", 1.0, 3.0),
        (1, "all-reduce L2", 2.0, 4.0),
        (2, "all-reduce L1", 3.0, 5.0),
    ]


def test_without_labels_collectives_have_their_names():
    assert [label for lane, label, *_ in lanes() if lane] == ["all-reduce allreduce_ring"] * 2


def test_lanes_have_names_and_runs_share_them():
    alone = Trace("simulated", "virtual", 1, computes=TRACE.computes[:2])
    picture = gantt({"one": TRACE, "other": alone}, title="Both")
    assert picture.names == ["one", "other"]
    lanes_of_both = [scene["roles"] for scene in picture.scenes]
    assert lanes_of_both == [["computes", "network", "network 2"]] * 2
    assert picture.still().startswith(b"\x89PNG")


@pytest.mark.browser
@pytest.mark.slow
def test_the_caption_says_what_all_lanes_do_here_and_in_the_browser(browser, tmp_path):
    picture = gantt({"": TRACE}, {"": ["L2", "L1"]})
    lanes = _lanes_of(TRACE, 0, "", ["L2", "L1"])
    scene = make_scene(lanes, "line", roles={0: "computes", 1: "network", 2: "network 2"})
    said = [what_is_where(scene, s).caption for s in (0.5, 2.5, 5.0)]
    assert said == [
        "computes: forward L1", "computes: backward L1; network: all-reduce L2", "the run is over"
    ]  # fmt: skip
    page = browser.new_page()
    page.goto(picture.save(tmp_path / "gantt.html").as_uri())
    page.wait_for_selector(".lm-timelines")
    seek = "document.querySelector('.lm-timelines').transport.seekFraction"
    for seconds, sentence in zip((0.5, 2.5, 5.0), said, strict=True):
        page.evaluate(f"{seek}({seconds / 5})")
        assert page.inner_text(".lm-caption > div") == sentence
    assert "messages" not in page.inner_text(".lm-timelines")
    page.close()


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="traces must be 1 to 4"):
        gantt({})
    with pytest.raises(TypeError, match="runs must be a dict of str to Trace, got Trace"):
        gantt(TRACE)
    with pytest.raises(TypeError, match=r"runs\['a run'\] must be a Trace, got int"):
        gantt({"a run": 3})
    with pytest.raises(ValueError, match="rank must be one that computes, got 3 in the run"):
        gantt({"a run": TRACE}, rank=3)
    with pytest.raises(ValueError, match="roles must name ranks from 0 to 1, got 2"):
        timeline(TRACE, roles={2: "server"})
