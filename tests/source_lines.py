"""Where a text stands in a test file, as errors name places."""

import inspect
from pathlib import Path

__all__ = ["line_of"]


def line_of(fn, text):
    """Find the one line on which ``fn`` has ``text``: ``"test_file.py, line 12"``."""
    lines, start = inspect.getsourcelines(fn)
    (offset,) = [k for k, line in enumerate(lines) if text in line]
    return f"{Path(inspect.getsourcefile(fn)).name}, line {start + offset}"
