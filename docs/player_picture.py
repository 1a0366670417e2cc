"""Make docs/player.png, the README's picture: a real player in a real browser, stopped mid-run.

Run it from the repository's root: ``python docs/player_picture.py /usr/bin/chromium``.
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from course_lib import networks, run
from course_lib.data.diabetes import load_diabetes
from course_lib.schemes.map_reduce import map_reduce
from course_lib.viz import export_page, loss_curve
