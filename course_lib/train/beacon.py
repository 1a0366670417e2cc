"""How far a training is, told while it runs: rank 0 writes lines, ``live`` reads and shows them."""

import json
import time
from pathlib import Path

from course_lib.train.row import Row

__all__ = ["EVERY_S", "Beacon"]

EVERY_S = 0.1
"""How often there is something new to show."""


class Beacon:
    """Rank 0's end: it may be in another process than the one that shows the bar.

    Parameters
    ----------
    file : Path or None
        Where to write; None if nobody looks.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._next_s = 0.0

    def shine(self, n_steps: int, n_expected: int, row: Row | None = None) -> None:
        """Tell how many steps have been taken, ten times a second at most, and each epoch's row."""
        now_s = time.monotonic()
        if self._file is None or (row is None and now_s < self._next_s):
            return
        self._next_s = now_s + EVERY_S
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([n_steps, n_expected, row]) + "\n")
