"""The timeline in a real browser: one page with two runs of different lengths."""

import re

import numpy as np
import pytest

from course_lib import run
from course_lib.trace.events import Compute, Note
from course_lib.trace.trace import Trace
from course_lib.viz import gantt, timeline
from tests.viz.traces import map_reduce, ring

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = "document.querySelector('.lm-timelines')"


def short():
    return ring(4)


def long():
    return ring(4, length=32768)


@pytest.fixture(scope="module")
def pages(browser, tmp_path_factory):
    """The same page twice: as it is, and with reduced motion on a narrow dark screen."""
    folder, complaints, opened = tmp_path_factory.mktemp("timeline"), [], {}
    widget = timeline({"short": short(), "long": long()}, title="Two rings")
    for name, width, motion in (("usual", 1100, "no-preference"), ("narrow", 600, "reduce")):
        path = widget.save(folder / f"{name}.html", dark=name == "narrow")
        context = browser.new_context(
            viewport={"width": width, "height": 800}, offline=True, reduced_motion=motion
        )
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text))
        page.goto(path.as_uri())
        page.wait_for_selector(".lm-timelines")
        opened[name] = page
    yield opened
    assert complaints == []


@pytest.fixture
def page(pages):
    pages["usual"].evaluate(f"{ROOT}.transport.seekFraction(0)")
    return pages["usual"]


def time_s(page):
    return page.evaluate(f"{ROOT}.timeline.time()")


def test_both_runs_lie_on_one_axis_and_the_shorter_ends_earlier(page):
    right = page.eval_on_selector_all(
        ".lm-timeline", "(all) => all.map((svg) => svg.querySelector('.lm-wait').getBBox())"
        ".map((box) => box.x + box.width)",
    )  # fmt: skip
    left = page.eval_on_selector(
        ".lm-timeline", "(svg) => svg.querySelector('.lm-wait').getBBox().x"
    )
    ratio = (right[0] - left) / (right[1] - left)
    assert ratio == pytest.approx(short().end_s / long().end_s, rel=0.01)
    assert page.locator(".lm-run-name").all_inner_texts() == ["short", "long"]


def test_one_playhead_runs_through_both_and_each_says_what_happens(page):
    past = (short().end_s + long().end_s) / 2 / long().end_s
    page.evaluate(f"{ROOT}.transport.seekFraction({past})")
    first, second = page.locator(".lm-caption > div").all_inner_texts()
    assert first == "short: the run is over: 24 messages, 393 KB"
    assert second.startswith("long: 4 messages are between send and arrival")
    assert page.locator(".lm-head").count() == 1
    lanes = page.locator(".lm-timeline").all()
    head = page.locator(".lm-head").bounding_box()
    for lane in lanes:
        box = lane.bounding_box()
        assert head["y"] <= box["y"] + 10
        assert head["y"] + head["height"] >= box["y"] + box["height"] - 30


def test_what_is_to_come_is_pale_while_the_playhead_is_under_way(page):
    def width():
        return page.locator(".lm-future").evaluate("(node) => node.getBoundingClientRect().width")

    assert width() == 0, "at the start everything can be read"
    page.evaluate(f"{ROOT}.transport.seekFraction(0.25)")
    quarter = width()
    page.evaluate(f"{ROOT}.transport.seekFraction(0.75)")
    assert width() == pytest.approx(quarter / 3, rel=0.01)


def test_dragging_seeks_and_hovering_tells(page):
    box = page.locator(".lm-timeline").nth(1).bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 20)
    assert page.locator(".lm-tip").inner_text().startswith("rank 0 waits for rank 3; from ")
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20, steps=3)
    page.mouse.up()
    assert 0.4 * long().end_s < time_s(page) < 0.6 * long().end_s


def test_keys_step_to_both_runs_and_the_switch_marks_the_critical_path(page):
    page.locator(".lm-timelines").focus()
    page.keyboard.press("End")
    assert time_s(page) == pytest.approx(long().end_s, rel=1e-6)
    page.keyboard.press("Home")
    assert time_s(page) == 0
    button = page.get_by_role("button", name="critical path")
    button.click()
    assert page.locator(".lm-critical").count() == 2
    assert (
        "short: critical path of 6 messages, under way for"
        in page.locator(".lm-aside").inner_text()
    )
    button.click()
    assert page.locator(".lm-critical").count() == 0
    assert page.get_by_role("group", name="timeline: Two rings").count() == 1
    assert page.get_by_role("button", name="even steps").count() == 0


def test_with_reduced_motion_it_jumps_and_nothing_overlaps_on_a_narrow_page(pages):
    page = pages["narrow"]
    page.locator(".lm-timelines").focus()
    page.keyboard.press("ArrowRight")
    assert 0 < time_s(page) < short().end_s
    boxes = page.eval_on_selector_all(
        ".lm-timelines text, .lm-run > span, .lm-keys > span, .lm-bar > *",
        "(all) => all.filter((n) => n.textContent || n.tagName !== 'text')"
        ".map((n) => n.getBoundingClientRect()).map((r) => [r.x, r.y, r.right, r.bottom])",
    )
    assert len(boxes) > 20
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= 600
        for other in boxes[:number]:
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            assert apart
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.lm-root')).backgroundColor")
        == "rgb(20, 23, 26)"
    )


def test_a_run_that_computes_names_its_marks(browser, tmp_path):
    path = timeline(map_reduce(4, 3), even_steps=True).save(tmp_path / "one.html")
    page = browser.new_page(viewport={"width": 1100, "height": 600})
    page.goto(path.as_uri())
    page.wait_for_selector(".lm-timelines")
    assert page.locator(".lm-keys span").all_inner_texts() == [
        "computes", "waits", "a message, from send to receive"
    ]  # fmt: skip
    assert "not to scale" in page.locator(".lm-aside").inner_text()
    page.close()


def test_of_a_name_without_room_what_cannot_be_taken_for_another_number_stays(browser, tmp_path):
    spans = [Compute(0, "trial 12", 0, 0.0, 0.05), Compute(0, "3 @ 9", 0, 0.06, 0.09),
             Compute(0, "3 @ 9", 0, 0.1, 1.0)]  # fmt: skip
    trace = Trace("simulated", "virtual", 2, computes=spans)
    path = timeline(trace, critical_path=True).save(tmp_path / "names.html")
    page = browser.new_page(viewport={"width": 600, "height": 600})
    page.goto(path.as_uri())
    page.wait_for_selector(".lm-timelines")
    assert page.locator(".lm-name").all_text_contents() == ["12", "3", "3 @ 9"]
    page.close()


def test_where_names_compete_the_oldest_gradient_keeps_its_own(browser, tmp_path):
    ages = ((1.0, 1), (4.9, 12), (4.91, 1), (7.0, 2), (9.95, 9))
    notes = [Note(0, "staleness", age, time_s) for time_s, age in ages]
    spans = [Compute(0, "gradient", 0.0, 0.0, 10.0)]
    trace = Trace("simulated", "virtual", 1, computes=spans, notes=notes)
    page = browser.new_page(viewport={"width": 700, "height": 600})
    page.goto(timeline(trace).save(tmp_path / "page.html").as_uri())
    told = ["12 old", "9 old", "2 old", "1 old"]
    assert page.locator(".lm-timeline .lm-note").all_text_contents() == told
    assert page.locator(".lm-timeline .lm-mark").count() == 4, "no mark under a name"
    page.close()


def to_and_fro(comm):
    """Compute in turn, so that all of it is on the critical path."""
    for turn in range(4):
        if turn % 2 == comm.rank:
            with comm.compute(f"turn {turn}", flops=1e8):
                w = np.zeros(9)
            comm.send(w, dst=1 - comm.rank)
        else:
            comm.recv(src=1 - comm.rank)


def test_neither_messages_nor_the_critical_path_strike_out_names(browser, tmp_path):
    trace = run(to_and_fro, workers=2, backend="simulated").trace
    path = timeline(trace, critical_path=True).save(tmp_path / "critical.html")
    page = browser.new_page(viewport={"width": 1100, "height": 600})
    page.goto(path.as_uri())
    page.wait_for_selector(".lm-timelines")
    way = page.locator(".lm-critical").get_attribute("d")
    heights = {float(y) for y in re.findall(r"(?: |V)([\d.]+)(?=[LVH]|$)", way)}
    names = page.eval_on_selector_all(
        ".lm-name", "(all) => all.map((name) => +name.getAttribute('y'))"
    )
    above = page.eval_on_selector_all(
        ".lm-timeline :is(.lm-line, .lm-name)", "(all) => all.map((node) => node.classList[0])"
    )
    page.close()
    assert above == ["lm-line"] * (len(above) - 4) + ["lm-name"] * 4  # what comes later lies above
    assert len(above) > 4
    assert len(heights) >= 2
    assert len(names) == 4
    assert min(abs(height - name) for height in heights for name in names) > 5


def test_a_gantt_chart_is_named_by_its_time_and_shows_whole_words_only(browser, tmp_path):
    spans = [Compute(0, "backward L1", 1.0, 0.0, 0.9), Compute(0, "block_with_name", 1.0, 0.9, 1.0)]
    path = gantt({"a step": Trace("simulated", "virtual", 1, computes=spans)}).save(
        tmp_path / "gantt.html"
    )
    page = browser.new_page(viewport={"width": 600, "height": 600})
    page.goto(path.as_uri())
    assert page.get_by_role("group", name="timeline: a step: 1 s", exact=True).count() == 1
    assert page.get_by_role("img", name="timeline of a step: 1 s", exact=True).count() == 1
    assert page.locator(".lm-name").all_text_contents() == ["backward L1"]
    cut = page.eval_on_selector_all(
        ".lm-timeline text", "(all) => all.filter((text) => text.getBoundingClientRect().x"
        " < text.ownerSVGElement.getBoundingClientRect().x).map((text) => text.textContent)",
    )  # fmt: skip
    assert cut == []
    page.close()
