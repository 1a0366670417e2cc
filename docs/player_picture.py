"""Make docs/player.png, the README's still picture: a real player in a real browser, mid-run.

It stands in for the moving one (moving_picture.py) where a reader has asked for less motion.

From the repository's root: ``python docs/player_picture.py chromium`` (or another Chromium's path).
"""

import dataclasses
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from course_lib import networks, run
from course_lib.data.diabetes import load_diabetes
from course_lib.schemes import map_reduce
from course_lib.training import Plan
from course_lib.viz import export_page, loss_curve

# Slow enough that computing can be seen beside the network, and no two workers equally fast.
NETWORK = dataclasses.replace(networks.ethernet_10g, flops_per_s=(4e8, 6e8, 3e8, 1.6e8))


def main(chromium: str) -> None:
    """Take the picture while two partial sums are on their way and the third is not yet made."""
    data = load_diabetes()
    trace = run(
        map_reduce, data.X_train, data.y_train, Plan(0.1, epochs=5),
        workers=4, backend="simulated", network=NETWORK,
    ).trace  # fmt: skip
    late = [span for span in trace.computes if span.rank == 3][1]
    moment_s = late.start_s + 0.85 * (late.end_s - late.start_s)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = export_page(
            trace, Path(folder) / "player.html", layout="star", roles={0: "combiner"},
            curves={"loss": loss_curve(trace)}, title="MapReduce on 4 workers",
        )  # fmt: skip
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 600}, device_scale_factor=2)
        page.goto(page_file.as_uri())
        page.evaluate(f"document.querySelector('.lm-player').player.seek({moment_s!r})")
        picture = page.locator(".lm-player").screenshot()
        browser.close()
    small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    small.save(Path(__file__).with_name("player.png"), optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
