"""Lectures in a real JupyterLab: they run to their end, every picture is drawn, moves and answers.

Three are opened with every run of the tests, without their collapsed checks, which nbval runs.
``make browser`` opens all, runs every cell, and saves every picture as a page that needs nothing.
"""

import time

import nbformat
import pytest

from authoring.build import ROOT
from benchmarks.lab import SLOW_TO_LOAD, jupyterlab, opened_lab, opened_notebook, run_all

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1200)]

LECTURES = sorted(path.stem for path in (ROOT / "notebooks").glob("[01]*.ipynb"))
WITH_EVERY_RUN = ("00_start_here", "02_map_reduce", "13_graphs_and_planners")
CHECKS = "how-we-know"
WIDGET = "application/vnd.jupyter.widget-view+json"

# Of the code cells: how many have not run, which have failed, which show no picture for a widget.
_CELLS = """() => {
  const { model, widgets } = window.jupyterapp.shell.currentWidget.content;
  const left = [], failed = [], empty = [];
  [...model.cells].forEach((cell, i) => {
    if (cell.type !== "code") return;
    if (!cell.executionCount) left.push(i);
    const may = (cell.getMetadata("tags") ?? []).includes("raises-exception");
    for (const output of cell.outputs.toJSON()) {
      if (output.output_type === "error" && !may) failed.push([i, output.ename, output.evalue]);
      const seen = widgets[i].node.querySelector(".lm-root svg[role=img], .jupyter-widgets");
      const high = seen?.getBoundingClientRect().height ?? 0;
      if (WIDGET in (output.data ?? {}) && high < 9) empty.push(i);
    }
  });
  return { left, failed, empty };
}""".replace("WIDGET", repr(WIDGET))
# JupyterLab runs no cell behind one that has failed.
_HAS_RUN = f"() => (({{ left, failed }}) => !left.length || failed.length > 0)(({_CELLS})())"
# Goes to the middle of every picture that moves, from its start: a page begins where its picture
# stood. Says which did not change.
_STUCK = """() => [...document.querySelectorAll(".lm-root")].filter((root) => root.transport)
  .map((root) => {
    root.transport.seekFraction(0);
    const before = root.innerHTML;
    root.transport.seekFraction(0.5);
    return root.innerHTML === before ? root.ariaLabel : "";
  }).filter(Boolean)"""
_MOVE_SLIDERS = """() => document.querySelectorAll(".lm-explore").forEach((explore) => {
  const slider = explore.querySelector(".lm-knob input");
  if (!slider) return explore.querySelector(".lm-knob button:last-of-type").click();
  slider.value = slider.value === slider.max ? slider.min : slider.max;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})"""
_ANSWERED = """() => [...document.querySelectorAll(".lm-explore")]
  .every((root) => !root.explore.isWaiting())"""
_NAMELESS = '.lm-root [role=img]:not([aria-label]), .lm-root [aria-label=""]'
_SAVE_PAGES = """\
from course_lib.viz.animation.picture import Picture as _Picture
for _number, _shown in list(Out.items()):
    if isinstance(_shown, _Picture):
        _shown.save(f"page-{_number}.html")
"""
_EXECUTE = """(code) => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
  .requestExecute({ code, silent: true }).done.then((reply) => reply.content.status)"""


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    """A JupyterLab in which one lecture is opened after the other, its folder, its complaints."""
    home, complaints = tmp_path_factory.mktemp("lectures"), []
    with jupyterlab(home) as address, opened_lab(browser, address) as page:
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page, home, complaints


def open_and_run(lab, notebook, name, then=lambda page: None):
    """Run all cells of a notebook; look at every output; go to every picture and move a slider."""
    page, home, complaints = lab
    (home / name).mkdir()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, home / name / f"{name}.ipynb")
    with opened_notebook(page, f"{name}/{name}.ipynb"):
        run_all(page)
        until_s = time.monotonic() + 300  # then the next line says which cells have not run
        while time.monotonic() < until_s and not page.evaluate(_HAS_RUN):
            page.wait_for_timeout(500)
        found = {**page.evaluate(_CELLS), "empty": []}
        log = (home / "log").read_text(encoding="utf-8")
        assert found == {"left": [], "failed": [], "empty": []}, log[-3000:]
        page.wait_for_function(f"() => !({_CELLS})().empty.length", timeout=20_000)
        assert page.evaluate(_CELLS) == {"left": [], "failed": [], "empty": []}
        assert page.evaluate(_STUCK) == []
        page.evaluate(_MOVE_SLIDERS)
        page.wait_for_function(_ANSWERED, timeout=60_000)
        assert page.locator(".lm-error:not([hidden])").all_inner_texts() == []
        assert page.locator(_NAMELESS).count() == 0
        then(page)
    assert set(complaints) <= {SLOW_TO_LOAD}


@pytest.mark.parametrize("name", WITH_EVERY_RUN)
def test_a_lecture_runs_in_jupyterlab_and_every_picture_moves(lab, name):
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    notebook.cells = [
        cell for cell in notebook.cells if CHECKS not in cell.metadata.get("tags", [])
    ]
    open_and_run(lab, notebook, name)


@pytest.mark.every_lecture
@pytest.mark.parametrize("name", LECTURES)
def test_every_cell_runs_in_jupyterlab_and_every_picture_is_a_page_of_its_own(
    browser, lab, screenshot, name
):
    _, home, _ = lab
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)

    def save_pages(page):
        screenshot(page, f"lab/{name}")
        assert page.evaluate(_EXECUTE, _SAVE_PAGES) == "ok"

    open_and_run(lab, notebook, f"all-of-{name}", save_pages)
    pages = sorted((home / f"all-of-{name}").glob("page-*.html"))
    assert len(pages) >= 3
    for path in pages:
        assert_moves_without_kernel_and_network(browser, path)


def assert_moves_without_kernel_and_network(browser, path):
    context, complaints = browser.new_context(offline=True), []
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text))
    page.goto(path.as_uri())
    page.wait_for_selector(".lm-root svg[role=img]")
    assert page.evaluate(_STUCK) == [], path.name
    page.evaluate(_MOVE_SLIDERS)
    assert page.locator(".lm-error:not([hidden])").all_inner_texts() == [], path.name
    context.close()
    assert complaints == [], path.name
