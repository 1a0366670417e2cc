"""The text of one answer, with what it uses, wherever in the notebook that stands.

The notebook is read from its top to the last check of the function: what is defined later does not
count, nor does it in the notebook. Nothing is run here. Only those statements are kept that give
what the function uses its meaning, or change it, and what that uses in turn. What tries something
out, and the checks, stay where they are.
"""

import __future__

import ast
import linecache
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from course_lib.grading.meanings import Meanings
from course_lib.grading.names import given, known_as, used
from course_lib.grading.submission import Cell

__all__ = ["Answer", "answer_in", "is_stub", "uncalled"]

_NEVER = (ast.Assert, ast.Pass)
_CALLED_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MANY = "*"  # from numpy import *
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


class Answer(NamedTuple):
    """What is needed to have the function in another process.

    Attributes
    ----------
    name : str
        The function's.
    cells : tuple of (int, str)
        Numbers of cells, and of each the text that counts, every line on its own number.
    is_written : bool
        Whether there is more than the stub that the exercise comes with.
    fault : str, default: ""
        Where the only cell that seems to define the function cannot be read, which and why.
    """

    name: str
    cells: tuple[tuple[int, str], ...] = ()
    is_written: bool = True
    fault: str = ""

    def __call__(self, *_: Any) -> Any:
        """Refuse: it is called as what it is loaded as, in another process."""
        raise TypeError("an answer is called only where it was loaded")

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as text, and become the function where it is loaded."""
        return _loaded, (self.name, self.cells)


def answer_in(cells: Sequence[Cell], name: str) -> Answer:
    """Pick out what one function needs.

    Parameters
    ----------
    cells : sequence of Cell
        The notebook's code cells.
    name : str
        The task's function.

    Returns
    -------
    Answer
        Of several definitions the last before the function is checked for the last time. Where the
        notebook has no check of it, the last in a cell tagged as exercise, or else the last.
    """
    checked = [k for k, cell in enumerate(cells, start=1) if _has_check_of(name, cell)]
    statements = _statements(cells[: checked[-1]] if checked else cells)
    written = _written(statements, name)
    if not written:
        statements, checked = _statements(cells), []
        written = _written(statements, name)
    if not written:
        meant = re.compile(rf"^\s*(?:async\s+)?(?:def\s+{name}\b|{name}\s*=)", re.MULTILINE)
        broken = [cell for cell in cells if cell.tree is None and meant.search(cell.source)]
        fault = f"code cell {broken[-1].number}, {broken[-1].fault}" if broken else ""
        return Answer(name, is_written=bool(broken), fault=fault)
    tagged = [] if checked else [pair for pair in written if pair[0].is_task]
    # Those before it as well: `f = faster(f)`, or `def f(x): return old(x)` behind `old = f`.
    counted = written[: written.index((tagged or written)[-1]) + 1]
    others = [pair for pair in statements if name not in given(pair[1]) or pair in counted]
    meanings = Meanings(node for _, node in others)
    touched = {node: meanings.touched(node) for _, node in others}
    kept, needed = _followed(touched, name)
    needed |= {one for _, node in others if _is_of_future(node) for one in given(node)}
    texts = _texts([pair for pair in others if pair[1] in kept or _is_of_future(pair[1])], needed)
    return Answer(name, tuple(texts))


def is_stub(node: ast.AST) -> bool:
    """Tell whether a function only says that it is not written yet.

    Parameters
    ----------
    node : ast.AST
        A statement.

    Returns
    -------
    bool
        True for a definition of nothing but docstring and ``raise NotImplementedError``.
    """
    if not isinstance(node, ast.FunctionDef):
        return False
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplementedError" in ast.dump(
        body[0]
    )  # fmt: skip


def uncalled(answer: Answer) -> Callable[..., Any]:
    """Make a function whose text can be read, and that is nothing to call.

    Parameters
    ----------
    answer : Answer
        What was handed in.

    Returns
    -------
    callable
        The definition's own code, without what surrounds it: no default value, no decorator and
        no other line of the notebook has been run for it.
    """
    for filename, tree in reversed(_trees(answer.cells)):
        code = _code_named(compile(tree, filename, "exec"), answer.name)
        if code is not None:
            return FunctionType(code, {})
    return answer.__call__


def _has_check_of(name: str, cell: Cell) -> bool:
    """Tell whether a cell calls ``checks.name``."""
    return cell.tree is not None and any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and getattr(node.func.value, "id", "") == "checks"
        for node in ast.walk(cell.tree)
    )


def _statements(cells: Iterable[Cell]) -> list[tuple[Cell, ast.stmt]]:
    """List all that may give a name its meaning."""
    return [
        (cell, node)
        for cell in cells
        if cell.tree is not None
        for node in cell.tree.body
        if not isinstance(node, _NEVER)
    ]


def _written(statements: Iterable[tuple[Cell, ast.stmt]], name: str) -> list[tuple[Cell, ast.stmt]]:
    """List those that define the function, and are more than its stub."""
    return [(cell, node) for cell, node in statements if name in given(node) and not is_stub(node)]


def _followed(touched: Mapping[ast.stmt, set[str]], name: str) -> tuple[set[ast.stmt], set[str]]:
    """Follow a name to the statements that it stands on, to the end; return all names as well.

    A function finds what has a name when it is called; any other statement what it has by then.
    """
    by_name: dict[str, list[tuple[int, ast.stmt]]] = {}
    for place, (node, names) in enumerate(touched.items()):
        for one in names:
            by_name.setdefault(one, []).append((place, node))
    kept, until, end = set[ast.stmt](), dict[str, int](), len(touched)
    waiting = [(name, end), (_MANY, end)]
    while waiting:
        name, before = waiting.pop()
        if until.get(name, 0) >= before:
            continue
        until[name] = before
        for place, node in by_name.get(name, ()):
            if place < before and node not in kept:
                kept.add(node)
                is_called = any(isinstance(part, _CALLED_LATER) for part in ast.walk(node))
                waiting += [(one, end if is_called else place) for one in used(node)]
    return kept, set(until)


def _texts(
    statements: Iterable[tuple[Cell, ast.stmt]], needed: set[str]
) -> Iterator[tuple[int, str]]:
    """Cut statements out of their cells; each stays on its lines."""
    kept: dict[int, tuple[Cell, list[str]]] = {}
    for cell, node in statements:
        lines = cell.source.split("\n")
        _, text = kept.setdefault(cell.number, (cell, [""] * len(lines)))
        if isinstance(node, ast.Import | ast.ImportFrom):
            line = ast.unparse(_import_of(node, needed))
            text[node.lineno - 1] = _joined(text[node.lineno - 1], line)
            continue
        if _shares_lines(cell, node):
            text[node.lineno - 1] = _joined(text[node.lineno - 1], ast.unparse(node))
            continue
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        text[first - 1 : node.end_lineno] = lines[first - 1 : node.end_lineno]
    for number, (_, text) in kept.items():
        yield number, "\n".join(text)


def _is_of_future(node: ast.stmt) -> bool:
    """Tell whether a statement changes how all others are read."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _import_of(node: ast.Import | ast.ImportFrom, needed: set[str]) -> ast.stmt:
    """Return an import of what is needed alone; the line itself is there for other answers, too."""
    names = [alias for alias in node.names if known_as(alias) in needed]
    if isinstance(node, ast.Import):
        return ast.Import(names)
    return ast.ImportFrom(node.module, names, node.level)


def _joined(one: str, other: str) -> str:
    return f"{one}; {other}" if one else other


def _shares_lines(cell: Cell, node: ast.stmt) -> bool:
    """Tell whether another statement stands on one of a statement's lines: ``x = 1; y = 2``."""
    assert cell.tree is not None
    first, last = node.lineno, node.end_lineno or node.lineno
    return isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr) and any(
        other is not node and other.lineno <= last and (other.end_lineno or 0) >= first
        for other in cell.tree.body
    )


def _trees(cells: Iterable[tuple[int, str]]) -> list[tuple[str, ast.Module]]:
    trees = []
    for number, text in cells:
        filename = f"cell {number}"
        lines = [f"{line}\n" for line in text.split("\n")]
        linecache.cache[filename] = len(text), None, lines, filename
        trees.append((filename, ast.parse(text, filename)))
    return trees


def _code_named(code: CodeType, name: str) -> CodeType | None:
    found = [part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == name]
    return found[-1] if found else None


@cache
def _compiled(cells: tuple[tuple[int, str], ...]) -> list[CodeType]:
    codes: list[CodeType] = []
    flags = 0
    for filename, tree in _trees(cells):
        codes.append(compile(tree, filename, "exec", flags, dont_inherit=True))
        flags |= codes[-1].co_flags & _FUTURE  # in a notebook it is so in all later cells
    return codes


def _loaded(name: str, cells: tuple[tuple[int, str], ...]) -> Any:
    """Run the text: only ever in a candidate's process."""
    space: dict[str, Any] = {"__name__": "__main__"}
    for code in _compiled(cells):
        exec(code, space)
    return space[name]
