"""Explore in a real browser, on a saved page: no kernel, no network."""

from itertools import combinations

import numpy as np
import pytest

from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.viz import chart, explore, knob, player
from course_lib.viz.animation.script import read_esm

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EXPLORE = "document.querySelector('.lm-explore').explore"


def ring(comm, n_bytes):
    allreduce_ring(comm, np.ones(n_bytes // 8))


def picture(workers, shown, n_bytes):
    if workers == 3 and shown == "bars":
        raise ValueError("three has no bars")
    if shown == "messages":
        made = run(ring, n_bytes, workers=workers, backend="simulated")
        return player(made.trace, layout="ring")
    return {"rounds": 2.0 * (workers - 1), "bytes": 2 * n_bytes * (workers - 1) / workers}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    widget = explore(
        picture, title="A ring",
        workers=knob([2, 3, 4, 8], label="workers P"), shown=["messages", "bars"], n_bytes=[4096],
    )  # fmt: skip
    return widget.save(tmp_path_factory.mktemp("explore") / "explore.html")


@pytest.fixture
def page(loaded, saved):
    page, complaints = loaded(saved, width=1100)
    page.wait_for_selector(".lm-explore")
    yield page
    assert complaints == []


def test_a_chart_is_enlarged_for_a_lecture_room_and_stays_large(page):
    page.get_by_role("button", name="bars").click()
    svg = page.locator(".lm-chart svg[role=img]")
    before = svg.bounding_box()
    page.get_by_role("button", name="large").click()
    after = svg.bounding_box()
    assert after["height"] == pytest.approx(1.5 * before["height"])
    assert after["width"] == pytest.approx(before["width"])
    page.get_by_role("slider", name="workers P").press("End")
    assert page.get_by_role("button", name="large").get_attribute("aria-pressed") == "true"
    assert svg.bounding_box()["height"] == pytest.approx(after["height"])


@pytest.fixture
def shown(loaded, tmp_path):
    """Open the page of a chart, and hold it to have complained of nothing."""
    heard = []

    def show(made):
        page, complaints = loaded(made.save(tmp_path / "chart.html"), width=1000)
        heard.append(complaints)
        page.wait_for_selector(".lm-chart")
        return page

    yield show
    assert all(complaints == [] for complaints in heard), heard


def test_bars_below_zero_begin_there_and_no_number_stands_on_a_name(shown):
    page = shown(chart({"saved": -1.5, "lost": 2.0}, unit="s"))
    saved, lost = (bar.bounding_box() for bar in page.locator(".lm-amount").all())
    assert saved["x"] + saved["width"] == pytest.approx(lost["x"], abs=1)
    assert saved["width"] / lost["width"] == pytest.approx(0.75, abs=0.01)
    numbers = page.locator("text.lm-legend").all()
    assert [number.text_content() for number in numbers] == ["-1.5 s", "2 s"]
    assert all(number.bounding_box()["x"] > lost["x"] for number in numbers)


def test_a_curve_has_a_gap_and_a_cross_where_it_is_no_finite_number(shown):
    points = [(0, 1), (1, 2), (2, float("inf")), (3, 3), (4, float("-inf"))]
    page = shown(chart({"loss": points}))
    d = page.locator(".lm-curve").first.get_attribute("d")
    assert (d.count("M"), d.count("L"), d.count("h5")) == (2, 1, 1), "a line, and a point alone"
    assert page.locator("circle.lm-dot").count() == 3
    up, down, _of_legend = (cross.bounding_box()["y"] for cross in page.locator(".lm-gap").all())
    assert up < down - 200
    assert page.locator("text.lm-legend").all_text_contents() == ["loss", "no finite number"]
    assert page.get_by_role("img", name="loss; a cross: no finite number").count() == 1


def test_an_axis_of_three_hundred_powers_of_ten_has_its_line_and_its_ticks(shown):
    page = shown(chart({"all": [(1e-150, 1e-150), (1e150, 1e150)]}, x_log=True, y_log=True))
    assert "NaN" not in page.locator(".lm-curve").first.get_attribute("d")
    assert page.locator("text.lm-tick", has_text="1e-116").count() > 0


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
    assert (
        page.get_by_role("status").text_content()
        == page.locator(".lm-player .lm-caption").text_content()
    )


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


def test_switches_speed_and_play_hold_when_a_slider_moves(page):
    player = page.locator(".lm-player")
    page.get_by_role("button", name="large").click()
    page.get_by_label("speed").select_option("0.25")
    page.get_by_label("play", exact=True).click()
    page.get_by_role("slider", name="workers P").focus()
    page.keyboard.press("End")
    assert page.locator(".lm-box").count() == 8
    assert page.locator('.lm-choice[aria-pressed="true"]').all_inner_texts() == ["large"]
    assert page.get_by_label("speed").input_value() == "0.25"
    assert player.evaluate("(node) => node.player.isPlaying()")


def test_a_baked_error_is_a_sentence_beside_the_last_picture(page):
    page.get_by_role("button", name="bars").click()
    page.get_by_role("slider", name="workers P").focus()
    page.keyboard.press("ArrowRight")
    said = page.get_by_text("ValueError: three has no bars")
    assert said.get_attribute("aria-live") == "polite"
    assert page.locator(".lm-amount").count() == 2
    page.keyboard.press("ArrowRight")
    assert said.is_hidden()


def test_the_focus_stays_in_the_picture_that_is_exchanged(page):
    """Else it would fall to the page, and the next key would reach the notebook."""
    page.locator(".lm-player").focus()
    page.evaluate(
        """() => { const slider = document.querySelector(".lm-knob input");
          slider.value = 3; slider.dispatchEvent(new Event("input")); }"""
    )
    assert page.locator(".lm-box").count() == 8
    assert page.evaluate("document.activeElement.className").startswith("lm-root lm-player")


def test_a_knob_with_one_value_is_told_and_cannot_be_moved(page):
    assert page.get_by_role("group", name="n_bytes").inner_text().split() == ["n_bytes", "4,096"]
    assert page.locator(".lm-knob input").count() == 1


def test_what_was_shown_leaves_no_listeners_and_asks_are_answered_newest_first(page):
    """A kernel that is slow: of many settings only the first and the newest are computed."""
    asked, boxes, listeners, left = page.evaluate(
        """async (esm) => {
          const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
          const { default: widget } = await import(url);
          const traits = JSON.parse(document.querySelector(".lm-slot script").textContent);
          const picture = (key) => traits.pictures[traits.found[key]], hears = [], asked = [];
          const layout = {
            on: (_, act) => hears.push(act), off: (_, act) => hears.splice(hears.indexOf(act), 1) };
          const live = { ...traits, live: true, found: { "0,0,0": 0 }, layout };
          const model = { get: (name) => live[name], set() {}, save_changes() {}, on() {}, off() {},
            send: ({ key }) => asked.push(key) };
          const el = document.body.appendChild(document.createElement("div"));
          const away = widget.render({ model, el }), slider = el.querySelector(".lm-knob input");
          for (const at of [1, 2, 1, 2, 3]) {
            slider.value = at;
            slider.dispatchEvent(new Event("input"));
          }
          const boxes = [...asked, "3,0,0"].map((key) => {
            hears[0]({ key, picture: picture(key) });
            return el.querySelectorAll(".lm-box").length;
          });
          away();
          return [asked, boxes, hears.length, el.childElementCount];
        }""",
        read_esm("explore", "player", "chart"),
    )
    assert asked == ["1,0,0", "3,0,0"]
    assert boxes == [3, 8], "the picture follows while the slider moves"
    assert (listeners, left) == (0, 0)


def test_a_chart_below_another_follows_the_same_setting(browser, tmp_path):
    def both(n):
        return chart({"n": [(0, 0), (1, n)]}, below=chart({f"bar {k}": float(k) for k in range(n)}))

    path = explore(both, n=[2, 5]).save(tmp_path / "both.html")
    page = browser.new_page(viewport={"width": 800, "height": 800})
    page.goto(path.as_uri())
    assert page.locator(".lm-chart svg[role=img]").count() == 2
    assert page.locator(".lm-amount").count() == 2
    page.get_by_role("slider", name="n").press("End")
    assert page.locator(".lm-amount").count() == 5
    assert page.locator(".lm-curve").count() == 1
    page.close()


def test_names_of_points_near_each_other_do_not_cover_each_other(browser, tmp_path):
    near = {"bounded, Downpour": (137_761, 6.3), "local SGD": (182_275, 5.9), "top-k": (140_995, 6)}
    curve = {"": [(10_000, 1), (500_000, 11)]}
    path = chart(curve, points=near, x_log=True).save(tmp_path / "near.html")
    page = browser.new_page(viewport={"width": 640, "height": 500})
    page.goto(path.as_uri())
    boxes = [page.locator("text", has_text=name).bounding_box() for name in near]
    page.close()
    for a, b in combinations(boxes, 2):
        beside = a["x"] + a["width"] < b["x"] or b["x"] + b["width"] < a["x"]
        above = a["y"] + a["height"] - 3 < b["y"] or b["y"] + b["height"] - 3 < a["y"]  # no letters
        assert beside or above


def test_an_axis_rounds_no_number_that_it_is_marked_with(browser, tmp_path):
    marks = (0.00012, 0.0125, 200_000, 3e6)
    path = chart({"": [(1e-4, 1), (1e7, 2)]}, x_log=True, x_ticks=marks).save(tmp_path / "a.html")
    page = browser.new_page()
    page.goto(path.as_uri())
    written = page.locator(".lm-tick").all_text_contents()
    page.close()
    assert {"1.2e-4", "0.0125", "200,000", "3e6"} <= set(written)
