"""The whole site in a real browser: every page is complete, moves, and asks for nothing outside.

Only with ``make browser``. Where the environment variable ``COURSE_AXE`` names a copy of axe.min.js
(``npm pack axe-core@4.14.1``), every page is held against its rules for accessible pages, too.
"""

import os
from pathlib import Path

import pytest

from authoring.build import ROOT
from authoring.website.build import write_site
from tests.viz.site_pages import broken_links, look_at

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.every_lecture,
    pytest.mark.timeout(7200),
]

AXE = os.environ.get("COURSE_AXE")
LECTURES = sorted((ROOT / "notebooks").glob("[01]*.ipynb"))
_VIOLATIONS = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
  .map((one) => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 150)])"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "site"
    write_site(folder, LECTURES)
    return folder


@pytest.fixture(scope="module")
def pages(site):
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    assert len(found) > 2 * len(LECTURES)
    return [page for page in found if not page.startswith("slides/")]


def test_no_link_of_the_site_leads_nowhere(site):
    assert broken_links(site) == []


def test_every_page_is_complete_and_moves_without_kernel_and_network(
    site, pages, loaded, screenshot
):
    players, problems = 0, {}
    for name in pages:
        page, complaints = loaded(site / name, 1300)
        try:
            found = look_at(page, complaints)
        except AssertionError as error:
            problems[name] = str(error)
        else:
            assert found or not name.startswith("lectures/"), name
            players += found
        screenshot(page, f"site/{name}")
    assert problems == {}
    assert players >= 3 * len(LECTURES)


def test_no_page_is_wider_than_a_telephone(site, pages, loaded):
    wide = {}
    for name in pages:
        page, _ = loaded(site / name, 390)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 390:
            wide[name] = width
    assert wide == {}


@pytest.mark.skipif(not AXE, reason="COURSE_AXE does not name a copy of axe.min.js")
@pytest.mark.parametrize("reads", ["folded", "open"])
def test_axe_finds_nothing(site, pages, loaded, reads):
    axe, problems = Path(AXE).read_text(encoding="utf-8"), {}
    for name in pages:
        page, complaints = loaded(site / name, 1300)
        if reads == "open":
            look_at(page, complaints)
        page.evaluate(axe)
        if found := page.evaluate(_VIOLATIONS):
            problems[name] = found
    assert problems == {}
