"""Strips in a real browser: cells fill as Python says, tokens cover none of them."""

import pytest

from course_lib.collectives import (
    allreduce_halving_doubling,
    allreduce_ring,
    allreduce_tree,
    allreduce_two_level,
)
from course_lib.lectures.lecture_07 import flow
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.snapshot import boundaries, steps, what_is_where
from tests.viz.test_player_in_browser import PLAYER, make_narrow, press
from tests.viz.traces import accident, watched

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RUNS = [
    pytest.param(lambda: watched(), id="ring of 4"),
    pytest.param(lambda: watched(allreduce_tree, 7), id="tree of 7"),
    pytest.param(lambda: watched(allreduce_halving_doubling), id="halving and doubling"),
    pytest.param(lambda: watched(allreduce_two_level, 8), id="hosts"),
    pytest.param(lambda: watched(size=16), id="ring of 16"),
    pytest.param(lambda: watched(size=64), id="ring of 64"),
    pytest.param(lambda: flow("1F1B", 4, 8, 0.25), id="micro-batches of a pipeline"),
]


def open_run(opened, run, **options):
    return opened(run.trace, contributions=run.contributions, **options)


@pytest.mark.parametrize("run", RUNS)
def test_the_browser_fills_cells_and_captions_as_python_does(opened, run):
    scene = make_scene(run().trace, contributions=run().contributions)
    times = steps(scene) + [tick * scene.tick_s for tick in boundaries(scene)]
    times = times[:: max(1, len(times) // (60 if scene.size <= 16 else 15))]
    seen = open_run(opened, run()).evaluate(
        f"""(times) => times.map((time) =>
          [{PLAYER}.at(time).workers.map((w) => w.cells), {PLAYER}.say(time)])""",
        times,
    )
    for time, (cells, sentence) in zip(times, seen, strict=True):
        moment = what_is_where(scene, time)
        assert sentence == moment.caption
        assert [tuple(levels) for levels in cells] == [worker.cells for worker in moment.workers]


def test_the_numbers_of_empty_cells_can_be_read_whatever_the_rank_does(opened):
    run = flow("GPipe", 4, 8, 0.25)
    found = open_run(opened, run).evaluate(
        """() => {
          const root = document.querySelector(".lm-player");
          root.transport.seekFraction(0.02);
          const colour = (rank, what) => getComputedStyle(
            root.querySelectorAll(".lm-box")[rank].querySelector(what)).fill;
          return [0, 1].map((rank) => [
            root.querySelectorAll(".lm-box")[rank].dataset.state,
            colour(rank, '.lm-cell[data-state="part"] .lm-chunk'), colour(rank, ".lm-paper")]);
        }"""
    )
    (working, ink, paper), (waiting, other_ink, _) = found
    assert (working, waiting) == ("compute", "wait")
    assert ink == other_ink != paper


@pytest.mark.parametrize("layout", ["ring", "star", "tree", "line", "grid"])
@pytest.mark.parametrize("size", [4, 16])
def test_tokens_stand_at_the_edge_of_a_box_and_never_on_what_is_written_in_it(opened, size, layout):
    run = watched(allreduce_tree if layout == "tree" else allreduce_ring, size)
    page = open_run(opened, run, layout=layout)
    found = page.evaluate(
        """(parts) => parts.flatMap((part) => {
          const root = document.querySelector(".lm-player"), first = root.querySelector(".lm-box");
          const grounds = [...root.querySelectorAll(".lm-ground")];
          const boxes = grounds.map((node) => node.getBoundingClientRect());
          root.transport.seekFraction(part);
          return [...root.querySelectorAll(".lm-token")].map((token) => {
            const box = token.querySelector("rect").getBoundingClientRect();
            const x = (box.x + box.right) / 2, y = (box.y + box.bottom) / 2;
            const { src, dst } = root.player.scene.messages[token.dataset.index];
            const on = [boxes[src], boxes[dst]].filter((b) =>
              x > b.x && x < b.right && y > b.y && y < b.bottom);
            const way = token.compareDocumentPosition(first);
            return [way === Node.DOCUMENT_POSITION_FOLLOWING, on.length];
          });
        })""",
        [0, 0.01, 0.3, 0.49],
    )
    assert len(found) >= 4
    assert {tuple(one) for one in found} == {(True, 0)}, "a box is drawn above all tokens"


def test_a_cell_is_as_full_as_it_has_contributions_and_ticked_off_when_complete(opened):
    run = watched()
    page = open_run(opened, run)

    def shown(rank, cell):
        box = page.locator(".lm-box").nth(rank).locator(f'[data-cell="{cell}"]')
        empty, bar = box.locator("rect").all()
        part = bar.bounding_box()["height"] / empty.bounding_box()["height"]
        count, tick = box.locator(".lm-count"), box.locator(".lm-tick-mark")
        return round(4 * part), count.text_content(), tick.get_attribute("visibility")

    assert shown(1, 0) == (1, "1/4", "hidden")
    page.evaluate(f"{PLAYER}.seek({run.trace.messages[0].received_s + 1e-9!r})")
    assert shown(1, 0) == (2, "2/4", "hidden")
    press(page, "End")
    assert {shown(rank, cell) for rank in range(4) for cell in range(4)} == {(4, "", "visible")}


@pytest.mark.parametrize("run", RUNS)
def test_boxes_stay_apart_and_strips_stay_inside(opened, run):
    page = open_run(opened, run(), width=1000)
    assert_apart_and_inside(page)
    make_narrow(page)
    assert_apart_and_inside(page)


def assert_apart_and_inside(page):
    boxes, strips = (
        page.eval_on_selector_all(
            selector,
            "(all) => all.map((n) => n.getBoundingClientRect())"
            ".map((r) => [r.x, r.y, r.right, r.bottom])",
        )
        for selector in (".lm-box .lm-ground", ".lm-box .lm-paper")
    )
    for number, (left, top, right, bottom) in enumerate(boxes):
        x, y, x_end, y_end = strips[number]
        assert left < x < x_end < right
        assert top < y < y_end < bottom
        for other in boxes[:number]:
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            assert apart


def test_a_token_of_several_chunks_has_all_their_colours(opened):
    page = open_run(opened, watched(allreduce_halving_doubling))
    page.evaluate(f"{PLAYER}.seek(1e-6)")
    token = page.locator('.lm-token[data-index="0"]')
    fills = [rect.get_attribute("fill") for rect in token.locator("rect").all()]
    assert len(set(fills)) == len(fills) == 2


def test_the_critical_path_can_be_switched_on(opened):
    page = open_run(opened, watched())
    assert page.locator(".lm-critical").count() == 0
    page.get_by_role("button", name="critical path").click()
    way = page.locator(".lm-critical").get_attribute("d")
    assert way.count("L") == 2 * 6 + 1 - 1, "six messages, each a stay and a flight"
    page.get_by_role("button", name="critical path").click()
    assert page.locator(".lm-critical").count() == 0
    assert open_run(opened, watched(), critical_path=True).locator(".lm-critical").count() == 1


def test_lost_messages_fade_and_a_failed_worker_is_crossed_out(opened):
    page = opened(accident(), layout="line")
    press(page, "End")
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('.lm-lost')).opacity === '0.35'"
    )
    crosses = page.eval_on_selector_all(
        ".lm-cross", "(all) => all.map((n) => getComputedStyle(n).visibility)"
    )
    assert crosses == ["hidden", "visible", "hidden"]
    assert page.locator(".lm-timeline .lm-fault").get_attribute("d").count("M") == 1
