"""Pick the text of an answer, with what it uses, out of a notebook, wherever that stands.

The notebook is read from its top to the last check of the function: what is defined later does not
count, nor does it in the notebook. Nothing is run here. Only those statements are kept that give
what the function uses its meaning, or change it, and what that uses in turn. What tries something
out, and the checks, stay where they are.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from course_lib.grading.answer import Answer
from course_lib.grading.meanings import Meanings
from course_lib.grading.means import foreign_in
from course_lib.grading.names import given, known_as, used
from course_lib.grading.submission import Cell, checked_by

__all__ = ["answer_in", "answer_with_deeds_in", "is_stub"]

_NEVER = (ast.Assert, ast.Pass)
_CALLED_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MANY = "*"  # from numpy import *

Statement = tuple[Cell, ast.stmt]


def answer_in(cells: Sequence[Cell], name: str, shown: Collection[str] = ()) -> Answer:
    """Pick out what one function needs.

    Parameters
    ----------
    cells : sequence of Cell
        The notebook's code cells.
    name : str
        The task's function.
    shown : collection of str, default: nothing
        Functions that the exercise itself has checked to show something: none of these is an
        answer.

    Returns
    -------
    Answer
        Of several definitions the last before the function is checked for the last time. Where the
        notebook has no check of it, the last in a cell tagged as exercise, or else the last. Where
        it is not written at all, what has been checked in its place: ``checks.f(another)``.
    """
    statements = _that_count(cells, name, shown)
    if not statements:
        meant = re.compile(rf"^\s*(?:async\s+)?(?:def\s+{name}\b|{name}\s*=)", re.MULTILINE)
        broken = [cell for cell in cells if cell.tree is None and meant.search(cell.source)]
        fault = f"code cell {broken[-1].number}, {broken[-1].fault}" if broken else ""
        return Answer(name, is_written=bool(broken), fault=fault)
    return Answer(name, _picked(statements, Meanings(node for _, node in statements), name))


def answer_with_deeds_in(
    cells: Sequence[Cell], name: str, task_module: str = "", shown: Collection[str] = ()
) -> Answer | None:
    """Pick out what one function needs, and all that is done in the notebook before its check.

    Whether a call changes a table cannot always be read off a text, nor whether it only tries
    something out. So all counts here that may do something, but not what begins with a function of
    the course (it runs or shows something), nor what leads outside; and what fails is passed over.

    Parameters
    ----------
    cells : sequence of Cell
        The notebook's code cells.
    name : str
        The task's function.
    task_module : str, default: ""
        The module of the task's check.
    shown : collection of str, default: nothing
        As ``answer_in`` takes it.

    Returns
    -------
    Answer or None
        It goes on where a statement fails, as whoever runs a notebook does. None where the function
        stands on nothing but definitions and values, or leads outside itself.
    """
    statements = _that_count(cells, name, shown)
    while any(name in given(node) for _, node in statements):
        meanings = Meanings(node for _, node in statements)
        deeds = {node for _, node in statements if meanings.may_do_something(node)}
        answer = Answer(name, _picked(statements, meanings, name, deeds), passes_over=True)
        outside = {place for _, place in foreign_in(answer, task_module)}
        if not outside:
            trees = [ast.parse(text) for _, text in answer.cells]
            kept = [node for tree in trees for node in tree.body]
            return answer if any(map(meanings.is_a_deed, kept)) else None
        left = [pair for pair in statements if outside.isdisjoint(_lines_of(*pair))]
        if len(left) == len(statements):  # it stands where no statement of the notebook does
            return None
        statements = left
    return None


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


def _that_count(cells: Sequence[Cell], name: str, shown: Collection[str]) -> list[Statement]:
    """List what stands before the last check of a function, but no other definition of it.

    Nothing where the function is not written.
    """
    all_of_it = [(cell, node) for cell in cells if cell.tree is not None for node in cell.tree.body]
    checks = [
        (place, ast.unparse(one), one)
        for place, (_, node) in enumerate(all_of_it)
        for task, one in checked_by(node) if task == name
    ]  # fmt: skip
    own = [place for place, text, _ in checks if text == name]
    others = [(place, one) for place, text, one in checks if text not in {name, *shown}]
    for end in [*own[-1:], len(all_of_it)]:
        if written := _written(all_of_it[:end], name):
            tagged = [] if own else [pair for pair in written if pair[0].is_task]
            # Those before it as well: `f = faster(f)`, or `def f(x): return old(x)` and `old = f`.
            counted = written[: written.index((tagged or written)[-1]) + 1]
            return _without_others(all_of_it[:end], name, counted)
    if not others:
        return []
    place, one = others[-1]
    cell, node = all_of_it[place]
    named = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], one), node)
    meant = (cell, ast.fix_missing_locations(named))
    return _without_others([*all_of_it[:place], meant], name, [meant])


def _without_others(
    statements: Iterable[Statement], name: str, counted: Collection[Statement]
) -> list[Statement]:
    """Leave out all other definitions of a function, and what gives nothing a meaning."""
    return [
        pair
        for pair in statements
        if not isinstance(pair[1], _NEVER) and (name not in given(pair[1]) or pair in counted)
    ]


def _written(statements: Iterable[Statement], name: str) -> list[Statement]:
    """List those that define the function, and are more than its stub."""
    return [(cell, node) for cell, node in statements if name in given(node) and not is_stub(node)]


def _picked(
    statements: Sequence[Statement], meanings: Meanings, name: str,
    deeds: Collection[ast.stmt] = (),
) -> tuple[tuple[int, str], ...]:  # fmt: skip
    """Return the text that a name stands on, by cell, and of what is done besides."""
    touched = {node: meanings.touched(node) for _, node in statements}
    kept, needed = _followed(touched, name, deeds)
    needed |= {one for _, node in statements if _is_of_future(node) for one in given(node)}
    picked = [pair for pair in statements if pair[1] in kept or _is_of_future(pair[1])]
    return tuple(_texts(picked, needed))


def _followed(
    touched: Mapping[ast.stmt, set[str]], name: str, deeds: Collection[ast.stmt]
) -> tuple[set[ast.stmt], set[str]]:
    """Follow a name to the statements that it stands on, to the end; return all names as well.

    A function finds what has a name when it is called; any other statement what it has by then.
    """
    by_name: dict[str, list[tuple[int, ast.stmt]]] = {}
    for place, (node, names) in enumerate(touched.items()):
        for one in names:
            by_name.setdefault(one, []).append((place, node))
    kept, until, end = set[ast.stmt](), dict[str, int](), len(touched)
    waiting = [(name, end), (_MANY, end)]

    def keep(place: int, node: ast.stmt) -> None:
        kept.add(node)
        is_called = any(isinstance(part, _CALLED_LATER) for part in ast.walk(node))
        waiting.extend((one, end if is_called else place) for one in used(node))

    for place, node in enumerate(touched):
        if node in deeds:
            keep(place, node)
    while waiting:
        name, before = waiting.pop()
        if until.get(name, 0) >= before:
            continue
        until[name] = before
        for place, node in by_name.get(name, ()):
            if place < before and node not in kept:
                keep(place, node)
    return kept, set(until)


def _texts(statements: Iterable[Statement], needed: set[str]) -> Iterator[tuple[int, str]]:
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
        of_node = [line for _, line in _lines_of(cell, node)]
        text[of_node[0] - 1 : of_node[-1]] = lines[of_node[0] - 1 : of_node[-1]]
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


def _lines_of(cell: Cell, node: ast.stmt) -> Iterator[tuple[int, int]]:
    """List the lines of a statement, each with the number of its cell."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    yield from ((cell.number, line) for line in range(first, (node.end_lineno or first) + 1))
