"""Names in statements: which are bound, read, stored into, and what stands for a part of what."""

import ast
import symtable
from collections.abc import Iterable, Iterator

__all__ = [
    "Made",
    "aliases",
    "changed_in",
    "given",
    "known_as",
    "outside_of_functions",
    "own_names",
    "root",
    "stored_in",
    "used",
]

Made = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_FILLING = {
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "fill", "insert",
    "itemset", "pop", "popitem", "popleft", "put", "remove", "resize", "reverse", "rotate",
    "setdefault", "sort", "update",
}  # fmt: skip
_FILLING_FIRST = {"heapify", "heappop", "heappush", "heapreplace", "insort", "setattr", "shuffle"}
"""Functions that change their first argument, wherever they are called."""
_PART = ast.Name | ast.Attribute | ast.Subscript


def given(node: ast.AST) -> set[str]:
    """Return the names that a statement gives a meaning to.

    Parameters
    ----------
    node : ast.AST
        A statement.

    Returns
    -------
    set of str
        Also of what it stores into, ``TABLE[3] = x``, or fills, ``TABLE.append(x)``.
    """
    stored = () if isinstance(node, Made) else outside_of_functions(node)
    return _bound_by(node).union(*(stored_in(part) for part in stored))


def _bound_by(node: ast.AST) -> set[str]:
    """Return the names that stand for something else afterwards."""
    if isinstance(node, Made):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {known_as(alias) for alias in node.names}
    names, inner = set[str](), set[int]()
    for part in outside_of_functions(node):
        if isinstance(part, ast.comprehension):  # its names are its own
            inner |= {id(name) for name in ast.walk(part.target)}
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names |= set() if id(part) in inner else {part.id}
        elif isinstance(part, ast.Import | ast.ImportFrom):
            names |= {known_as(alias) for alias in part.names}
        elif isinstance(part, Made | ast.MatchAs | ast.MatchStar) and part.name:
            names.add(part.name)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            names.add(part.rest)
    return names


def aliases(node: ast.AST) -> Iterator[tuple[str, set[str]]]:
    """List names that may stand for a part of others: ``row`` in ``for row in T``.

    Parameters
    ----------
    node : ast.AST
        A statement.

    Yields
    ------
    tuple of str and set of str
        A name, and those of which it may be a part.
    """
    if isinstance(node, Made):
        return
    for part in outside_of_functions(node):
        if isinstance(part, ast.For | ast.comprehension):
            roots = _names_in(part.iter)
            yield from ((name, roots) for name in _names_in(part.target))
        elif isinstance(part, ast.Assign) and isinstance(part.value, _PART):
            roots = {root(part.value)}
            yield from ((name, roots) for target in part.targets for name in _names_in(target))


def _names_in(target: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}


def used(node: ast.stmt) -> set[str]:
    """Return the names of the notebook that a statement uses, but not a function's own.

    Parameters
    ----------
    node : ast.stmt
        A statement.

    Returns
    -------
    set of str
        None of an import: what else its line imports is not needed for that. None that it gives
        before it reads them, such as a loop its variable.
    """
    return set() if isinstance(node, ast.Import | ast.ImportFrom) else _read([node], set())


def _read(nodes: Iterable[ast.AST], bound: set[str]) -> set[str]:
    """Return what is read in this order and not bound by then; what is bound is added."""
    found = set[str]()
    for node in nodes:
        if isinstance(node, ast.For | ast.AsyncFor):
            found |= _read([node.iter], bound)
            bound |= _bound_by(node.target)
            found |= _read([*node.body, *node.orelse], bound)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                found |= _read([item.context_expr], bound)
                bound |= _bound_by(item)
            found |= _read(node.body, bound)
        elif isinstance(node, ast.If | ast.While):
            found |= _read([node.test, *node.body, *node.orelse], bound)
        elif isinstance(node, ast.Try):
            handled = [part for one in node.handlers for part in one.body]
            found |= _read([*node.body, *handled, *node.orelse, *node.finalbody], bound)
        else:
            found |= _referenced(node) - bound
            bound |= _bound_by(node)
    return found


def _referenced(node: ast.AST) -> set[str]:
    """Return the names that a statement without others in it, or an expression, reads."""
    found = {root(node.target)} if isinstance(node, ast.AugAssign) else set[str]()
    tables = [symtable.symtable(ast.unparse(node), "cell", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_module = table.get_type() == "module"
        for one in table.get_symbols():
            if one.is_referenced() if is_module else one.is_global():
                found.add(one.get_name())
    return found


def known_as(alias: ast.alias) -> str:
    """Return the name under which an import is known.

    Parameters
    ----------
    alias : ast.alias
        Of ``import``.

    Returns
    -------
    str
        ``"np"`` of ``numpy as np``, ``"os"`` of ``os.path``.
    """
    return alias.asname or alias.name.partition(".")[0]


def stored_in(part: ast.AST) -> set[str]:
    """Return the names of what is stored into, filled or emptied, wherever that stands.

    Parameters
    ----------
    part : ast.AST
        An expression; what is within it is not looked at.

    Returns
    -------
    set of str
        The names that it begins with.
    """
    if isinstance(part, ast.Subscript | ast.Attribute):
        return set() if isinstance(part.ctx, ast.Load) else {root(part.value)} - {""}
    if not isinstance(part, ast.Call):
        return set()
    names = {root(word.value) for word in part.keywords if word.arg == "out"}
    called = getattr(part.func, "attr", getattr(part.func, "id", ""))
    if called in _FILLING_FIRST and part.args:
        names.add(root(part.args[0]))
    if called in _FILLING and isinstance(part.func, ast.Attribute):
        names.add(root(part.func))
    return names - {""}


def changed_in(made: Made) -> set[str]:
    """Return the names, its own and others, that a function or class stores into or fills.

    Parameters
    ----------
    made : Made
        Its definition.

    Returns
    -------
    set of str
        Those said to be global, too.
    """
    found = set[str]()
    for part in ast.walk(made):
        found |= stored_in(part)
        if isinstance(part, ast.Global):
            found |= set(part.names)
        elif isinstance(part, ast.AugAssign):
            found |= {root(part.target)}
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            found |= {root(part.value.func)}
    return found


def own_names(made: Made) -> set[str]:
    """Return arguments and variables of a function; of a class none.

    Parameters
    ----------
    made : Made
        Its definition.

    Returns
    -------
    set of str
        Without those said to be global.
    """
    if isinstance(made, ast.ClassDef):
        return set()
    names = {part.arg for part in ast.walk(made) if isinstance(part, ast.arg)}
    for part in ast.walk(made):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
    return names - {one for part in ast.walk(made) if isinstance(part, ast.Global)
                    for one in part.names}  # fmt: skip


def root(node: ast.AST) -> str:
    """Return the name that an expression begins with: ``"heap"`` of ``heap.items[0].push``.

    Parameters
    ----------
    node : ast.AST
        The expression.

    Returns
    -------
    str
        Empty if it begins with none.
    """
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through a statement, but not into what is run only when it is called.

    Parameters
    ----------
    node : ast.AST
        The statement.

    Yields
    ------
    ast.AST
        It and its parts.
    """
    inner = Made | ast.Lambda
    waiting = [node]
    while waiting:  # not by recursion: a thousand `elif` are as deep
        part = waiting.pop()
        yield part
        if part is node or not isinstance(part, inner):
            waiting += ast.iter_child_nodes(part)
