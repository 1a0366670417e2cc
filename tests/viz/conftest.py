"""A browser for the tests that need one."""

import os
from pathlib import Path

import pytest

from benchmarks.browser import chromium, why_missing
from course_lib.viz import export_page


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium, or a skip that says what to install."""
    if missing := why_missing():
        pytest.skip(missing)
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def loaded(browser):
    """Load a saved page into a tab that tests share: it is new, the tab is not.

    Returns the tab and what it has complained of since it was loaded: errors, lines on its console,
    anything that it has asked for.
    """
    tabs = {}

    def load(path, width=1000, reduced_motion="no-preference"):
        if reduced_motion not in tabs:
            page, complaints = (
                browser.new_page(reduced_motion=reduced_motion, offline=True), [],
            )  # fmt: skip
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda line: complaints.append(line.text))
            own = ("file:", "blob:", "about:blank")
            page.on("request", lambda r: r.url.startswith(own) or complaints.append(r.url))
            tabs[reduced_motion] = page, complaints
        page, complaints = tabs[reduced_motion]
        page.goto("about:blank")  # what stood there has ended before its successor is looked for
        page.mouse.move(0, 0)
        complaints.clear()
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(path.as_uri())
        return page, complaints

    yield load
    for page, _ in tabs.values():
        page.close()


@pytest.fixture(scope="session")
def screenshot():
    """Save what a tab shows, where the environment variable COURSE_SCREENSHOTS names a folder."""
    folder = os.environ.get("COURSE_SCREENSHOTS")

    def save(page, name):
        if folder:
            path = Path(folder) / f"{name}.jpeg"
            path.parent.mkdir(parents=True, exist_ok=True)
            # Playwright would write the file in a thread that it leaves behind.
            path.write_bytes(page.screenshot(type="jpeg", quality=70, timeout=120_000))

    return save


@pytest.fixture
def opened(loaded, tmp_path):
    """Open the page of a trace; it fails where the page asks for anything or reports an error."""
    heard = []

    def open_page(trace, *, width=1000, reduced_motion="no-preference", **options):
        path = export_page(trace, tmp_path / "page.html", **options)
        page, complaints = loaded(path, width, reduced_motion)
        heard.append(complaints)
        page.wait_for_selector(".lm-player")
        return page

    yield open_page
    assert all(complaints == [] for complaints in heard), heard
