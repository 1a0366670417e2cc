"""A race and a landscape in a real browser, on one saved page each: no kernel, no network."""

import re

import numpy as np
import pytest

from course_lib import run
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes import data_parallel, downpour, parameter_averaging
from course_lib.training import Plan
from course_lib.viz import chart, landscape, race

pytestmark = [pytest.mark.browser, pytest.mark.slow]

X = np.linspace(-1, 1, 32)[:, None]
EXAMPLES = LinearRegression(1), X, 1 + 2 * X[:, 0] + np.sin(40 * X[:, 0])
PLAN = Plan(learning_rate=0.2, batch_size=8, epochs=2)


def diverging(comm):
    for loss in (1.0, float("inf"), float("nan"), 2.0):
        comm.note("loss_partial", loss / comm.size)


def drifting(comm):
    for step in range(4):
        comm.note("loss_partial", 1 / (step + 1))
        comm.note("checksum", float(comm.rank * step))


def crowd():
    """Return one walk, and one of twenty replicas that part at the end."""
    walk = np.linspace([3.0, 2.0], [1.0, 0.0], 10)
    many = np.stack([walk] * 20)
    many[:, -1, 1] += np.arange(20)
    return {"one": walk, "twenty": many}


def pictures():
    runs = {
        "gradients": run(data_parallel, *EXAMPLES, PLAN, workers=4, backend="simulated"),
        "parameters": run(parameter_averaging, *EXAMPLES, PLAN, 4, workers=4, backend="simulated"),
    }
    return {
        "race": race(runs, target=0.5, reference="gradients"),
        "apart": race({"drifting": run(drifting, workers=4, backend="simulated")}, replicas=True),
        "diverged": race({"it": run(diverging, workers=2, backend="simulated")}, target=0.5),
        "landscape": landscape({"parameters": runs["parameters"]}, EXAMPLES, start=(0, 0)),
        "left": landscape(
            {"it": [(-1, 1), (1, 1), (float("inf"), 1)]}, lambda a, b: np.log(a) + b
        ),
        "crowd": landscape(crowd(), lambda a, b: a**2 + b**2, dots="ranks"),
        "stale": landscape(
            {"it": run(downpour, *EXAMPLES, PLAN, workers=4, backend="simulated")},
            EXAMPLES, start=(0, 0),
        ),
    }  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {kind: p.save(folder / f"{kind}.html") for kind, p in pictures().items()}


@pytest.fixture
def opened(loaded, saved):
    heard = []

    def open_page(kind, **options):
        page, complaints = loaded(saved[kind], **options)
        heard.append(complaints)
        shown = {
            "apart": "race",
            "diverged": "race",
            "crowd": "landscape",
            "left": "landscape",
            "stale": "landscape",
        }.get(kind, kind)
        page.wait_for_selector(f".lm-{shown}")
        return page

    yield open_page
    assert all(complaints == [] for complaints in heard), heard


def seek(page, kind, fraction):
    page.evaluate(
        "([kind, f]) => { const p = document.querySelector('.lm-' + kind)[kind];"
        " p.seek(f * p.end()); }",
        [kind, fraction],
    )


def test_a_race_grows_names_who_leads_and_switches_its_axis(opened):
    page = opened("race")
    caption = page.locator(".lm-caption")
    assert caption.inner_text() == "gradients has not begun; parameters has not begun"
    seek(page, "race", 1.0)
    assert "lowest: " in caption.inner_text()
    clock = page.locator(".lm-clock")
    assert clock.inner_text() == "8 updates"
    page.get_by_role("button", name="bytes sent").click()
    assert clock.inner_text().split()[-1] in ("bytes", "KB")
    pressed = page.locator('.lm-axes button[aria-pressed="true"]')
    assert pressed.all_inner_texts() == ["bytes sent"]


def test_a_race_says_when_a_run_was_at_the_target_from_that_moment_on(opened):
    page = opened("race")
    there = page.locator(".lm-row").first.locator(".lm-there")
    flag = page.locator(".lm-flag").first
    assert there.inner_text() == ""
    assert flag.get_attribute("visibility") == "hidden"
    seek(page, "race", 1.0)
    after = r"there after \d updates"
    assert re.fullmatch(after, there.inner_text())
    assert flag.get_attribute("visibility") == "visible"
    assert re.search(f"gradients [\\d.]+, {after}; ", page.locator(".lm-caption").inner_text())
    page.get_by_role("button", name="time").click()
    assert re.fullmatch(r"there after [\d.]+ (s|ms|µs)", there.inner_text())


def test_what_is_to_come_is_not_shown_and_the_reference_is_grey(opened):
    page = opened("race")
    assert page.locator(".lm-ghost").count() == 0
    covered = page.locator("clipPath rect").evaluate("(rect) => rect.getAttribute('width')")
    assert float(covered) == 0
    strokes = page.locator("svg .lm-curve:not(.lm-row *)").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('stroke'))"
    )
    assert strokes[0] == "var(--soft)"
    assert strokes[1] != strokes[0]


def test_a_race_stops_and_says_so_where_a_loss_is_no_finite_number(opened):
    page = opened("diverged")
    seek(page, "race", 0.5)
    assert page.locator(".lm-caption").inner_text() == "it no finite number"
    assert page.locator(".lm-dot").get_attribute("visibility") == "hidden"
    assert page.locator(".lm-gap").count() == 1
    assert page.locator(".lm-flag").count() == 0, "nobody has reached 0.5"
    seek(page, "race", 1.0)
    assert page.locator(".lm-caption").inner_text() == "it 2"
    d = page.locator("svg .lm-curve:not(.lm-row *)").first.get_attribute("d")
    assert d.count("h5") == 2


def test_how_far_replicas_lie_apart_is_a_curve_and_a_number(opened):
    page = opened("apart")
    row = page.locator(".lm-row")
    assert "replicas" not in row.inner_text()
    seek(page, "race", 0.25)
    assert "replicas alike" in row.inner_text()
    seek(page, "race", 1.0)
    assert "replicas apart: 9" in row.inner_text()
    assert page.locator(".lm-distance").get_attribute("d").count("L") == 3


def test_dots_spread_meet_and_say_how_far_apart_they_are(opened):
    page = opened("landscape")
    caption = page.locator(".lm-caption")
    shown = '.lm-replica[visibility="visible"]'
    assert caption.inner_text().startswith("4 replicas on one spot")
    assert page.locator(shown).all_text_contents() == ["×4"]
    seek(page, "landscape", 0.3)
    assert "4 replicas up to" in caption.inner_text()
    assert page.locator(shown).count() == 4
    assert page.locator(".lm-mean").count() == 1
    seek(page, "landscape", 0.0)
    assert not page.locator('.lm-gone[d^="M"]').count()
    seek(page, "landscape", 0.95)
    assert page.locator('.lm-gone[d^="M"]').count() == 4, "what was long ago is faint"
    seek(page, "landscape", 1.0)
    assert page.locator(shown).all_text_contents() == ["×4"]


def test_a_walk_that_leaves_what_can_be_drawn_says_so_and_a_place_without_a_loss_too(opened):
    page = opened("left")
    caption = page.locator(".lm-caption")
    assert caption.inner_text() == "loss no finite number"
    seek(page, "landscape", 1.0)
    assert caption.inner_text() == "loss 1; leaves what can be drawn after step 1"


def test_one_dot_keeps_its_trail_and_the_number_of_twenty_fits_into_theirs(opened):
    page = opened("crowd")
    seek(page, "landscape", 0.8)
    assert page.locator('.lm-gone[d^="M"]').count() == 20, "those of the twenty"
    dots = page.locator('.lm-replica[visibility="visible"]')
    assert "20 ranks on one spot" in page.locator(".lm-caption").inner_text()
    boxes = "(dot) => [...dot.children].map((part) => part.getBBox().width)"
    for dot in dots.all():
        circle, text = dot.evaluate(boxes)
        assert text < circle - 2, "×20 must fit into its dot"


@pytest.mark.parametrize("kind", ["race", "landscape"])
def test_keys_play_and_step_and_reduced_motion_jumps(opened, kind):
    page = opened(kind, reduced_motion="reduce")
    root = page.locator(f".lm-{kind}")
    position = f"document.querySelector('.lm-{kind}').{kind}.position()"
    root.focus()
    page.keyboard.press("ArrowRight")
    first = page.evaluate(position)
    assert first > 0
    page.keyboard.press("End")
    assert page.evaluate(position) > first
    page.keyboard.press("Home")
    assert page.evaluate(position) == 0


def test_a_stale_gradient_is_an_arrow_with_a_head_that_stands_above_all_trails(opened):
    page = opened("stale")
    arrow = page.locator(".lm-stale")
    assert arrow.count() == 1
    assert arrow.get_attribute("d") in (None, ""), "at first all stand at the start"
    seek(page, "landscape", 1.0)
    path = arrow.get_attribute("d")
    assert path.count("M") == 2, "a shaft and a head"
    assert path.count("L") == 3
    order = page.locator(".lm-trail, .lm-stale").evaluate_all("all => all.map(n => n.classList[0])")
    assert order[-1] == "lm-stale"


def test_the_number_of_the_longest_bar_is_not_cut(loaded, tmp_path):
    bars = {"one process": 131.2, "one after the other": 269.4, "1F1B": 170.1}
    page, complaints = loaded(chart(bars, unit="ms").save(tmp_path / "bars.html"), width=640)
    page.wait_for_selector(".lm-chart .lm-legend")
    width = page.locator("svg[role=img]").evaluate("(svg) => svg.viewBox.baseVal.width")
    ends = page.locator("svg .lm-legend").evaluate_all(
        "(all) => all.map((text) => text.getBBox()).map((box) => box.x + box.width)"
    )
    assert len(ends) == 3
    assert max(ends) < width - 4
    assert complaints == []
