"""Buffers as strips: who holds what at a time, and how it is told and packed."""

import json

import numpy as np
import pytest

from course_lib.collectives import (
    ALLREDUCES,
    allgather_ring,
    allreduce_central,
    allreduce_halving_doubling,
    allreduce_tree,
    allreduce_two_level,
    broadcast_tree,
)
from course_lib.viz import filmstrip, player
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.scene import TWICE
from course_lib.viz.animation.snapshot import steps, telling_moments, what_is_where
from tests.viz.traces import ring, watched


def scene_of(run, **options):
    return make_scene(run.trace, contributions=run.contributions, **options)


def cells(scene, time_s):
    return [worker.cells for worker in what_is_where(scene, time_s).workers]


def test_the_buffers_of_a_ring_fill_as_its_invariant_says():
    """Before step s of the first half chunk (rank - s) of a rank holds s + 1 contributions."""
    scene = scene_of(watched())
    for step, time_s in enumerate(steps(scene)[:3]):
        held = cells(scene, time_s)
        assert [held[rank][(rank - step) % 4] for rank in range(4)] == [step + 1] * 4
    assert cells(scene, 0.0) == [(1, 1, 1, 1)] * 4
    assert cells(scene, scene.end_s) == [(4, 4, 4, 4)] * 4


def test_a_cell_fills_in_the_moment_in_which_its_message_is_received():
    run = watched()
    scene = scene_of(run)
    first = run.trace.messages[0]
    before, after = (
        cells(scene, first.received_s + way * 10 * scene.tick_s)[first.dst] for way in (-1, 1)
    )
    assert (before, after) == ((1, 1, 1, 1), (2, 1, 1, 1))


def test_captions_tell_how_many_contributions_a_message_carries():
    scene = scene_of(watched())
    assert what_is_where(scene, steps(scene)[1]).caption == (
        "4 messages are between send and arrival, each with 2 of 4 contributions: "
        "0 to 1 (chunk 3), "
        "1 to 2 (chunk 0), 2 to 3 (chunk 1), 3 to 0 (chunk 2); 4 ranks wait"
    )
    two = scene_of(watched(size=2))
    assert what_is_where(two, steps(two)[1]).caption.startswith(
        "rank 0 sends chunk 1 (2 of 2 contributions), 32.8 KB, to rank 1; "
    )
    tree = scene_of(watched(allreduce_tree, 3))
    assert what_is_where(tree, steps(tree)[0]).caption.startswith(
        "rank 1 sends 1 of 3 contributions, 65.5 KB, to rank 0; "
    )
    shared = scene_of(watched(broadcast_tree, 2, brings="root"))
    assert what_is_where(shared, steps(shared)[0]).caption.startswith("rank 0 sends 65.5 KB to")


def test_a_message_of_several_chunks_names_them():
    scene = scene_of(watched(allreduce_halving_doubling))
    labels = {(label.tag, label.cells) for label in scene.labels}
    assert ("chunks 0 and 1", (0, 1)) in labels
    assert (3, (3,)) in labels
    tokens = what_is_where(scene, steps(scene)[0]).tokens
    assert {(token.src, token.who) for token in tokens} == {(r, str(r)) for r in range(4)}


def test_who_has_nothing_begins_with_empty_cells():
    scene = scene_of(watched(allgather_ring, 4, brings="own"))
    assert cells(scene, 0.0)[1] == (0, 1, 0, 0)
    assert scene.goals == [1, 1, 1, 1]


def test_of_many_ranks_a_strip_is_one_cell_that_fills():
    scene = scene_of(watched(size=20))
    assert scene.goals == [400]
    assert cells(scene, 0.0) == [(20,)] * 20
    assert cells(scene, scene.end_s) == [(400,)] * 20
    levels = [cells(scene, time_s)[3][0] for time_s in steps(scene)]
    assert levels == sorted(levels)
    assert len(scene.fills) <= 20 * 16
    assert {label.tag for label in scene.labels} == set(range(20)), "tokens keep their chunks"


def test_a_wrong_buffer_is_marked_and_not_taken_for_a_full_one():
    def twice(comm, x):
        total = allreduce_central(comm, x)
        return total + x if comm.rank == 1 else total

    scene = scene_of(watched(twice))
    assert cells(scene, scene.end_s) == [(4,), (TWICE,), (4,), (4,)]


def test_two_thousand_events_with_their_buffers_take_at_most_60_kb():
    run = watched(size=26)  # 1,300 messages, 1,300 waits
    scene = scene_of(run, max_events=2000)
    assert len(scene.messages) + len(scene.spans) <= 2000
    assert len(json.dumps(scene.to_json(), separators=(",", ":"))) <= 60_000
    scene = scene_of(watched(size=16))
    assert len(scene.messages) + len(scene.spans) + len(scene.fills) == 1440
    assert len(json.dumps(scene.to_json(), separators=(",", ":"))) <= 30_000


def test_a_filmstrip_ends_with_what_every_rank_holds():
    scene = scene_of(watched())
    times = telling_moments(scene, 6)
    assert len(times) == 6
    assert times[-1] == scene.end_s
    assert len(set(map(str, (cells(scene, time_s) for time_s in times)))) >= 5


@pytest.mark.parametrize("name", ALLREDUCES)
def test_every_all_reduce_is_told_in_four_to_six_moments(name):
    scene = scene_of(watched(ALLREDUCES[name], 4))
    times = telling_moments(scene)
    assert 4 <= len(times) <= 6 or (name == "butterfly" and len(times) == 3), "it has two rounds"
    assert times == sorted(set(times))


@pytest.mark.parametrize(
    ("fn", "size", "layout"),
    [
        (None, 4, "ring"), (allreduce_tree, 7, "tree"), (allreduce_central, 5, "star"),
        (allreduce_two_level, 8, "hosts"), (allreduce_two_level, 7, "hosts"),
        (broadcast_tree, 8, "tree"), (allreduce_halving_doubling, 8, "ring"),
    ],
)  # fmt: skip
def test_the_layout_is_chosen_by_who_sends_to_whom(fn, size, layout):
    brings = {"brings": "root"} if fn is broadcast_tree else {}
    run = watched(fn, size, **brings) if fn else watched(size=size)
    assert scene_of(run).layout == layout


def test_contributions_of_another_run_are_refused():
    with pytest.raises(ValueError, match="of 24 messages, got those of a run of 12"):
        player(ring(4), contributions=watched(size=3).contributions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fn", "size", "most_kb"),
    [(None, 4, 60), (None, 16, 90), pytest.param(None, 64, 160, marks=pytest.mark.soak),
     (allreduce_tree, 7, 60), (allreduce_halving_doubling, 8, 90), (allreduce_two_level, 8, 80)],
)  # fmt: skip
def test_stills_with_strips_are_small(fn, size, most_kb, capsys):
    run = watched(fn, size) if fn else watched(size=size)
    png = filmstrip(run.trace, contributions=run.contributions).to_png()
    with capsys.disabled():
        print(f"\n  {size} ranks: {len(png) / 1000:.0f} KB")
    assert len(png) <= most_kb * 1000


def test_nothing_is_drawn_of_buffers_that_nobody_watched():
    scene = make_scene(ring(4))
    assert (scene.goals, scene.fills, scene.loads) == ([], [], [])
    assert cells(scene, 0.0) == [()] * 4
    assert "contributions" not in what_is_where(scene, 1e-6).caption
    assert np.all([flight.load == -1 for flight in scene.messages])
