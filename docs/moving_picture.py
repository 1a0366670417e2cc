"""Make docs/ring.gif, the README's moving picture: a ring all-reduce, played in a real browser.

From the repository's root: ``python docs/moving_picture.py chromium`` (or another Chromium's path).
The trace is a simulated run's, so the frames are the same each time; only fonts may differ.
"""

import io
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from course_lib.collectives import allreduce_ring
from course_lib.watch import watch_collective

FRAMES, FRAME_MS, LAST_MS = 60, 120, 2500  # a run takes seven seconds, then one sees the result
WIDTH, COLOURS = 640, 32


def frames(chromium: str) -> list[Image.Image]:
    """Play the run in a browser, and take a picture at equal steps of its clock."""
    watched = watch_collective(allreduce_ring, workers=4, length=40_000)
    end_s = watched.trace.end_s
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        shown = watched.player("ring", title="Ring all-reduce: four workers, four chunks")
        file = shown.save(Path(folder) / "ring.html")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 800})
        page.goto(file.as_uri())
        player = page.locator(".lm-player")
        taken = []
        for number in range(FRAMES + 1):
            moment_s = end_s * number / FRAMES
            page.evaluate(f"document.querySelector('.lm-player').player.seek({moment_s!r})")
            taken.append(Image.open(io.BytesIO(player.screenshot())).convert("RGB"))
        browser.close()
    return taken


def main(chromium: str) -> None:
    """Write the frames with one palette; a number in it is left free for what has not changed."""
    taken = frames(chromium)
    palette = taken[len(taken) // 2].quantize(COLOURS, dither=Image.Dither.NONE)
    whole = [np.array(f.quantize(palette=palette, dither=Image.Dither.NONE)) for f in taken]
    changed = [np.where(now == before, COLOURS, now) for before, now in pairwise(whole)]
    small = [Image.fromarray(each.astype(np.uint8)) for each in (whole[0], *changed)]
    for image in small:
        image.putpalette(palette.getpalette())
    small[0].save(
        Path(__file__).with_name("ring.gif"), save_all=True, append_images=small[1:], loop=0,
        duration=[*[FRAME_MS] * FRAMES, LAST_MS], transparency=COLOURS, disposal=1, optimize=False,
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
