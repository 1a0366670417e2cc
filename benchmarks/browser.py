"""A headless Chromium, for what can be measured or tested only in a browser."""

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

__all__ = ["Frames", "chromium", "count_frames", "why_missing"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Those in which the playhead stood somewhere else than in the frame before are counted as moved.
_COUNT_FRAMES = """(head, seconds) => new Promise((done) => {
  let frames = 0, moved = 0, last = "", begin = null;
  const look = (now) => {
    begin ??= now;
    const ms = now - begin;
    if (ms >= 1000 * seconds) return done([frames * 1000 / ms, moved / frames]);
    const here = head.style.transform;
    frames += 1; moved += here !== last; last = here;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""


class Frames(NamedTuple):
    """Frames a second, and which part of them showed another time than the one before."""

    per_s: float
    moved: float


def _path() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def why_missing() -> str:
    """Return what is missing to open a page; "" if nothing is."""
    if _path() is None:
        return f"no Chromium on the path (looked for {', '.join(_NAMES)})"
    return "" if importlib.util.find_spec("playwright") else "playwright is not installed"


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser, and end it with the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_path(), args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def count_frames(player: Any, seconds: float) -> Frames:
    """Look at a player that moves, frame by frame, for so long."""
    head = player.locator(".lm-head")
    return Frames(*head.evaluate(_COUNT_FRAMES, seconds))
