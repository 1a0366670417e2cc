"""Tell the learner what happens, and go on where nobody listens any more."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO


def say(text: str, end: str = "\n", stream: TextIO | None = None) -> None:
    """Print at once; if that fails, for instance into a closed pipe, be silent from now on.

    Parameters
    ----------
    text : str
        What is told.
    end : str
        What is printed after it.
    stream : text stream or None
        Where, or None for the standard output.
    """
    stream = sys.stdout if stream is None else stream
    try:
        print(text, end=end, file=stream, flush=True)
    except OSError:
        _silence(stream)


def _silence(stream: TextIO) -> None:
    """Let a stream, and the programs that inherit it, write to nowhere."""
    with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), stream.fileno())
