"""A browser for the tests that need one."""

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


@pytest.fixture
def opened(browser, tmp_path):
    """Open the page of a trace; it fails where the page asks for anything or reports an error."""
    contexts, complaints = [], []

    def open_page(trace, *, width=1000, reduced_motion="no-preference", **options):
        path = export_page(trace, tmp_path / "page.html", **options)
        context = browser.new_context(
            viewport={"width": width, "height": 800}, reduced_motion=reduced_motion, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text))
        own = (path.as_uri(), "blob:")
        page.on("request", lambda r: r.url.startswith(own) or complaints.append(r.url))
        page.goto(path.as_uri())
        page.wait_for_selector(".lm-player")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
