"""The text of one answer, with what it uses, wherever in the notebook that stands.

Nothing is run here. Of all statements of the notebook only those count that give a name to what the
function uses, and to what that uses in turn: imports, definitions, assignments; in a cell tagged as
exercise all but bare calls, unless these fill what the function uses (``TABLE.append(3)``). What
tries something out, and the notebook's checks, stay where they are.
"""

import __future__

import ast
import linecache
import re
import symtable
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeGuard

from course_lib.grading.submission import Cell

__all__ = ["Answer", "answer_in", "is_stub", "uncalled"]

_DEFINING = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign,
    ast.AnnAssign, ast.AugAssign,
)  # fmt: skip
_NAMED = (ast.FunctionDef, ast.ClassDef, ast.MatchAs, ast.MatchStar)
_NEVER = (ast.Assert, ast.Delete, ast.Pass)
_FILLING = {"add", "append", "appendleft", "extend", "insert", "setdefault", "sort", "update"}
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
        Of several definitions the last in a cell tagged as exercise, or else the last.
    """
    statements = [
        (cell, node)
        for cell in cells
        if cell.tree is not None
        for node in cell.tree.body
        if isinstance(node, _DEFINING) or (cell.is_task and not isinstance(node, _NEVER))
    ]
    own = [(cell, node) for cell, node in statements if name in _bound(node)]
    written = [(cell, node) for cell, node in own if not is_stub(node)]
    if not written:
        meant = re.compile(rf"^\s*(?:async\s+)?(?:def\s+{name}\b|{name}\s*=)", re.MULTILINE)
        broken = [cell for cell in cells if cell.tree is None and meant.search(cell.source)]
        fault = f"code cell {broken[-1].number}, {broken[-1].fault}" if broken else ""
        return Answer(name, is_written=bool(broken), fault=fault)
    chosen = ([pair for pair in written if pair[0].is_task] or written)[-1]
    # Those before it as well: `f = faster(f)`, or `def f(x): return old(x)` behind `old = f`.
    counted = written[: written.index(chosen) + 1]
    others = [pair for pair in statements if name not in _bound(pair[1]) or pair in counted]
    return Answer(name, tuple(_texts(others, _needed(others, name))))


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


def _bound(node: ast.AST) -> set[str]:
    """Return the names that a statement gives a meaning to."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {_known_as(alias) for alias in node.names}
    names = set[str]()
    if isinstance(node, ast.Expr) and not _is_filling(node.value):
        return names
    for part in _outside_of_functions(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            names |= {_known_as(alias) for alias in part.names}
        elif isinstance(part, _NAMED) and part.name:
            names.add(part.name)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            names.add(part.rest)
        elif isinstance(part, ast.Subscript | ast.Attribute) and isinstance(part.ctx, ast.Store):
            names |= {inner.id for inner in ast.walk(part.value) if isinstance(inner, ast.Name)}
        elif _is_filling(part):
            names |= {inner.id for inner in ast.walk(part.func) if isinstance(inner, ast.Name)}
    return names


def _is_filling(node: ast.AST) -> TypeGuard[ast.Call]:
    """Tell whether a list, a dict or a set is given more by a call."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _FILLING
    )


def _known_as(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    inner = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    waiting = [node]
    while waiting:  # not by recursion: a thousand `elif` are as deep
        part = waiting.pop()
        yield part
        if part is node or not isinstance(part, inner):
            waiting += ast.iter_child_nodes(part)


def _needed(statements: Sequence[tuple[Cell, ast.stmt]], name: str) -> set[str]:
    """Follow names to what they stand on, to the end."""
    users: dict[str, list[ast.stmt]] = {}
    for _, node in statements:
        for bound in _bound(node):
            users.setdefault(bound, []).append(node)
    needed, waiting = {name, _MANY}, [name]
    while waiting:
        for node in users.get(waiting.pop(), ()):
            used = _used(node)
            waiting += used - needed
            needed |= used
    return needed


def _used(node: ast.stmt) -> set[str]:
    """Return the names of the notebook that a statement uses, but not a function's own."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set()  # what else the line imports is not needed for that
    used, tables = set(), [symtable.symtable(ast.unparse(node), "cell", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_module = table.get_type() == "module"
        used |= {one.get_name() for one in table.get_symbols() if is_module or one.is_global()}
    return used


def _texts(
    statements: Iterable[tuple[Cell, ast.stmt]], needed: set[str]
) -> Iterator[tuple[int, str]]:
    kept: dict[int, tuple[Cell, list[str]]] = {}
    for cell, node in statements:
        if _is_of_future(node):  # it changes how the others are read
            needed |= _bound(node)
        if not _bound(node) & needed:
            continue
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
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _import_of(node: ast.Import | ast.ImportFrom, needed: set[str]) -> ast.stmt:
    """Return an import of what is needed alone; the line itself is there for other answers, too."""
    names = [alias for alias in node.names if _known_as(alias) in needed]
    if isinstance(node, ast.Import):
        return ast.Import(names)
    return ast.ImportFrom(node.module, names, node.level)


def _joined(one: str, other: str) -> str:
    return f"{one}; {other}" if one else other


def _shares_lines(cell: Cell, node: ast.stmt) -> bool:
    """Tell whether another statement stands on one of a statement's lines: ``x = 1; y = 2``."""
    assert cell.tree is not None
    first, last = node.lineno, node.end_lineno or node.lineno
    return isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and any(
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
