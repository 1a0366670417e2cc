"""A bar and a table that grow while the workers train: they follow what rank 0 writes to a file."""

import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from course_lib.console.progress import Progress
from course_lib.train.beacon import EVERY_S
from course_lib.train.row import Row

__all__ = ["shown"]


@contextmanager
def shown(
    in_words: Callable[[Row], str], as_line: Callable[[Row], str], is_shown: bool
) -> Iterator[Path | None]:
    """Print a line for each epoch while the block runs; on a terminal, show a bar below them.

    Parameters
    ----------
    in_words : callable
        Says what an epoch came to, beside the bar.
    as_line : callable
        Writes it as a line of the table.
    is_shown : bool
        Whether this program shall print.

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
        progress.reach(0, "starting")
        file = Path(name) / "progress"
        file.touch()
        over = threading.Event()
        reader = threading.Thread(
            target=_follow, args=(file, progress, in_words, as_line, over), daemon=True
        )
        try:
            reader.start()
            yield file
        finally:
            over.set()
            if reader.ident is not None:  # Ctrl-C may come before it is started
                reader.join()


def _follow(
    file: Path,
    progress: Progress,
    in_words: Callable[[Row], str],
    as_line: Callable[[Row], str],
    over: threading.Event,
) -> None:
    what, rest, is_over = "first epoch", "", False
    with file.open(encoding="utf-8") as stream:
        while not is_over:
            is_over = over.wait(EVERY_S)  # and then look a last time
            *lines, rest = (rest + stream.read()).split("\n")
            for n_steps, n_expected, row in map(json.loads, lines):
                progress.expect(n_expected)
                if row is not None:
                    what = in_words(Row(*row))
                    progress.line(as_line(Row(*row)))
                progress.reach(n_steps, what)
