"""What only the notebook knows: which cell is which, and what was run last."""

import inspect
import linecache
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from course_lib.checks.sandbox import Mishap, Observation

__all__ = ["cell_of", "newer_cell", "with_cells"]


def cell_of(fn: Callable[..., Any]) -> int | None:
    """Find the cell in which a function was written.

    Parameters
    ----------
    fn : callable
        The function.

    Returns
    -------
    int or None
        The 5 of ``In[5]``; None where it was written elsewhere.
    """
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return _numbers().get(getattr(code, "co_filename", ""))


def newer_cell(fn: Callable[..., Any]) -> int | None:
    """Find a cell that was run after the one that counts, to define the same, and changed nothing.

    Python could not read it, or it ended before the definition.

    Parameters
    ----------
    fn : callable
        The function that counts.

    Returns
    -------
    int or None
        The number of the last such cell.
    """
    cell, names = cell_of(fn), getattr(_shell(), "user_ns", {})
    name = getattr(fn, "__name__", "")
    if cell is None or names.get(name) is not fn:
        return None
    defines = re.compile(rf"^(async )?def {re.escape(name)}\b", re.MULTILINE)
    texts: list[str] = names.get("In", [])
    later = [n for n in range(cell + 1, len(texts)) if defines.search(texts[n])]
    return later[-1] if later else None


def with_cells(seen: Observation) -> Observation:
    """Say ``cell In[5], line 3``, and what stands there."""
    if seen.mishap is None:
        return seen
    return replace(seen, mishap=_in_cells(seen.mishap))


def _in_cells(mishap: Mishap) -> Mishap:
    text, graph = mishap.text, mishap.graph
    for filename, number in _numbers().items():
        name = Path(filename).name
        frame = re.compile(rf"^  {re.escape(name)}, line (\d+), in .*$(?!\n    )", re.MULTILINE)
        text = frame.sub(partial(_with_source, filename), text)
        old, new = f"{name}, line ", f"cell In[{number}], line "
        text = text.replace(old, new)
        graph = [(*edge[:3], edge[3].replace(old, new)) for edge in graph]
    return replace(mishap, text=text, graph=graph)


def _with_source(filename: str, frame: re.Match[str]) -> str:
    source = linecache.getline(filename, int(frame[1])).strip()
    return f"{frame[0]}\n    {source}" if source else frame[0]


def _shell() -> Any:
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    return get_ipython()


def _numbers() -> Mapping[str, int]:
    """Tell the number of a cell by the name under which Python knows its text."""
    numbers: Mapping[str, int] = getattr(getattr(_shell(), "compile", None), "_filename_map", {})
    return numbers
