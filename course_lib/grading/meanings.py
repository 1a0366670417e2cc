"""Which statements of a notebook give a name its meaning, or change what it stands for.

It is read off the text, and rather too much is found than too little: what may change a list is
taken for what does.
"""

import ast
import symtable
from collections.abc import Iterable, Iterator
from typing import TypeGuard

__all__ = ["Meanings", "given", "known_as", "used"]

_Made = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_FILLING = {"add", "append", "appendleft", "extend", "insert", "setdefault", "sort", "update"}
_LOOKING = {"display", "help", "print"}
_SHOWING = {"IPython", "course_lib", "matplotlib"}
"""Packages whose functions run or show what they are given, and change nothing of it."""


class Meanings:
    """Tells which names a statement gives or changes, knowing all statements of a notebook.

    Parameters
    ----------
    statements : iterable of ast.stmt
        Those of its cells, in their order.
    """

    def __init__(self, statements: Iterable[ast.stmt]) -> None:
        self._made: dict[str, _Made] = {}
        self._home: dict[str, str] = {}  # of what is imported
        for node in statements:
            if isinstance(node, _Made):
                self._made[node.name] = node
            elif isinstance(node, ast.Import):
                self._home |= {known_as(alias): alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                self._home |= {known_as(alias): node.module or "" for alias in node.names}

    def touched(self, node: ast.stmt) -> set[str]:
        """Return the names that a statement gives or changes, by what it calls as well.

        Parameters
        ----------
        node : ast.stmt
            One of the notebook's.

        Returns
        -------
        set of str
            Of a definition also what its decorators fill, and the class to whose list it adds
            itself by inheriting from it.
        """
        names = given(node)
        if isinstance(node, _Made):
            for decorator in node.decorator_list:
                names |= self._filled_by_decorating(decorator)
            for base in node.bases if isinstance(node, ast.ClassDef) else ():
                names |= self._filled_by_heirs(_root(base))
            return names
        for part in _outside_of_functions(node):
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
                names |= self._changed_by(part.value)
        return names

    def _changed_by(self, call: ast.Call) -> set[str]:
        """Return what a bare call may change: it is there for that, or to show something."""
        function = _root(call.func)
        if function in _LOOKING or self._home.get(function, "").partition(".")[0] in _SHOWING:
            return set()
        changed = self._filled_by(function)
        if isinstance(call.func, ast.Attribute) and function not in self._home:
            return changed | {function}  # words.reverse()
        roots = {_root(argument) for argument in call.args if not isinstance(argument, ast.Call)}
        if function != "setattr":  # nothing else changes a function that it is given
            roots -= self._made.keys()
        return changed | roots  # heappush(heap, 3)

    def _filled_by_decorating(self, decorator: ast.expr) -> set[str]:
        """Return what a decorator may fill: ``@RULES.add``, ``@say.register(int)``, ``@rule``."""
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = _root(called)
        owner = {name} if isinstance(called, ast.Attribute) and name not in self._home else set()
        return self._filled_by(name) | owner

    def _filled_by(self, name: str) -> set[str]:
        """Return what a function or class of the notebook may fill when it is called."""
        filled, seen, waiting = set[str](), set[str](), [name]
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self._made:
                continue
            seen.add(name)
            for part in ast.walk(self._made[name]):
                filled |= _stored_in(part)
                if isinstance(part, ast.Global):
                    filled |= set(part.names)
                elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
                    filled.add(_root(part.value.func))
                if isinstance(part, ast.Call):
                    waiting.append(_root(part.func))
        return filled

    def _filled_by_heirs(self, base: str) -> set[str]:
        """Return what a class of the notebook may fill when another inherits from it."""
        hook = "__init_subclass__"
        if base in self._made and hook in {
            getattr(part, "name", "") for part in ast.walk(self._made[base])
        }:
            return self._filled_by(base) | {base}
        return set()


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
    if isinstance(node, _Made):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {known_as(alias) for alias in node.names}
    names, inner = set[str](), set[int]()
    for part in _outside_of_functions(node):
        if isinstance(part, ast.comprehension):  # its names are its own
            inner |= {id(name) for name in ast.walk(part.target)}
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names |= set() if id(part) in inner else {part.id}
        elif isinstance(part, ast.Import | ast.ImportFrom):
            names |= {known_as(alias) for alias in part.names}
        elif isinstance(part, _Made | ast.MatchAs | ast.MatchStar) and part.name:
            names.add(part.name)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            names.add(part.rest)
        names |= _stored_in(part)
    return names


def used(node: ast.stmt) -> set[str]:
    """Return the names of the notebook that a statement uses, but not a function's own.

    Parameters
    ----------
    node : ast.stmt
        A statement.

    Returns
    -------
    set of str
        None of an import: what else its line imports is not needed for that.
    """
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    found, tables = set(), [symtable.symtable(ast.unparse(node), "cell", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_module = table.get_type() == "module"
        found |= {one.get_name() for one in table.get_symbols() if is_module or one.is_global()}
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


def _stored_in(part: ast.AST) -> set[str]:
    """Return the names of what is stored into, or filled."""
    if isinstance(part, ast.Subscript | ast.Attribute) and isinstance(part.ctx, ast.Store):
        return {inner.id for inner in ast.walk(part.value) if isinstance(inner, ast.Name)}
    if _is_filling(part):
        return {inner.id for inner in ast.walk(part.func) if isinstance(inner, ast.Name)}
    return set()


def _is_filling(node: ast.AST) -> TypeGuard[ast.Call]:
    """Tell whether a list, a dict or a set is given more by a call, wherever that stands."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _FILLING
    )


def _root(node: ast.AST) -> str:
    """Return the name that an expression begins with: ``"heap"`` of ``heap.items[0].push``."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    inner = _Made | ast.Lambda
    waiting = [node]
    while waiting:  # not by recursion: a thousand `elif` are as deep
        part = waiting.pop()
        yield part
        if part is node or not isinstance(part, inner):
            waiting += ast.iter_child_nodes(part)
