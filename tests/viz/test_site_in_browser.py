"""The whole site in a real browser: every page is complete, moves, and asks for nothing outside.

Only with ``make browser``. Pages of code are among them: what the reference's [source] leads to.
"""

import pytest

from authoring.build import ROOT
from authoring.website.build import write_site
from tests.viz.site_pages import broken_links, look_at, violations

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.every_lecture,
    pytest.mark.timeout(3600),
]

LECTURES = sorted((ROOT / "notebooks").glob("[01]*.ipynb"))


def problems_of(page, complaints):
    """Look at a page as it is loaded, and opened and moved; then on a telephone."""
    found = violations(page)
    players, wrong = look_at(page, complaints)
    found += [wrong] if wrong else []
    found += violations(page)
    page.set_viewport_size({"width": 390, "height": 800})
    width = page.evaluate("document.documentElement.scrollWidth")
    return found + ([f"{width} pixels wide on a telephone"] if width > 390 else []), players


def test_every_page_is_complete_and_moves_and_everybody_can_use_it(loaded, tmp_path, screenshot):
    site = tmp_path / "site"
    write_site(site, LECTURES)
    assert broken_links(site) == []
    problems, players = {}, {}
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if name.startswith("slides/") and path.stem != "index":
            continue  # test_slides_in_browser opens them
        page, complaints = loaded(path, 1300)
        screenshot(page, f"site/{name}")
        if name.startswith("slides/"):
            assert complaints == []
            continue
        found, players[name] = problems_of(page, complaints)
        if found:
            problems[name] = found
    assert problems == {}
    assert all(players[f"lectures/{path.stem}.html"] for path in LECTURES)
    assert players["index.html"] == 1
    assert any(name.startswith("reference/") for name in players)
    assert any(name.startswith("_modules/") for name in players)
