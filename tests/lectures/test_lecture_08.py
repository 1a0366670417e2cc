"""What lecture 08 runs: what ranks hold of split layers, what a step sends, and a bias too many."""

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.lectures import lecture_08
from course_lib.lectures.lecture_08 import one_step, with_every_bias
from course_lib.models.published import PUBLISHED
from course_lib.planning.sized_bytes import grids, hybrid_bytes, model_bytes
from course_lib.planning.sized_steps import SizedStep, data_step, hybrid_step
from course_lib.split import split_in_pairs
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.snapshot import what_is_where


@pytest.fixture(scope="module")
def zero():
    return lecture_08.sharded_step()


def levels_at(picture, seconds):
    """Return each rank's cells at a time."""
    scene = make_scene(picture._trace, contributions=picture._still["contributions"])
    return [list(worker.cells) for worker in what_is_where(scene, seconds).workers]


def middle(trace, label, rank):
    """Return a time at which a rank computes this."""
    own = [span for span in trace.computes if (span.rank, span.label) == (rank, label)]
    return (own[0].start_s + own[0].end_s) / 2


def test_a_layer_by_units_begins_when_all_parts_are_there_and_leaves_its_own():
    trace = one_step("by units", 8, 8, 8, 4, examples=4)
    picture = lecture_08.units_player(trace, "x")
    for rank in range(4):
        assert levels_at(picture, middle(trace, "forward fc2", rank))[rank] == [1] * 4
    at_end = levels_at(picture, trace.end_s)
    assert at_end == [[int(cell == rank) for cell in range(4)] for rank in range(4)]
    first = next(m for m in trace.messages if m.tag == "part")
    done = middle(trace, "forward fc1", first.dst)
    assert levels_at(picture, done)[first.dst] == [0] * 4, "nothing is there yet"


def test_only_activations_cross_and_no_weight():
    small, more, wide = (one_step("by units", *widths, examples=m) for widths, m in (
        ((8, 8, 8, 4), 4), ((8, 8, 8, 4), 8), ((80, 8, 8, 4), 4)))  # fmt: skip
    assert more.n_bytes == 2 * small.n_bytes
    assert wide.n_bytes == small.n_bytes


def test_halos_come_for_a_layer_and_go_home_on_the_way_back():
    picture = lecture_08.halo_player()
    trace = picture._trace
    for label in ("forward conv1", "forward conv2"):
        rows = levels_at(picture, middle(trace, label, 1))[1]
        assert rows == [0, 1, 1, 1, 1, 0, 0, 0], label
    at_end = levels_at(picture, trace.end_s)
    assert at_end == [[int(row // 2 == rank) for row in range(8)] for rank in range(4)]
    halos = [m for m in trace.messages if m.tag == "halo"]
    assert len(halos) == 3 * 6, "two layers forward, one back"


@pytest.mark.parametrize("join", lecture_08.JOIN_NAMES.values())
def test_joins_bring_everything_once_and_hold_what_they_need(join):
    picture = lecture_08.join_player(join)
    held = picture._still["contributions"]
    brought = [sum(f.counts) for f in held.fills if f.rank == 0]
    room = {"all_at_once": 12, "by_turns": 8, "by_slices": 6}[join]
    now, most = [0, 0, 0, 0], 0
    for fill in held.fills:
        if fill.rank == 0:
            now[fill.chunk] = sum(fill.counts)
            most = max(most, sum(now))
    assert brought
    assert now == [0, 0, 0, 0], "the others' examples are let go"
    assert most <= room
    carried = [carry for carry in held.carried if carry]
    assert len(carried) == picture._trace.n_messages // 2, "the other half are slopes"


def test_parameters_come_whole_for_one_layer_at_a_time(zero):
    held = lecture_08.parameters_held(zero)
    assert lecture_08.most_layers(held) == 1
    picture = lecture_08.zero_player(zero)
    for word in ("forward fc1", "forward fc3", "input gradient fc2"):
        layer = int(word[-1]) - 1
        cells = levels_at(picture, middle(zero, word, 2))[2]
        assert cells == [4 if cell == layer else 1 for cell in range(3)], word
    assert levels_at(picture, zero.end_s) == [[1, 1, 1]] * 4
    n_parameters = sum(bool(carry) for carry in held.carried)
    assert n_parameters == 4 * 3 * (3 + 2), "three layers forward, two of them on the way back"


def test_a_bias_of_every_rank_is_found_by_values_only():
    runs = {d: lecture_08.digits_run(d, epochs=1) for d in (split_in_pairs, with_every_bias)}
    traffic = [[(m.src, m.dst, m.n_bytes) for m in made.trace.messages] for made in runs.values()]
    assert traffic[0] == traffic[1]
    wrong = lecture_08.put_together(runs[with_every_bias], with_every_bias)
    np.testing.assert_allclose(wrong.split - wrong.joined, 3 * wrong.bias + 0 * wrong.split,
                               rtol=0, atol=1e-12)  # fmt: skip
    right = lecture_08.put_together(runs[split_in_pairs], split_in_pairs)
    np.testing.assert_allclose(right.split, right.joined, rtol=0, atol=1e-12)
    assert np.abs(wrong.bias).max() > 1e9 * 1e-12


@pytest.mark.parametrize("net", ["AlexNet", "GoogLeNet"])
def test_bytes_are_those_that_the_sized_steps_send(net):
    step, _ = SizedStep(PUBLISHED[net], 64).shortened(networks.ethernet_10g)

    def sent(fn):
        return sum(run(fn, step, workers=4, backend="simulated").trace.bytes_sent()) / 4

    scaled = 1 / step.scale
    hybrid = sum(hybrid_bytes(step, 1, 4).values())
    data = sum(hybrid_bytes(step, 4, 1).values())
    assert sent(hybrid_step) * scaled == pytest.approx(hybrid, rel=3e-3)
    assert sent(data_step) * scaled == pytest.approx(data, rel=3e-3)
    assert abs(hybrid - data) > 0.01 * data


def test_alexnets_bytes_are_those_of_the_paper_s_sizes():
    step = SizedStep(PUBLISHED["AlexNet"], 512)
    one = hybrid_bytes(step, 1, 4)
    assert one["gradients"] == 1.5 * 4 * 2_334_080
    assert one["activations"] == 1.5 * 4 * 512 * (9216 + 4096 + 4096)
    assert sum(hybrid_bytes(step, 4, 1).values()) == 1.5 * 4 * 60_965_224
    assert model_bytes(step, 1) == {"gradients": 0, "activations": 0}


def test_a_price_sheet_says_what_is_sent_and_held():
    rows = lecture_08.price_sheet("AlexNet", 512, 4).rows
    assert [row[0] for row in rows] == [
        "data parallel", "hybrid", "every layer split", "ZeRO, stage 3"
    ]  # fmt: skip
    assert [row[1] for row in rows] == ["366 MB", "14 MB", "0 B", "549 MB"]
    assert [row[2] for row in rows] == ["0 B", "53.5 MB", "800 MB", "0 B"]
    assert [row[3] for row in rows] == ["100 %", "28 %", "25 %", "25 %"]


def test_charts_mark_the_cheapest_of_all_grids():
    assert grids(8) == [(8, 1), (4, 2), (2, 4), (1, 8)]
    for picture in (
        lecture_08.pairs_chart(256, 8192, 8),
        lecture_08.hybrid_chart("VGG-16", 128, 8),
    ):
        bars = picture.chart["bars"]
        best = min(bars, key=lambda bar: bar[1])
        assert [bar for bar in bars if bar[3]] == [best]
    assert lecture_08.pairs_chart(256, 8192, 8).chart["bars"][0][3], "a large batch: replicas"
    seconds = lecture_08.seconds_chart("AlexNet", networks.ethernet_10g, 128, 2).chart["bars"]
    assert len(seconds) == 3
    stages = lecture_08.stages_chart(7_500_000_000, 64).chart["bars"]
    assert [round(bar[1] / 1e9) for bar in stages] == [120, 31, 17, 2]


def test_a_convolution_is_cut_by_rows_until_images_are_small():
    marked = {
        name: next(bar[0] for bar in lecture_08.conv_chart(image, 3, 4).chart["bars"] if bar[3])
        for name, image in lecture_08.IMAGES.items()
    }
    assert list(marked.values()) == ["by rows"] * 3 + ["by channels"]
    assert lecture_08.net_row("AlexNet")["parameters, millions"] == 61.0


@pytest.mark.slow
def test_real_steps_have_a_bar_for_each_way_and_batch():
    picture = lecture_08.real_steps(width=16, batches=(4,))
    bars = {name: value for name, value, *_ in picture.chart["bars"]}
    assert list(bars) == [f"4 examples, {way}" for way in ("replicas", "split")]
    assert min(bars.values()) > 0
    assert "times as long as the fastest" in picture.chart["said"]
