"""Pictures in a real JupyterLab: shown, moving, light and dark, with keys and a kernel.

All of it in a browser whose scripts load too slowly for anywidget, as on a busy computer.
"""

import pytest

from benchmarks.browser import count_frames
from benchmarks.lab import (
    SLOW_TO_LOAD,
    jupyterlab,
    opened_lab,
    opened_notebook,
    run_all,
    write_notebook,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTEBOOK = "pictures.ipynb"
CODE = """\
from course_lib.viz import loss_curve, player
from tests.viz.traces import map_reduce
trace = map_reduce(4, 5)
player(trace, "star", {"loss": loss_curve(trace)}, "MapReduce on 4 workers", roles={0: "combiner"})
"""
EXPLORER = """\
from course_lib.viz import explore
def fn(n, times):
    if n == 4:
        raise ValueError("four is refused")
    return {"product": float(n * times)}
explore(fn, n=range(1, 6), times=[1, 10])
"""
# anywidget waits for so long until a script is loaded; no script is there at once.
NO_PATIENCE = """{
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => timeout(ms === 2000 ? 0 : ms);
}"""


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """A notebook that has been run, in a JupyterLab of its own; all tests share it."""
    home, complaints = tmp_path_factory.mktemp("lab"), []
    write_notebook(home / NOTEBOOK, [CODE, EXPLORER])
    with (
        jupyterlab(home) as address,
        opened_lab(browser, address, first=NO_PATIENCE) as page,
        opened_notebook(page, NOTEBOOK),
    ):
        page.on("pageerror", lambda error: complaints.append(str(error)))
        run_all(page)
        page.locator(".jp-OutputArea .lm-player").wait_for(timeout=60_000)
        page.locator(".jp-OutputArea .lm-explore").wait_for(timeout=60_000)
        yield page
    assert set(complaints) == {SLOW_TO_LOAD}, "else the patience has another name now"


def test_the_player_is_shown_and_moves_light_and_dark(page, tmp_path):
    player = page.locator(".jp-OutputArea .lm-player")
    assert player.count() == 1
    assert page.locator(".jp-OutputArea img").count() == 0, "the widget stands for its picture"
    grounds = {}
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        page.evaluate(
            "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })",
            theme,
        )
        page.wait_for_function(
            f"() => document.body.dataset.jpThemeName === {theme!r}", timeout=20_000
        )
        player.focus()
        page.keyboard.press("Home")
        page.keyboard.press("Space")
        assert count_frames(player, seconds=0.3).moved > 0.5
        page.keyboard.press("Space")
        grounds[theme] = player.evaluate("(node) => getComputedStyle(node).backgroundColor")
        shot = tmp_path / f"{theme.split()[1]}.png"
        shot.write_bytes(page.screenshot())
        assert shot.stat().st_size > 10_000
    assert len(set(grounds.values())) == 2, "the player must follow the theme"


def test_keys_do_not_reach_the_notebook_and_a_second_run_leaves_one_player(page):
    player = page.locator(".jp-OutputArea .lm-player")
    player.focus()
    for key in ("d", "d", "x", "a", "b"):
        page.keyboard.press(key)
    assert page.locator(".jp-Notebook .jp-Cell").count() == 2, "no cell was deleted or added"
    page.keyboard.press("Space")
    page.wait_for_function(
        "() => { const { player } = document.querySelector('.lm-player');"
        " return player.isPlaying() && player.time() > 0; }"  # it has drawn a frame
    )
    page.evaluate("() => { window.firstPlayer = document.querySelector('.lm-player'); }")
    explorer = page.locator(".jp-OutputArea .lm-explore").element_handle()
    run_all(page)
    page.wait_for_function(
        "(explorer) => !explorer.isConnected && !window.firstPlayer.isConnected"
        " && document.querySelectorAll('.lm-player').length === 1"
        " && document.querySelectorAll('.lm-explore').length === 1",
        arg=explorer,
        timeout=60_000,
    )
    stopped_s = page.evaluate("window.firstPlayer.player.time()")
    page.wait_for_timeout(200)
    assert page.evaluate("window.firstPlayer.player.time()") == stopped_s > 0
    assert not page.evaluate("window.firstPlayer.player.isPlaying()")


def test_shift_enter_in_a_picture_runs_the_cell_and_presses_no_button(page):
    player = page.locator(".jp-OutputArea .lm-player")
    player.get_by_role("button", name="play").click()
    player.get_by_role("button", name="pause").click()
    page.evaluate("() => { window.firstPlayer = document.querySelector('.lm-player'); }")
    page.keyboard.press("Shift+Enter")
    page.wait_for_function("() => !window.firstPlayer.isConnected", timeout=60_000)
    assert not page.evaluate("window.firstPlayer.player.isPlaying()"), "no button was pressed"
    active = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    page.wait_for_function(f"() => {active} === 1")


def test_a_slider_moved_by_keys_asks_the_kernel_and_an_error_is_a_sentence(page):
    """On a saved page the arrows moved the slider already when JupyterLab kept them for itself."""
    explorer = page.locator(".jp-OutputArea .lm-explore")
    slider = explorer.get_by_role("slider", name="n", exact=True)
    bar = explorer.locator(".lm-legend")
    slider.focus()
    for expected in ("2", "3"):
        page.keyboard.press("ArrowRight")
        bar.get_by_text(expected, exact=True).wait_for()
    page.keyboard.press("ArrowRight")
    explorer.get_by_text("ValueError: four is refused").wait_for()
    assert bar.text_content() == "3"
    page.keyboard.press("End")
    bar.get_by_text("5", exact=True).wait_for()
    assert explorer.locator(".lm-error").is_hidden()
