"""How far a command is, on standard error; lines of its result, as they come."""

import sys
from typing import Self

from tqdm import tqdm

from course_lib.console.outputs import say, tell

__all__ = ["Progress"]


class Progress:
    """A bar where a terminal shows it, else a line a step; nothing where nobody shall see it.

    Parameters
    ----------
    is_shown : bool
        Whether to write at all.
    """

    def __init__(self, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._bar: tqdm[None] | None = None
        if is_shown and sys.stderr.isatty():
            tqdm.monitor_interval = 0  # no thread that wakes up while we measure
            self._bar = tqdm(total=0, bar_format="{bar:20} {n}/{total}, {elapsed}: {desc}")

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    def expect(self, n_steps: int) -> None:
        """Say how many steps there will be."""
        if self._bar is not None:
            self._bar.total = n_steps

    def reach(self, n_steps: int, what: str) -> None:
        """Say how many steps have been taken in all; a bar shows it, lines would be too many."""
        if self._bar is not None:
            self._bar.set_description_str(what, refresh=False)
            self._bar.n = n_steps
            self._bar.refresh()

    def line(self, text: str) -> None:
        """Print a line of the result; the bar stays below it."""
        if self._bar is not None:
            self._bar.clear()
        say(text)
        if self._bar is not None:
            self._bar.refresh()

    def step(self, what: str) -> None:
        """Say what comes next."""
        if self._bar is not None:
            self._bar.set_description_str(what, refresh=False)
            self._bar.update()
            self._bar.refresh()
        elif self._is_shown:
            tell(what)
