"""Which names in a text are a function's own variables, and which are looked up outside of it."""

import ast
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["looked_up_outside"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_NAMED = (
    ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.ClassDef
    | ast.ExceptHandler
    | ast.MatchAs
    | ast.MatchStar
)
_Scope = _Function | _Comprehension | ast.ClassDef


def looked_up_outside(tree: ast.AST) -> Iterator[ast.Name]:
    """List the names that are no variable of a function around them.

    Parameters
    ----------
    tree : ast.AST
        Anything that can be parsed.

    Yields
    ------
    ast.Name
        As Python finds them: what a function binds anywhere is its own everywhere in it, and in
        those within it; what a class binds is not, and may be the name from outside all the same.
    """
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while waiting:  # not by recursion: a thousand `elif` are as deep
        node, own = waiting.pop()
        if isinstance(node, ast.Name) and node.id not in own:
            yield node
        within, inside = _scope_of(node, own)
        waiting += [(one, inside if one in within else own) for one in ast.iter_child_nodes(node)]
        if isinstance(node, _Comprehension):  # what the first loop goes over is found around it
            first = node.generators[0]
            waiting.remove((first, inside))
            waiting += [(one, inside) for one in (first.target, *first.ifs)] + [(first.iter, own)]


def _scope_of(node: ast.AST, own: frozenset[str]) -> tuple[Sequence[ast.AST], frozenset[str]]:
    """Return what is within a scope of the node's, if it has one, and the variables known there."""
    if isinstance(node, ast.ClassDef):
        return node.body, own - _bound(node.body)
    if isinstance(node, _Function):
        body = node.body if isinstance(node.body, list) else [node.body]
        given = {one.arg for one in ast.iter_child_nodes(node.args) if isinstance(one, ast.arg)}
        return body, (own | given | _bound(body)) - _said_to_be_shared(body)
    if isinstance(node, _Comprehension):
        targets = _bound([generator.target for generator in node.generators])
        return [*ast.iter_child_nodes(node)], own | targets
    return (), own


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that these bind, but not what a function or class within them binds."""
    names, waiting = set[str](), list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, _NAMED) and node.name:
            names.add(node.name)
        if not isinstance(node, _Scope):
            waiting += ast.iter_child_nodes(node)
    return names


def _said_to_be_shared(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are said to be global, or another function's."""
    walked = (part for node in nodes for part in ast.walk(node))
    return {
        name for part in walked if isinstance(part, ast.Global | ast.Nonlocal)
        for name in part.names
    }  # fmt: skip
