"""Read a percent script: a Python file in which ``# %%`` starts a cell.

Jupytext reads the same files. This reader knows the line of every cell, so that each complaint can
name it, and refuses what Jupytext would quietly accept: unknown keys, unknown tags, empty cells.
"""

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["COLLAPSED", "TAGS", "AuthoringError", "Cell", "read_script"]

TAGS = frozenset(
    {
        "solution",  # only in the solutions: left out of the exercises
        "exercise",  # the learner's function, with a region to fill in
        "check",  # calls the check of the exercise above
        "slow",
        "needs-gpu",
        "raises-exception",  # the error is the point of the cell
        "nbval-ignore-output",  # wall time, or this machine, is in the output
        "nbval-check-output",
        "nbval-skip",
        "nbval-raises-exception",
        "hide-input",
        "how-we-know",  # the asserts
        "set-up",  # imports, and yardsticks that are not the lecture's subject
    }
)
COLLAPSED = {"how-we-know": "# How we know", "set-up": "# Set-up"}
"""Cells that run like any other and are collapsed for who reads, with their first words."""
SLIDE_TYPES = frozenset({"slide", "subslide", "fragment", "skip", "notes"})

_HEADER = re.compile(r"# %%(?P<markdown> \[markdown\])?(?P<rest>( .*)?)$")
_KEY = re.compile(r"(?P<key>[a-z_]+)=")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")
_KEYS = ("name", "tags", "slideshow")


class AuthoringError(Exception):
    """A source that cannot become a notebook.

    Parameters
    ----------
    path : pathlib.Path
        The script.
    line : int
        Where, counted from 1.
    message : str
        What was expected and what was found.
    """

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path, self.line = path, line


@dataclass(frozen=True)
class Cell:
    """One cell of a script.

    Attributes
    ----------
    kind : {"code", "markdown"}
        What it is.
    source : str
        Its text as a notebook holds it.
    line : int
        The line of the script on which ``source`` starts.
    id : str
        Its name where the header gives one, else made from its text; unique in the script.
    metadata : dict
        What the notebook's cell carries: tags, slideshow.
    """

    kind: str
    source: str
    line: int
    id: str
    metadata: dict[str, Any]

    @property
    def tags(self) -> list[str]:
        """The cell's tags."""
        return list(self.metadata.get("tags", []))


def read_script(path: Path) -> list[Cell]:
    """Read the cells of a percent script.

    Parameters
    ----------
    path : pathlib.Path
        The script, UTF-8.

    Returns
    -------
    list of Cell
        In the order of the file.

    Raises
    ------
    AuthoringError
        For text before the first cell, a header, tag or name that is not allowed, an empty cell, or
        two cells of one name.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [number for number, line in enumerate(lines, 1) if line.startswith("# %%")]
    if not starts:
        raise AuthoringError(path, 1, 'a script needs at least one cell: a line "# %%"')
    for number, line in enumerate(lines[: starts[0] - 1], 1):
        if line.strip():
            raise AuthoringError(path, number, f'text before the first "# %%": {line!r}')

    cells: list[Cell] = []
    taken: Counter[str] = Counter()
    for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        cell = _cell(path, start, lines[start - 1], lines[start : end - 1], taken)
        taken[cell.id] += 1
        cells.append(cell)
    return cells


def _cell(path: Path, start: int, header: str, body: list[str], taken: Counter[str]) -> Cell:
    kind, options = _header(path, start, header)
    while body and not body[-1].strip():
        body.pop()
    line = start + 1
    while body and not body[0].strip():
        body.pop(0)
        line += 1
    if not body:
        raise AuthoringError(path, start, "the cell is empty")
    if kind == "markdown":
        body = [_uncomment(path, line + offset, text) for offset, text in enumerate(body)]
    source = "\n".join(text.rstrip() for text in body)
    for tag, first in COLLAPSED.items():
        if tag not in options.get("tags", []):
            continue
        if not source.startswith(first):  # what a collapsed cell shows of itself
            raise AuthoringError(path, line, f'a cell tagged {tag} begins "{first}"')
        options["jupyter"] = {"source_hidden": True}

    name = options.pop("name", None)
    if name is not None and taken[name]:
        raise AuthoringError(path, start, f"a second cell is named {name!r}; names must be unique")
    return Cell(kind, source, line, name or _derived_id(kind, source, taken), options)


def _header(path: Path, line: int, header: str) -> tuple[str, dict[str, Any]]:
    match = _HEADER.match(header)
    if match is None:
        raise AuthoringError(
            path, line, f'a cell starts with "# %%" or "# %% [markdown]", got {header!r}'
        )
    options: dict[str, Any] = {}
    rest = match["rest"].strip()
    while rest:
        key = _KEY.match(rest)
        if key is None or key["key"] not in _KEYS:
            raise AuthoringError(path, line, f"expected one of {_KEYS} and =value, got {rest!r}")
        try:
            value, end = json.JSONDecoder().raw_decode(rest, key.end())
        except json.JSONDecodeError as error:
            raise AuthoringError(path, line, f"{key['key']} must be JSON: {error}") from None
        options[key["key"]] = value
        rest = rest[end:].strip()
    _check_options(path, line, options)
    return ("markdown" if match["markdown"] else "code"), options


def _check_options(path: Path, line: int, options: dict[str, Any]) -> None:
    name = options.get("name", "a")
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise AuthoringError(
            path, line, f"name must be 1 to 64 of a-z, 0-9 and -, from a letter, got {name!r}"
        )
    tags = options.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise AuthoringError(path, line, f"tags must be a list of strings, got {tags!r}")
    for tag in tags:
        if tag not in TAGS:
            raise AuthoringError(path, line, f"unknown tag {tag!r}; known are {sorted(TAGS)}")
    slideshow = options.get("slideshow", {"slide_type": "slide"})
    if not isinstance(slideshow, dict) or slideshow.get("slide_type") not in SLIDE_TYPES:
        raise AuthoringError(
            path, line,
            f'slideshow must be {{"slide_type": one of {sorted(SLIDE_TYPES)}}}, got {slideshow!r}',
        )  # fmt: skip


def _uncomment(path: Path, line: int, text: str) -> str:
    if text.startswith("# "):
        return text[2:]
    if text.rstrip() == "#":
        return ""
    raise AuthoringError(path, line, f'a line of a markdown cell starts with "# ", got {text!r}')


def _derived_id(kind: str, source: str, taken: Counter[str]) -> str:
    """Make an id from the cell's own text: it does not change when other cells do."""
    digest = hashlib.sha256(f"{kind}\n{source}".encode()).hexdigest()[:12]
    copies = 1
    while taken[digest if copies == 1 else f"{digest}-{copies}"]:
        copies += 1
    return digest if copies == 1 else f"{digest}-{copies}"
