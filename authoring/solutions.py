"""Cut the exercise out of the solution.

Between ``# BEGIN SOLUTION`` and ``# END SOLUTION``, each alone on its line inside a function,
stands what the learner is to write. There a line ``# SOLUTION FROM package.module:function`` stands
for the body of that library function, so that the algorithm is written once.
"""

import ast
import difflib
import importlib
import inspect
import re
import textwrap
from dataclasses import replace
from pathlib import Path

from authoring.scripts import AuthoringError, Cell
from course_lib.checks.quiet import STUB_SAYS

__all__ = ["FROM", "as_exercise", "as_solution", "holds", "plain", "refuse_regions", "secrets"]

BEGIN, END, FROM = "# BEGIN SOLUTION", "# END SOLUTION", "# SOLUTION FROM"
STUB = f'raise NotImplementedError("{STUB_SAYS}")'
_FROM_LINE = re.compile(r"# SOLUTION FROM (?P<module>[\w.]+):(?P<function>\w+)")
_COMMENT = re.compile(r"#+.*$")

Region = tuple[int, int]
"""The 0-based lines of the two markers in a cell."""


def as_solution(path: Path, cells: list[Cell]) -> list[Cell]:
    """Return the cells with the solutions filled in and the markers taken out."""
    return [replace(cell, source=_filled(path, cell)) for cell in cells]


def as_exercise(path: Path, cells: list[Cell]) -> list[Cell]:
    """Return the cells with a stub for every solution, without the cells of the solution only.

    Raises
    ------
    AuthoringError
        If there is no region, markers are wrong, a stub does not parse, or a solution's text is
        still to be read somewhere in the exercise.
    """
    if not any(_regions(path, cell) for cell in cells):
        raise AuthoringError(path, 1, f"an exercise script needs a region: {BEGIN} ... {END}")
    exercise = [
        replace(cell, source=_stubbed(path, cell)) for cell in cells if "solution" not in cell.tags
    ]
    _refuse_survivors(path, cells, exercise)
    return exercise


def refuse_regions(path: Path, cells: list[Cell]) -> None:
    """Refuse markers in a lecture: it has no solutions to cut out."""
    for cell in cells:
        for begin, _ in _regions(path, cell):
            raise AuthoringError(path, cell.line + begin, "a lecture has no solution regions")


def _regions(path: Path, cell: Cell) -> list[Region]:
    regions: list[Region] = []
    begin: int | None = None
    for index, text in enumerate(cell.source.splitlines()):
        line = cell.line + index
        marker = _marker(path, line, text)
        if marker and cell.kind != "code":
            raise AuthoringError(path, line, f"{marker} stands in a markdown cell")
        if marker == BEGIN:
            if begin is not None:
                raise AuthoringError(path, line, f"{BEGIN} inside a region: regions do not nest")
            begin = index
        elif marker == END:
            if begin is None:
                raise AuthoringError(path, line, f"{END} without {BEGIN} before it in this cell")
            regions.append((begin, index))
            begin = None
        elif marker == FROM and begin is None:
            raise AuthoringError(path, line, f"{FROM} must stand between {BEGIN} and {END}")
    if begin is not None:
        raise AuthoringError(path, cell.line + begin, f"{BEGIN} without {END} in the same cell")
    return regions


def _marker(path: Path, line: int, text: str) -> str | None:
    """Say which marker a line is; refuse a comment that was meant as one."""
    stripped = text.strip()
    if stripped in (BEGIN, END):
        return stripped
    if _FROM_LINE.fullmatch(stripped):
        return FROM
    comment = _COMMENT.search(text)
    if comment is None:
        return None
    words = re.sub(r"[\W_]+", " ", comment[0]).strip().upper()
    for marker in (BEGIN, END, FROM):
        meant = marker.removeprefix("# ")
        start = words[: len(meant) + 1].strip()
        # "begin solution of a system": prose goes on, a misspelt marker stands (nearly) alone
        alone = marker == FROM or len(words) <= len(meant) + 2
        if alone and difflib.SequenceMatcher(None, start, meant).ratio() > 0.85:
            raise AuthoringError(
                path, line, f"{stripped!r} looks like a marker; write {marker!r} alone on its line"
            )
    return None


def _filled(path: Path, cell: Cell) -> str:
    lines = cell.source.splitlines()
    for begin, end in reversed(_regions(path, cell)):
        lines[begin : end + 1] = [
            text
            for index in range(begin + 1, end)
            for text in _expanded(path, cell.line + index, lines[index])
        ]
    return "\n".join(lines)


def _expanded(path: Path, line: int, text: str) -> list[str]:
    match = _FROM_LINE.fullmatch(text.strip())
    if match is None:
        return [text]
    try:
        function = getattr(importlib.import_module(match["module"]), match["function"])
        body = _body(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (ImportError, AttributeError, TypeError, OSError) as error:
        raise AuthoringError(path, line, f"no source for {text.strip()!r}: {error}") from None
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.indent(body, indent).splitlines()


def _body(source: str) -> str:
    """Take the body of a function, without its docstring but with its comments."""
    tree = ast.parse(source).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise TypeError(f"expected a function, got {type(tree).__name__}")
    first = tree.body[0]
    start = first.end_lineno if ast.get_docstring(tree) is not None else first.lineno - 1
    return textwrap.dedent("\n".join(source.splitlines()[start:])).strip("\n")


def _stubbed(path: Path, cell: Cell) -> str:
    regions = _regions(path, cell)
    if bool(regions) != ("exercise" in cell.tags):
        problem = "has a region" if regions else "has no region"
        wanted = "must have" if regions else "must not have"
        raise AuthoringError(path, cell.line, f'the cell {problem}: it {wanted} the tag "exercise"')
    lines = cell.source.splitlines()
    for begin, end in reversed(regions):
        marker = lines[begin]
        indent = marker[: len(marker) - len(marker.lstrip())]
        if not indent:
            raise AuthoringError(
                path, cell.line + begin,
                f"{BEGIN} must stand inside a function, or the stub would stop the notebook",
            )  # fmt: skip
        lines[begin : end + 1] = [indent + STUB]
    if regions:
        _check_stub(path, cell, "\n".join(lines))
    return "\n".join(lines)


def _check_stub(path: Path, cell: Cell, source: str) -> None:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise AuthoringError(
            path, cell.line + (error.lineno or 1) - 1, f"the stub does not parse: {error.msg}"
        ) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and ast.unparse(node) == ast.unparse(ast.parse(STUB)):
            owner = _innermost_function(tree, node)
            if owner is None or ast.get_docstring(owner) is None:
                raise AuthoringError(
                    path, cell.line, "a function to be written needs a docstring that says what"
                )


def _innermost_function(tree: ast.Module, node: ast.AST) -> ast.FunctionDef | None:
    owners = [
        parent
        for parent in ast.walk(tree)
        if isinstance(parent, ast.FunctionDef) and any(child is node for child in ast.walk(parent))
    ]
    return owners[-1] if owners else None


def _refuse_survivors(path: Path, cells: list[Cell], exercise: list[Cell]) -> None:
    visible = {cell.id: plain(cell.source) for cell in exercise}
    for cell in cells:
        for line, secret in secrets(path, cell):
            for place, text in visible.items():
                if secret and holds(text, secret):
                    raise AuthoringError(
                        path, line, f"the solution can still be read in cell {place!r}: {secret!r}"
                    )


def holds(text: str, secret: str) -> bool:
    """Tell whether a solution can be read in a text; both as ``plain`` gives them."""
    # A short solution ("return x") may be part of an innocent line; as a line of its own it counts.
    return secret in text if len(secret) >= 20 else f"\n{secret}\n" in f"\n{text}\n"


def secrets(path: Path, cell: Cell) -> list[tuple[int, str]]:
    """List what an exercise must not show, as ``plain`` gives it, with its line in the script."""
    if "solution" in cell.tags:
        return [(cell.line, plain(cell.source))]
    lines = cell.source.splitlines()
    found = []
    for begin, end in _regions(path, cell):
        expanded = [
            text
            for index in range(begin + 1, end)
            for text in _expanded(path, cell.line + index, lines[index])
        ]
        found.append((cell.line + begin, plain("\n".join(expanded))))
    return found


def plain(source: str) -> str:
    """Reduce a text to what matters: no comments, blank lines or indentation."""
    try:
        source = ast.unparse(ast.parse(textwrap.dedent(source)))
    except SyntaxError:
        source = source.strip()  # prose
    return "\n".join(line for line in map(str.strip, source.splitlines()) if line)
