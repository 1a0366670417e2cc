"""A notebook as data: the text of its code cells, and which tasks are answered there."""

import ast
import json
import re
import stat
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from course_lib.checks import SETS

__all__ = [
    "NOTEBOOK_BYTES",
    "Cell",
    "NotANotebookError",
    "checked_by",
    "read_cells",
    "set_of",
    "shown_in",
]

NOTEBOOK_BYTES = 20 * 10**6
"""A larger file is not read: an exercise that is solved has some hundred kilobytes."""

_MOST_CELLS, _MOST_CHARACTERS = 2_000, 1_000_000
_FIRST_LINE = re.compile(r"^%%(?!time\b|timeit\b|capture\b|prun\b).*", re.DOTALL)
_MAGIC = re.compile(
    r"^[ \t]*(?:[%!?].*|[\w.]+\?{1,2}[ \t]*|[\w., \t]+=[ \t]*[%!].*)$", re.MULTILINE
)
_TIMED = re.compile(r"^([ \t]*)%time[ \t]+(.*)$", re.DOTALL)
_MOST_MAGICS = 50  # a cell is read once for each
_DEFINITION = re.compile(r"^def\s+(\w+)", re.MULTILINE)
_NUMBER = re.compile(r"(?<!\d)(\d\d)_")


class NotANotebookError(ValueError):
    """A file that cannot be graded; the text says why, in a few words."""


class Cell(NamedTuple):
    """One code cell.

    Attributes
    ----------
    number : int
        Which code cell of the notebook, from 1.
    source : str
        Its text, with magics blanked.
    is_task : bool
        Whether it is tagged as the place for an answer.
    tree : ast.Module or None
        What Python reads in it; None where that is no Python.
    fault : str, default: ""
        Where the tree is None, where and why Python stops reading.
    """

    number: int
    source: str
    is_task: bool
    tree: ast.Module | None
    fault: str = ""


@dataclass(frozen=True)
class _Raw:
    source: str
    tags: Sequence[str]


def read_cells(file: Path, most_bytes: int = NOTEBOOK_BYTES) -> list[Cell]:
    """Read the code cells of a notebook; outputs are not looked at.

    Parameters
    ----------
    file : Path
        The notebook, of format 4.
    most_bytes : int, default: 20,000,000
        A larger file is refused unread.

    Returns
    -------
    list of Cell
        In the order in which they stand there.

    Raises
    ------
    NotANotebookError
        If it is none, or too large.
    """
    raw = [cell for cell in _code_cells(_content(file, most_bytes)) if cell.source.strip()]
    if len(raw) > _MOST_CELLS or sum(len(cell.source) for cell in raw) > _MOST_CHARACTERS:
        raise NotANotebookError("far more code than an exercise has")
    return [
        Cell(number, source, "exercise" in cell.tags, *_read(source))
        for number, cell in enumerate(raw, start=1)
        for source in (_without_magics(cell.source),)
    ]


def set_of(cells: Iterable[Cell], name: str) -> str | None:
    """Tell which exercises a notebook answers.

    Parameters
    ----------
    cells : iterable of Cell
        Its cells: what they define counts first, also where Python cannot read it to the end.
    name : str
        The file's name, which a learner or a platform may have changed.

    Returns
    -------
    str or None
        The number, ``"02"``; None where nothing tells.
    """
    defined = {name for cell in cells for name in _defined(cell)}
    most, best = max((len(defined.intersection(tasks)), home) for home, tasks in SETS.items())
    if most:
        return best.removeprefix("lecture_")
    numbers = [number for number in _NUMBER.findall(name) if f"lecture_{number}" in SETS]
    return numbers[-1] if numbers else None


def checked_by(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """List the checks in a statement.

    Parameters
    ----------
    node : ast.AST
        The statement.

    Yields
    ------
    tuple of str and ast.expr
        The task, and what is checked as an answer to it: of ``checks.task(what)``.
    """
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and getattr(part.func.value, "id", "") == "checks"
            and part.args
        ):
            yield part.func.attr, part.args[0]


def shown_in(number: str) -> set[str]:
    """Return the functions that an exercise itself has checked, to show what a check says.

    Parameters
    ----------
    number : str
        Of the exercises, ``"02"``.

    Returns
    -------
    set of str
        Nothing where the exercises do not lie beside the package.
    """
    files = (Path(__file__).resolve().parents[2] / "exercises").glob(f"{number}_*.ipynb")
    checks = [
        pair
        for file in files
        for cell in read_cells(file)
        if cell.tree is not None
        for pair in checked_by(cell.tree)
    ]
    return {ast.unparse(what) for task, what in checks if ast.unparse(what) != task}


def _defined(cell: Cell) -> Iterable[str]:
    """Return the names of a cell's functions."""
    if cell.tree is None:
        return _DEFINITION.findall(cell.source)
    return [node.name for node in cell.tree.body if isinstance(node, ast.FunctionDef)]


def _content(file: Path, most_bytes: int) -> Any:
    try:
        mode = file.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise NotANotebookError("a link to another file; links are not followed")
        if not stat.S_ISREG(mode):  # to open a pipe might take for ever
            raise NotANotebookError("no file that can be read")
        with file.open("rb") as stream:
            data = stream.read(most_bytes + 1)
    except OSError as error:
        raise NotANotebookError(f"cannot be read: {error.strerror}") from None
    if len(data) > most_bytes:
        raise NotANotebookError(f"larger than {most_bytes / 1e6:g} MB")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise NotANotebookError("no notebook: not JSON") from None


def _code_cells(content: Any) -> list[_Raw]:
    cells = content.get("cells") if isinstance(content, dict) else None
    if isinstance(content, dict) and isinstance(content.get("worksheets"), list):
        raise NotANotebookError(
            "a notebook of format 3: open it in JupyterLab and save it, which writes format 4"
        )
    if not isinstance(cells, list):
        raise NotANotebookError("no notebook of format 4: it has no cells")
    found = []
    for cell in cells:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source, metadata = cell.get("source", ""), cell.get("metadata")
        if isinstance(source, list):
            source = "".join(line for line in source if isinstance(line, str))
        tags = metadata.get("tags") if isinstance(metadata, dict) else None
        if isinstance(source, str):
            source = source.replace("\r\n", "\n").replace("\r", "\n")
            found.append(_Raw(source, tags if isinstance(tags, list) else []))
    return found


def _without_magics(source: str) -> str:
    """Blank what only IPython understands; a cell of another language as a whole."""
    if _FIRST_LINE.match(source):
        return ""
    lines = source.split("\n")
    for _ in range(_MOST_MAGICS):  # one by one: a line of a text may look like a magic
        stop = _stop_in("\n".join(lines))
        if not (0 < stop <= len(lines) and _MAGIC.match(lines[stop - 1])):
            break
        lines[stop - 1] = _timed(lines[stop - 1])
    plain, without = "\n".join(lines), _MAGIC.sub(lambda found: _timed(found[0]), source)
    return without if _read(plain)[0] is None and _read(without)[0] is not None else plain


def _timed(magic: str) -> str:
    """Return the statement that a magic runs in the notebook itself; of others nothing."""
    found = _TIMED.match(magic)
    return "".join(found.groups()) if found else ""


def _stop_in(source: str) -> int:
    """Return the line at which Python stops reading, from 1; 0 where it does not, or says none."""
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(source)
    except SyntaxError as error:
        return error.lineno or 0
    except (ValueError, RecursionError, MemoryError):
        pass
    return 0


def _read(source: str) -> tuple[ast.Module | None, str]:
    """Return what Python reads, and why it does not where that is None."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
            # Not all that can be parsed is Python: two arguments of one name, for one.
            compile(source, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return tree, ""
    except SyntaxError as error:
        return None, f"in its line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return None, str(error) or type(error).__name__
