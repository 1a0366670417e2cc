"""The player in a real browser, on an exported page: no kernel, no network."""

import re
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from course_lib.trace.events import Compute, Message, Note
from course_lib.trace.replay import find_note
from course_lib.trace.trace import Trace
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.script import read_esm
from course_lib.viz.animation.snapshot import boundaries, steps, what_is_where
from tests.viz.traces import accident, map_reduce, pipelined, restarted, ring, stale

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PLAYER = "document.querySelector('.lm-player').player"


def time_s(page):
    return page.evaluate(f"{PLAYER}.time()")


def playing(page):
    return page.evaluate(f"{PLAYER}.isPlaying()")


def caption(page):
    return page.locator(".lm-caption").inner_text()


def press(page, *keys):
    page.locator(".lm-player").focus()
    for key in keys:
        page.keyboard.press(key)


def wait_until(page, condition):
    page.wait_for_function(condition.replace("player.", f"{PLAYER}."))


CASES = [
    pytest.param(lambda: ring(4), "ring", id="ring"),
    pytest.param(lambda: map_reduce(4, 3), "star", id="star"),
    pytest.param(lambda: ring(16), "line", id="line"),
    pytest.param(accident, "line", id="accident"),
    pytest.param(restarted, "line", id="restarted"),
    *(
        pytest.param(partial(stale, scheme), "star", id=scheme)
        for scheme in ("downpour", "hogwild")
    ),
]


@pytest.mark.parametrize(("trace", "layout"), CASES)
def test_the_browser_says_what_is_where_as_python_does(opened, trace, layout):
    scene = make_scene(trace(), layout)
    page = opened(trace(), layout=layout)
    times = steps(scene) + [tick * scene.tick_s for tick in boundaries(scene)]
    seen = page.evaluate(
        f"""(times) => times.map((time) => {{
          const moment = {PLAYER}.at(time);
          return [
            moment.tokens.map((t) => [t.m.index, t.position, t.state]),
            moment.workers.map((w) => [w.state, w.word, w.progress, w.said]),
            {PLAYER}.say(time),
          ];
        }})""",
        times,
    )
    assert len(times) > 3
    for time, (tokens, workers, sentence) in zip(times, seen, strict=True):
        moment = what_is_where(scene, time)
        assert sentence == moment.caption
        assert [tuple(worker) for worker in workers] == [
            (w.state, w.word, pytest.approx(w.progress, abs=1e-9), w.said) for w in moment.workers
        ]
        assert [tuple(token) for token in tokens] == [
            (t.number, pytest.approx(t.position, abs=1e-9), t.state) for t in moment.tokens
        ]


def test_passes_of_training_have_fills_of_their_own(opened):
    page = opened(pipelined())
    of_fill = {
        fill: page.locator(f'.lm-compute[data-fill="{fill}"]').evaluate_all(
            "(paths) => paths.map((path) => getComputedStyle(path).fill)"
        )
        for fill in range(4)
    }
    assert [len(found) for found in of_fill.values()] == [1, 0, 1, 1]
    assert len({found[0] for found in of_fill.values() if found}) == 3
    first = next(c for c in pipelined().computes if c.label.startswith("weight gradient"))
    page.evaluate(f"{PLAYER}.seek({(first.start_s + first.end_s) / 2!r})")
    box = page.locator(".lm-box").nth(first.rank)
    assert (box.get_attribute("data-state"), box.get_attribute("data-fill")) == ("compute", "3")


def test_what_was_noted_stands_beside_the_rank_and_on_its_lane(opened):
    trace = stale()
    page = opened(trace, layout="star")
    late = find_note(trace, "staleness", least=2)
    said = page.locator(".lm-box").nth(late.rank).locator(".lm-said")
    for time_s, expected in ((0.0, ""), (late.time_s, f"{late.value} old")):
        page.evaluate(f"{PLAYER}.seek({time_s!r})")
        assert said.text_content() == expected
    assert f"rank 0 has taken a gradient {late.value} updates old" in caption(page)
    scene = make_scene(trace, "star")
    n_marks = sum(mark.saying >= 0 for mark in scene.marks)
    assert page.locator(".lm-timeline .lm-mark").count() == n_marks > 3


def test_the_sum_that_a_rank_holds_is_larger_than_other_notes(opened):
    notes = [Note(0, "holds", 28, 0.0), Note(1, "staleness", 2, 0.0)]
    page = opened(replace(map_reduce(4, 1), notes=notes), layout="star")
    said = [page.locator(".lm-box").nth(rank).locator(".lm-said") for rank in (0, 1)]
    assert [one.text_content() for one in said] == ["28", "2 old"]
    large, small = (float(one.get_attribute("font-size")) for one in said)
    assert large > 1.3 * small


def test_a_token_is_drawn_where_it_is(opened):
    """Its way from the sender's to the receiver's box is covered evenly, and only once."""
    trace = map_reduce(4, 1)
    page = opened(trace, layout="star")
    scene = make_scene(trace, "star")
    first = min(range(6), key=lambda number: scene.messages[number].posted)
    flight = scene.messages[first]
    spots = []
    for part in (0.0, 0.25, 0.5, 0.75, 0.999):
        tick = flight.posted + part * (flight.arrived - flight.posted)
        page.evaluate(f"{PLAYER}.seek({tick * scene.tick_s!r})")
        box = page.locator(f'.lm-token[data-index="{first}"] rect').bounding_box()
        spots.append((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
    steps_px = [((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5 for a, b in pairwise(spots)]
    assert min(steps_px) > 20
    assert max(steps_px) < 1.3 * min(steps_px)
    sender, receiver = (
        page.locator(".lm-box .lm-ground").nth(rank).bounding_box() for rank in (flight.src, 0)
    )
    for (x, y), box in ((spots[0], sender), (spots[-1], receiver)):
        # It stands outside: half a token, which is at most 62 px long, away from the edge.
        assert box["x"] - 33 < x < box["x"] + box["width"] + 33
        assert box["y"] - 33 < y < box["y"] + box["height"] + 33


def test_it_never_starts_by_itself(opened):
    page = opened(ring(4))
    page.wait_for_timeout(300)
    assert (time_s(page), playing(page)) == (0, False)


def test_play_runs_to_the_end_and_plays_again_from_the_start(opened):
    trace = ring(4)
    page = opened(trace)
    page.get_by_label("speed").select_option("4")
    page.get_by_label("play", exact=True).click()
    assert playing(page)
    assert page.get_by_label("pause").count() == 1
    wait_until(page, "() => !player.isPlaying()")
    assert time_s(page) == pytest.approx(trace.end_s, rel=1e-6)
    assert caption(page) == "the run is over: 24 messages, 393 KB"
    page.get_by_label("play", exact=True).click()
    wait_until(page, f"() => player.time() < {trace.end_s / 2}")


def test_speed_sets_the_pace(opened):
    page = opened(map_reduce(4, 5), layout="star")  # 20 s at 1x
    went = {}
    for speed in ("0.25", "4"):
        page.get_by_label("to start").click()
        page.get_by_label("speed").select_option(speed)
        went[speed] = page.evaluate(
            f"""() => new Promise((done) => {{
              document.querySelector('[aria-label=play]').click();
              let begin = null;
              const look = (now) => {{
                begin ??= now;
                if (now - begin < 700) return requestAnimationFrame(look);
                document.querySelector('[aria-label=pause]').click();
                done({PLAYER}.time() / (now - begin));
              }};
              requestAnimationFrame(look);
            }})"""
        )
    assert 8 < went["4"] / went["0.25"] < 32


def test_pause_holds_the_time(opened):
    page = opened(ring(4))
    press(page, "Space")
    wait_until(page, "() => player.time() > 0")
    press(page, "Space")
    held = time_s(page)
    page.wait_for_timeout(200)
    assert 0 < held == time_s(page)
    assert not playing(page)


def test_keys_step_jump_and_change_the_speed_inside_the_player_only(opened):
    trace = ring(4)
    scene = make_scene(trace)
    page = opened(trace)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("End")
    assert time_s(page) == 0, "keys outside the player are not its own"
    press(page, "End")
    assert time_s(page) == pytest.approx(scene.end_s)
    press(page, "Home")
    assert time_s(page) == 0
    first, second = steps(scene)[:2]
    press(page, "ArrowRight")
    wait_until(page, f"() => Math.abs(player.time() - {first}) < 1e-9")
    press(page, "ArrowRight", "ArrowRight", "ArrowLeft")
    wait_until(page, f"() => Math.abs(player.time() - {second}) < 1e-9")
    press(page, "+", "+")
    assert page.get_by_label("speed").input_value() == "4"
    press(page, "-", "-", "-")
    assert page.get_by_label("speed").input_value() == "0.5"


def test_the_scrubber_and_the_playhead_can_be_dragged(opened):
    trace = ring(4)
    page = opened(trace)
    page.get_by_label("time", exact=True).fill("500")
    assert time_s(page) == pytest.approx(trace.end_s / 2, rel=1e-3)
    assert page.locator(".lm-clock").inner_text() == "99.32 µs virtual"
    lanes = page.locator(".lm-timeline").bounding_box()
    page.mouse.move(lanes["x"] + 60, lanes["y"] + 40)
    page.mouse.down()
    page.mouse.move(lanes["x"] + 800, lanes["y"] + 40, steps=5)
    page.mouse.up()
    assert 0.7 * trace.end_s < time_s(page) < 0.95 * trace.end_s


def test_hovering_tells_who_what_and_how_long(opened):
    page = opened(map_reduce(4, 1), layout="star")
    lanes = page.locator(".lm-timeline").bounding_box()
    page.mouse.move(lanes["x"] + 300, lanes["y"] + 8 + 2.5 * 24)
    assert page.locator(".lm-tip").inner_text().startswith("rank 2 waits for rank 0; from ")
    page.mouse.move(lanes["x"] + 300, lanes["y"] - 50)
    assert page.locator(".lm-tip").is_hidden()


def test_the_caption_is_live_and_changes_only_when_something_happens(opened):
    page = opened(ring(4))
    assert page.locator(".lm-caption").get_attribute("aria-live") == "polite"
    page.get_by_label("speed").select_option("4")
    page.evaluate(
        """() => {
          window.changes = 0;
          new MutationObserver((list) => { window.changes += list.length; })
            .observe(document.querySelector(".lm-caption"), { childList: true });
        }"""
    )
    press(page, "Space")
    wait_until(page, "() => !player.isPlaying()")
    assert page.evaluate("window.changes") == 6  # five changes of round, and the end


def test_even_steps_are_labelled_and_keep_the_time(opened):
    page = opened(map_reduce(4, 1), layout="star")
    page.evaluate(f"{PLAYER}.seek(3e-5)")
    before = page.locator(".lm-head").get_attribute("style")
    button = page.get_by_role("button", name="even steps")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert time_s(page) == pytest.approx(3e-5)
    assert page.locator(".lm-head").get_attribute("style") != before
    assert "not to scale" in page.locator(".lm-aside").inner_text()


def test_thinning_is_said_beside_the_caption(opened):
    page = opened(ring(64))
    assert "of 8,064 messages; totals count all" in page.locator(".lm-aside").inner_text()


def test_with_reduced_motion_play_goes_in_steps(opened):
    scene = make_scene(ring(4))
    page = opened(ring(4), reduced_motion="reduce")
    press(page, "ArrowRight")
    assert time_s(page) == pytest.approx(steps(scene)[0]), "a step jumps"
    press(page, "Home", "+", "+", "Space")
    seen = page.evaluate(
        f"""() => new Promise((done) => {{
          const seen = new Set(), begin = performance.now();
          const look = (now) => {{
            seen.add({PLAYER}.time());
            if (now - begin < 700) requestAnimationFrame(look); else done([...seen]);
          }};
          requestAnimationFrame(look);
        }})"""
    )
    assert 2 <= len(seen) <= 5
    assert all(min(abs(time - step) for step in steps(scene)) < 1e-9 for time in seen)


def test_two_views_share_their_time_and_one_can_be_taken_away(opened):
    page = opened(ring(4))
    result = page.evaluate(
        """async ([esm, end]) => {
          const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
          const { default: widget } = await import(url);
          const data = document.querySelector(".lm-slot script").textContent;
          const traits = JSON.parse(data), heard = [];
          const model = {
            get: (name) => traits[name],
            set(name, value) { traits[name] = value; for (const act of heard) act(); },
            on: (_, act) => heard.push(act),
            off: (_, act) => heard.splice(heard.indexOf(act), 1),
            save_changes() {},
          };
          const [a, b] = [1, 2].map(() => document.body.appendChild(document.createElement("div")));
          const takeAway = widget.render({ model, el: a });
          widget.render({ model, el: b });
          const one = a.firstChild.player, two = b.firstChild.player;
          one.seek(end / 2);
          const shared = two.time();
          takeAway();
          return { shared, left: a.childElementCount, listeners: heard.length };
        }""",
        [read_esm("player"), ring(4).end_s],
    )
    assert result["shared"] == pytest.approx(ring(4).end_s / 2)
    assert (result["left"], result["listeners"]) == (0, 1)


def make_narrow(page):
    """Make the window narrow, and wait until the picture is, and is not drawn once more.

    A scroll bar may come or go with the new picture, and changes the width again. Playwright asks
    for nodes first and for their places in a second message, when they may have been replaced.
    """
    wide = page.locator(".lm-stage").bounding_box()["width"]
    page.set_viewport_size({"width": 600, "height": 800})
    page.wait_for_function(
        """(wide) => {
          const stage = document.querySelector(".lm-stage");
          const isNarrow = stage.getBoundingClientRect().width < wide - 300;
          const sameFor = window.lastStage === stage.firstElementChild ? window.sameFor + 1 : 0;
          Object.assign(window, { lastStage: stage.firstElementChild, sameFor });
          return isNarrow && sameFor >= 5;
        }""",
        arg=wide,
    )


@pytest.mark.parametrize("size", [4, 16, 64])
def test_no_box_touches_another_or_leaves_the_stage(opened, size):
    page = opened(ring(size), width=1000)
    assert_apart_on_the_stage(page)
    make_narrow(page)
    assert_apart_on_the_stage(page)


def assert_apart_on_the_stage(page):
    stage = page.locator(".lm-stage").bounding_box()
    boxes = page.eval_on_selector_all(
        ".lm-box .lm-ground",
        "(all) => all.map((n) => n.getBoundingClientRect())"
        ".map((r) => [r.x, r.y, r.right, r.bottom])",
    )
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert stage["x"] <= left < right <= stage["x"] + stage["width"]
        assert stage["y"] <= top < bottom <= stage["y"] + stage["height"]
        for other in boxes[:number]:
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            assert apart


def test_a_curve_has_a_gap_where_it_is_no_finite_number_and_its_name_says_so(opened):
    end_s = make_scene(ring(4), "ring").end_s
    losses = (3.0, 2.0, float("nan"), float("inf"), 1.0)
    points = [(k / 4 * end_s, loss) for k, loss in enumerate(losses)]
    page = opened(ring(4), curves={"loss": points})
    d = page.locator(".lm-curve").get_attribute("d")
    assert (d.count("M"), d.count("L"), d.count("h5")) == (2, 1, 1)
    assert page.locator(".lm-gap").count() == 1
    page.evaluate(f"{PLAYER}.seek({0.6 * end_s})")
    assert page.locator(".lm-legend").text_content() == "loss no finite number"
    press(page, "End")
    assert page.locator(".lm-legend").text_content() == "loss 1"


def test_messages_too_short_to_be_seen_bring_a_hint(opened):
    work = Trace(
        "simulated", "virtual", 2,
        messages=[Message(0, 1, 0, "<f8", (1,), 8, 1.0, 1.0, 1.001, 1.001, "world")],
        computes=[Compute(0, "work", 1.0, 0.0, 1.0), Compute(1, "work", 1.0, 1.001, 2.0)],
    )  # fmt: skip
    assert "even steps show them" in opened(work).locator(".lm-aside").inner_text()
    assert opened(ring(4)).locator(".lm-aside").inner_text() == ""
    assert "not to scale" in opened(work, even_steps=True).locator(".lm-aside").inner_text()


def test_ranks_that_all_have_names_are_called_by_them_in_boxes_captions_and_frames(opened):
    stage = {
        "places": [(0, 0), (1, 0), (0, 1), (1, 1)], "hosts": [[0, 1], [2, 3]],
        "roles": dict(enumerate("abcd")),
    }  # fmt: skip
    scene, page = make_scene(ring(4), **stage), opened(ring(4), **stage)
    said = [page.evaluate(f"(time) => {PLAYER}.say(time)", time) for time in steps(scene)]
    assert said == [what_is_where(scene, time).caption for time in steps(scene)]
    assert any("a to b" in sentence for sentence in said)
    assert not [sentence for sentence in said if re.search(r"\branks? [\da-d]", sentence)]
    assert page.locator(".lm-box .lm-rank").all_text_contents() == list("abcd")
    assert page.get_by_text("worker 1", exact=True).count() == 1
    page = opened(ring(4), **{**stage, "roles": {0: "a"}})
    assert page.get_by_text("host 1", exact=True).count() == 1
    assert "b" not in page.locator(".lm-box .lm-rank").all_text_contents()
