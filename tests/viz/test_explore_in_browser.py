"""Explore in a real browser, on a saved page: no kernel, no network."""

import numpy as np
import pytest

from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.viz import explore, knob, player

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EXPLORE = "document.querySelector('.lm-explore').explore"


def ring(comm, n_bytes):
    allreduce_ring(comm, np.ones(n_bytes // 8))


def picture(workers, shown):
    if shown == "messages":
        made = run(ring, 4096, workers=workers, backend="simulated")
        return player(made.trace, layout="ring")
    return {"rounds": 2.0 * (workers - 1), "bytes": 2 * 4096 * (workers - 1) / workers}


@pytest.fixture
def page(browser, tmp_path):
    widget = explore(
        picture, title="A ring",
        workers=knob([2, 3, 4, 8], label="workers P"), shown=["messages", "bars"],
    )  # fmt: skip
    path = widget.save(tmp_path / "explore.html")
    context = browser.new_context(viewport={"width": 1100, "height": 800}, offline=True)
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text))
    page.goto(path.as_uri())
    page.wait_for_selector(".lm-explore")
    yield page
    context.close()
    assert complaints == []


def test_the_picture_follows_a_slider_by_keys_and_says_its_value(page):
    slider = page.get_by_role("slider", name="workers P")
    assert page.locator(".lm-box").count() == 2
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".lm-box").count() == 3
    page.keyboard.press("End")
    assert page.locator(".lm-box").count() == 8
    assert slider.get_attribute("aria-valuetext") == "8"
    assert page.locator(".lm-explore .lm-player").count() == 1


def test_a_choice_changes_the_picture_and_shows_what_is_pressed(page):
    page.get_by_role("button", name="bars").click()
    assert page.locator(".lm-amount").count() == 2
    assert page.locator(".lm-box").count() == 0
    pressed = page.locator('.lm-knob button[aria-pressed="true"]')
    assert pressed.all_inner_texts() == ["bars"]


def test_the_playhead_keeps_its_part_of_the_whole(page):
    fraction = "document.querySelector('.lm-player').transport.fraction()"
    page.evaluate("document.querySelector('.lm-player').transport.seekFraction(0.5)")
    page.get_by_role("slider", name="workers P").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(fraction) == pytest.approx(0.5, abs=0.01)
    assert page.locator(".lm-box").count() == 3


def test_everything_that_can_be_pressed_is_named_and_large_enough(page):
    for node in page.locator(".lm-knob button, .lm-knob input").all():
        box = node.bounding_box()
        assert min(box["width"], box["height"]) >= 24
        assert node.get_attribute("aria-label") or node.inner_text()
    assert page.get_by_role("group", name="explore: A ring").count() == 1
