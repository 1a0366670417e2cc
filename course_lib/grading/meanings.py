"""Which statements of a notebook give a name its meaning, or change what it stands for.

It is read off the text, and rather too much is found than too little: what may change a list is
taken for what does.
"""

import ast
from collections.abc import Iterable

from course_lib.grading.names import (
    Made,
    aliases,
    changed_in,
    given,
    known_as,
    outside_of_functions,
    own_names,
    root,
    stored_in,
)

__all__ = ["Meanings"]

_LOOKING = {"display", "help", "print"}
_ACTING = (
    *(ast.AugAssign, ast.Delete, ast.With, ast.AsyncWith),
    *(ast.For, ast.AsyncFor, ast.comprehension, ast.Tuple, ast.Starred),  # they use iterators up
)
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
        self._made: dict[str, Made] = {}
        self._home: dict[str, str] = {}  # of what is imported
        self._part_of: dict[str, set[str]] = {}  # what may be another name for a part of what
        statements = list(statements)
        here = set().union(*map(given, statements))  # and no `range`, nor `sorted`
        for node in statements:
            for name, wholes in aliases(node):
                self._part_of.setdefault(name, set()).update(wholes & here)
            if isinstance(node, Made):
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
        if isinstance(node, Made):
            changed = set[str]()
            for decorator in node.decorator_list:
                changed |= self._filled_by_decorating(decorator)
            for base in node.bases if isinstance(node, ast.ClassDef) else ():
                changed |= self._filled_by_heirs(root(base))
            return given(node) | changed
        changed = set()
        for part in outside_of_functions(node):
            changed |= stored_in(part)
            if isinstance(part, ast.Call):
                changed |= self._filled_by(root(part.func)) | self._filled_of(part)
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
                changed |= self._changed_by(part.value)
        return given(node) | self._with_wholes(changed)

    def is_a_deed(self, node: ast.stmt) -> bool:
        """Tell whether a statement does more than to give names a meaning, or to show something.

        Parameters
        ----------
        node : ast.stmt
            One of the notebook's.

        Returns
        -------
        bool
            True where it may change what others have made, or may fail.
        """
        if isinstance(node, Made):
            return bool(node.decorator_list) or (
                isinstance(node, ast.ClassDef) and bool(node.bases)
            )
        parts = [*outside_of_functions(node)]
        return any(
            (isinstance(part, ast.Call) and root(part.func) not in _LOOKING)
            or isinstance(part, _ACTING)
            or stored_in(part)
            or _is_bare_operation(part)
            for part in parts
        )

    def may_do_something(self, node: ast.stmt) -> bool:
        """Tell whether a statement may change what others have made, without the course's help.

        Parameters
        ----------
        node : ast.stmt
            One of the notebook's.

        Returns
        -------
        bool
            False of what calls what the course brings along: a run, a picture, a check.
        """
        calls = (part for part in outside_of_functions(node) if isinstance(part, ast.Call))
        shows = (self._runs_or_shows(root(call.func)) for call in calls)
        return self.is_a_deed(node) and (isinstance(node, Made) or not any(shows))

    def _runs_or_shows(self, name: str) -> bool:
        """Tell whether a name is imported from a package that only runs or shows what it gets."""
        return self._home.get(name, "").partition(".")[0] in _SHOWING

    def _with_wholes(self, names: set[str]) -> set[str]:
        """Add what a name may be a part of: ``for row in TABLE: row[0] = 1`` changes TABLE."""
        found, waiting = set[str](), [*names]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._part_of.get(name, ())
        return found

    def _changed_by(self, call: ast.Call) -> set[str]:
        """Return what a bare call may change: it is there for that, or to show something."""
        function = root(call.func)
        if function in _LOOKING or self._runs_or_shows(function):
            return set()
        if isinstance(call.func, ast.Attribute) and function not in self._home:
            return {function}  # words.reverse()
        roots = {root(argument) for argument in call.args if not isinstance(argument, ast.Call)}
        # np.put(words, 0, 3); a function that is given to another is not changed by it.
        return roots - self._made.keys()

    def _filled_by_decorating(self, decorator: ast.expr) -> set[str]:
        """Return what a decorator may fill: ``@RULES.add``, ``@say.register(int)``, ``@rule``."""
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = root(called)
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
            filled |= changed_in(self._made[name]) - own_names(self._made[name])
            calls = (part for part in ast.walk(self._made[name]) if isinstance(part, ast.Call))
            waiting += [root(call.func) for call in calls]
        return filled

    def _filled_of(self, call: ast.Call) -> set[str]:
        """Return which of its arguments a call of the notebook's function may fill."""
        made = self._made.get(root(call.func))
        if not isinstance(made, ast.FunctionDef) or not changed_in(made) & own_names(made):
            return set()
        return {root(argument) for argument in call.args} - self._made.keys()

    def _filled_by_heirs(self, base: str) -> set[str]:
        """Return what a class of the notebook may fill when another inherits from it."""
        hook = "__init_subclass__"
        if base in self._made and hook in {
            getattr(part, "name", "") for part in ast.walk(self._made[base])
        }:
            return self._filled_by(base) | {base}
        return set()


def _is_bare_operation(part: ast.AST) -> bool:
    """Tell whether it is a line that shows a value and asks objects for it: ``rows << 1``."""
    plain = ast.Constant | ast.Name | ast.JoinedStr | ast.Call  # a call is looked at by itself
    return isinstance(part, ast.Expr) and not isinstance(part.value, plain)
