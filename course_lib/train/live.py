"""How far a training is, told while it runs: rank 0 writes lines, whoever shows them reads them."""

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from course_lib.command_line.progress import Progress
from course_lib.train.checkpoint import Row

__all__ = ["Beacon", "shown"]

_EVERY_S = 0.1


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

    def shine(self, n_steps: int, row: Row | None = None) -> None:
        """Tell how many steps have been taken, ten times a second at most, and each epoch's row."""
        now_s = time.monotonic()
        if self._file is None or (row is None and now_s < self._next_s):
            return
        self._next_s = now_s + _EVERY_S
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([n_steps, row]) + "\n")


@contextmanager
def shown(n_steps: int, in_words: Callable[[Row], str], is_shown: bool) -> Iterator[Path | None]:
    """Show a bar on a terminal while the block runs.

    Parameters
    ----------
    n_steps : int
        How many steps there will be.
    in_words : callable
        Says what an epoch came to.
    is_shown : bool
        Whether there is a terminal to show it on.

    Yields
    ------
    Path or None
        What to make the ``Beacon`` of.
    """
    if not is_shown:
        yield None
        return
    with (
        tempfile.TemporaryDirectory(prefix="course_lib_train_", ignore_cleanup_errors=True) as name,
        Progress(is_shown=True) as progress,
    ):
        progress.expect(n_steps)
        progress.reach(0, "starting")
        file = Path(name) / "progress"
        file.touch()
        over = threading.Event()
        reader = threading.Thread(target=_follow, args=(file, progress, in_words, over))
        reader.start()
        try:
            yield file
        finally:
            over.set()
            reader.join()


def _follow(
    file: Path, progress: Progress, in_words: Callable[[Row], str], over: threading.Event
) -> None:
    what, rest, is_over = "first epoch", "", False
    with file.open(encoding="utf-8") as stream:
        while not is_over:
            is_over = over.wait(_EVERY_S)  # and then look a last time
            *lines, rest = (rest + stream.read()).split("\n")
            for n_steps, row in map(json.loads, lines):
                what = what if row is None else in_words(Row(*row))
                progress.reach(n_steps, what)
