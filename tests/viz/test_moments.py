"""What is where at a time."""

from itertools import pairwise

import pytest

from course_lib.trace.events import Compute, Message, Wait
from course_lib.trace.trace import Trace
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.snapshot import boundaries, steps, telling_moments, what_is_where
from tests.viz.traces import accident, map_reduce, restarted, ring


def small():
    """Rank 1 computes for 1 s, sends chunk 2 for 2 s; rank 0 waits, and takes it 1 s later."""
    return Trace(
        "simulated", "virtual", 2,
        messages=[Message(1, 0, 2, "<f8", (2000,), 16000, 1.0, 3.0, 3.0, 4.0, "world")],
        computes=[Compute(1, "forward", 1e9, 0.0, 1.0), Compute(0, "lunch", 1e9, 3.0, 4.0)],
        waits=[Wait(0, "recv", 1, 0.5, 3.0, "world")],
    )  # fmt: skip


def test_a_token_moves_evenly_from_its_posting_to_its_arrival():
    scene = make_scene(small())
    positions = {
        time_s: [token.position for token in what_is_where(scene, time_s).tokens]
        for time_s in (0.99, 1.0, 1.5, 2.0, 2.5, 3.0, 3.99, 4.0)
    }
    assert positions == {
        0.99: [], 1.0: [0.0], 1.5: [0.25], 2.0: [0.5], 2.5: [0.75],
        3.0: [1.0], 3.99: [1.0], 4.0: [],
    }  # fmt: skip


def test_boxes_say_what_their_ranks_do():
    scene = make_scene(small())
    assert what_is_where(scene, 0.25).workers[1][1:4] == ("compute", "forward", 0.25)
    assert [worker.word for worker in what_is_where(scene, 0.25).workers] == ["", "forward"]
    assert [worker.word for worker in what_is_where(scene, 0.75).workers] == [
        "waits for 1",
        "forward",
    ]
    assert [worker.state for worker in what_is_where(scene, 2.0).workers] == ["wait", "send"]


@pytest.mark.parametrize(
    ("time_s", "sentence"),
    [
        (0.25, "rank 1 computes forward"),
        (0.75, "rank 1 computes forward; rank 0 waits for rank 1"),
        (2.0, "rank 1 sends chunk 2, 16 KB, to rank 0; rank 0 waits for rank 1"),
        (3.5, "1 message has arrived and is not yet received; rank 0 computes lunch"),
        (4.0, "the run is over: 1 message, 16 KB"),
    ],
)
def test_the_caption_is_one_sentence_on_what_happens(time_s, sentence):
    assert what_is_where(make_scene(small()), time_s).caption == sentence


def test_many_messages_are_counted_and_four_of_them_named():
    caption = what_is_where(make_scene(ring(16)), 1e-6).caption
    assert caption == (
        "16 messages are between send and arrival: "
        "0 to 1 (chunk 0), 1 to 2 (chunk 1), 2 to 3 (chunk 2), "
        "3 to 4 (chunk 3) and 12 more; 16 ranks wait"
    )


def test_a_thinned_scene_does_not_pretend_to_count_all():
    scene = make_scene(ring(32), max_events=2000)
    caption = what_is_where(scene, 1e-6).caption
    assert caption.startswith("of those drawn, ")
    assert not what_is_where(make_scene(ring(16)), 1e-6).caption.startswith("of those")


def test_what_went_wrong_is_told():
    scene = make_scene(accident(), "line")
    tokens = what_is_where(scene, 2.5e-3).tokens
    assert [(token.state, token.position) for token in tokens] == [("lost", 0.5), ("lost", 0.5)]
    assert what_is_where(scene, 2.5e-3).caption == "2 messages are never received"
    end = what_is_where(scene, 1.0)
    assert end.workers[1].state == "failed"
    assert end.caption == "the run is over: 2 messages, 64 B; rank 1 has failed (WorkerDied)"


def test_who_was_started_again_is_not_crossed_out_any_more():
    scene = make_scene(restarted(), "line")
    states = {
        time_s: [worker.state for worker in what_is_where(scene, time_s).workers]
        for time_s in (0.5e-3, 1.5e-3, 3.5e-3, 4e-3)
    }
    assert states == {
        0.5e-3: ["", "", ""], 1.5e-3: ["", "failed", ""], 3.5e-3: ["", "", ""],
        4e-3: ["", "", "failed"],
    }  # fmt: skip
    assert what_is_where(scene, 1.5e-3).caption == "rank 1 has failed (Crash)"
    assert what_is_where(scene, 4e-3).caption.endswith("; rank 2 has failed (Crash)")


def test_the_caption_changes_only_at_boundaries():
    scene = make_scene(map_reduce(4, 2), "star")
    bounds = boundaries(scene)
    for start, end in pairwise(bounds):
        captions = {
            what_is_where(scene, (start + (end - start) * part) * scene.tick_s).caption
            for part in (0.3, 0.5, 0.7)
        }
        assert len(captions) == 1


def test_a_ring_of_four_has_a_step_for_each_of_its_six_rounds():
    assert len(steps(make_scene(ring(4)))) == 2 * (4 - 1)


def test_map_reduce_is_told_in_four_moments_however_many_steps_it_takes():
    for n_steps in (1, 10):
        scene = make_scene(map_reduce(4, n_steps), "star")
        moments = [what_is_where(scene, time_s) for time_s in telling_moments(scene)]
        assert len(moments) == 4
        told = {
            "map": any([w.word for w in m.workers] == ["map"] * 4 for m in moments),
            "sums": any({t.label for t in m.tokens} == {"temp"} for m in moments),
            "update": any(m.workers[0].word == "update" for m in moments),
            "model": any({t.label for t in m.tokens} == {"model"} for m in moments),
        }
        assert all(told.values()), told


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_no_more_moments_are_chosen_than_asked_for(count):
    times = telling_moments(make_scene(ring(16)), count)
    assert len(times) == count
    assert times == sorted(times)


def test_a_run_that_went_wrong_ends_with_its_end():
    scene = make_scene(accident())
    assert telling_moments(scene)[-1] == scene.end_s
