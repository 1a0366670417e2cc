"""A placed graph: every node in its worker's lane, behind what it uses; what crosses stands out."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path

from course_lib.viz import draw_placed_graph
from course_lib.viz.colours import OKABE_ITO

INPUTS = {"x": (), "left side": ("x",), "right": ("x",), "right too": ("x",), "sum": ("left side",
          "right", "right too")}  # fmt: skip
PLACED = {"x": 0, "left side": 0, "right": 1, "right too": 1, "sum": 0}
SIZES = {"x": 2_000, "left side": 8, "right": 30_000, "right too": 500, "sum": 8}


def drawn(placement=PLACED, lanes=("worker 0", "worker 1")):
    (axes,) = draw_placed_graph(INPUTS, placement, SIZES, lanes, title="a title").axes
    return axes


def boxes(axes):
    return [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]


def arrows(axes):
    return [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]


def test_every_node_stands_in_its_workers_lane_behind_what_it_uses():
    axes = drawn()
    at = {text.get_text(): text.get_position() for text in axes.texts}
    for name, inputs in INPUTS.items():
        for used in inputs:
            assert at[used][0] < at[name][0]
    lanes = {rank: {at[name][1] for name in INPUTS if PLACED[name] == rank} for rank in (0, 1)}
    assert max(lanes[0]) < min(lanes[1])  # downwards
    assert len(lanes[1]) == 2  # both at once, below each other
    assert at["right"] != at["right too"]
    colours = [to_hex(box.get_facecolor()).upper() for box in boxes(axes)]
    assert colours == [OKABE_ITO[PLACED[name]] for name in INPUTS]


def test_what_crosses_is_thick_unbroken_and_has_its_bytes_once_for_each_worker():
    axes = drawn()
    kinds = [(arrow.get_linewidth(), arrow.get_linestyle() == "solid") for arrow in arrows(axes)]
    assert sorted(kinds) == [(0.9, False)] * 2 + [(1.8, True)] * 4
    written = [text.get_text() for text in axes.texts]
    assert sorted(text for text in written if text.endswith("B")) == ["2 KB", "30 KB", "500 B"]
    (untold,) = draw_placed_graph(INPUTS, PLACED, {}, ["worker 0", "worker 1"]).axes
    assert len(arrows(untold)) == len(arrows(axes))
    assert not any(text.get_text().endswith("B") for text in untold.texts)
    on_one = drawn(dict.fromkeys(INPUTS, 0), ["worker 0"])
    assert {arrow.get_linewidth() for arrow in arrows(on_one)} == {0.9}
    assert not any(text.get_text().endswith("B") for text in on_one.texts)


def behind(axes, arrow):
    """List the boxes that an arrow passes without ending there."""
    drawn = axes.transData.transform_path(arrow.get_path()).to_polygons(closed_only=False)
    dense = np.vstack([Path(lines).interpolated(50).vertices for lines in drawn])
    points = axes.transData.inverted().transform(dense)
    found = []
    for box in boxes(axes):
        x, y, width, height = box.get_bbox().bounds
        inside = (abs(points - [x + width / 2, y + height / 2]) < [width / 2, height / 2]).all(1)
        if inside.any() and box not in (arrow.patchA, arrow.patchB):
            found.append(box)
    return found


MODULE = {"x": (), "c1": ("x",), "c2": ("c1",), "b1": ("x",), "b2": ("b1",), "pool": ("x",),
          "d": ("pool",), "a": ("x",), "join": ("c2", "b2", "d", "a")}  # fmt: skip


@pytest.mark.parametrize("away", [(), ("b1", "b2", "pool", "d"), ("c1", "c2"), ("d", "join")])
def test_no_edge_goes_behind_a_box_that_is_not_its_end(away):
    """An edge from x to pool that goes behind b1 looks like one from b1 to pool."""
    placement = {name: int(name in away) for name in MODULE}
    axes = draw_placed_graph(MODULE, placement, dict.fromkeys(MODULE, 8), ["0", "1"]).axes[0]
    assert len(arrows(axes)) == 11
    assert [behind(axes, arrow) for arrow in arrows(axes)] == [[]] * 11


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"inputs": {"a": ["z"], "b": []}}, r"inputs\['a'\] must be .* got 'z', which is none"),
        (
            {"inputs": {"a": ["b"], "b": ["a"]}},
            "got 'b', which stands after it, or waits for itself",
        ),
        ({"placement": {}}, r"placement\['a'\] must be a worker from 0 to 1, .* got None"),
        ({"placement": {"a": 0, "b": 2}}, r"placement\['b'\] must be .* got 2"),
        ({"sizes": {"b": 1}}, "sizes must have the bytes of every node that crosses, .* for 'a'"),
    ],
)
def test_what_is_no_placed_graph_is_refused_by_name(changed, told):
    right = {
        "inputs": {"a": [], "b": ["a"]}, "placement": {"a": 0, "b": 1}, "sizes": {"a": 1},
        "lanes": ["worker 0", "worker 1"],
    }  # fmt: skip
    assert draw_placed_graph(**right)
    with pytest.raises(ValueError, match=told):
        draw_placed_graph(**{**right, **changed})


def test_a_worker_without_nodes_has_a_lane_and_a_long_name_is_broken_or_cut():
    placement = dict.fromkeys(INPUTS, 2)
    axes = drawn(placement, ["worker 0", "worker 1", "worker 2: 5% idle"])
    written = [text.get_text() for text in axes.texts]
    assert {"worker 0", "worker 1", "worker 2\n5% idle"} <= set(written)
    figure = draw_placed_graph(
        {"a rather long name": (), "incomprehensibilities": ()},
        {"a rather long name": 0, "incomprehensibilities": 0}, SIZES, ["worker 0"],
    )  # fmt: skip
    written = [text.get_text() for text in figure.axes[0].texts]
    assert {"a\nrather long na…", "incomprehen…"} <= set(written)
