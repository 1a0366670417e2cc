"""Computing above, exchanging below."""

import pytest

from course_lib.trace.events import Collective, Compute
from course_lib.trace.trace import Trace
from course_lib.viz import draw_gantt

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


def bars(figure):
    """List start, end, height of the middle and text of each bar."""
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    return [
        (bar.get_x(), bar.get_x() + bar.get_width(), bar.get_y() + bar.get_height() / 2, text)
        for bar, text in zip(axes.patches, texts, strict=False)
    ]


def test_time_begins_with_the_first_computing_and_what_overlaps_is_lower():
    found = bars(draw_gantt({"a run": TRACE}, {"a run": ["L2", "L1"]}))
    assert [bar[:2] for bar in found] == [(0, 1), (1, 3), (2, 4), (3, 5)]
    assert found[2][2] < found[3][2], "the second exchange begins before the first has ended"
    assert [bar[3] for bar in found] == ["forward L1", "backward L1", "L2", "L1"]


def test_without_labels_collectives_have_their_names():
    found = bars(draw_gantt({"a run": TRACE}))
    assert [bar[3] for bar in found[2:]] == ["allreduce_ring"] * 2


def test_the_end_of_each_run_is_told():
    (axes,) = draw_gantt({"one": TRACE, "other": TRACE}).axes
    assert [text.get_text() for text in axes.texts].count("5 s") == 2
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["one: computes", "exchanges", "other: computes", "exchanges"]


def test_there_must_be_a_run_and_a_rank_that_computes():
    with pytest.raises(ValueError, match="got none"):
        draw_gantt({})
    with pytest.raises(ValueError, match="got 3 in the run 'a run'"):
        draw_gantt({"a run": TRACE}, rank=3)
