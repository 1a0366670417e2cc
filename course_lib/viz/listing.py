"""The text of a function as one shows it: without its docstring, in colours in a notebook."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

__all__ = ["Source", "source"]


class Source:
    """The text of a function; a notebook shows it in colours, ``print`` as it is.

    Parameters
    ----------
    text : str
        The lines.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        """Return the text itself."""
        return self.text

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.text}\n```"


def source(fn: Callable[..., Any], part: str = "") -> Source:
    """Show what a function does: its text without the docstring, which ``help`` shows.

    Parameters
    ----------
    fn : callable
        A function of Python's, decorated or not.
    part : str, default: ""
        How a statement in it begins, ``"while"`` or ``"def push"``: only the first such statement
        is shown, a loop or a nested function with its block.

    Returns
    -------
    Source
        Its lines, from the first decorator or ``def`` to the last; or those of the part.

    Raises
    ------
    TypeError, OSError
        If it is no function, or its file cannot be found.
    ValueError
        If no statement begins as ``part`` says.

    Examples
    --------
    >>> from course_lib.collectives.power_of_two import fold_out
    >>> print(source(fold_out))
    def fold_out(comm: Communicator, total: Array, active: int) -> None:
        if comm.rank >= active:
            comm.recv(comm.rank - active, out=total)
        elif comm.rank + active < comm.size:
            comm.send(total, comm.rank + active)
    >>> source(fold_out, part="comm.send")
    comm.send(total, comm.rank + active)
    """
    if getattr(fn, "__name__", "") == "<lambda>":
        raise TypeError("fn must be a function with a def, got a lambda: a line has no text alone")
    lines = textwrap.dedent(inspect.getsource(inspect.unwrap(fn))).splitlines()
    function = ast.parse("\n".join(lines)).body[0]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    if part:
        return Source(_part_of(function, lines, part))
    first = function.body[0]
    if ast.get_docstring(function) is not None and len(function.body) > 1:
        assert first.end_lineno is not None
        del lines[first.lineno - 1 : first.end_lineno]
    return Source("\n".join(lines))


def _part_of(function: ast.stmt, lines: list[str], part: str) -> str:
    """Return the first statement that begins with some words, flush left."""
    inside = [node for node in ast.walk(function) if isinstance(node, ast.stmt)][1:]
    for node in sorted(inside, key=lambda node: node.lineno):
        begins = lines[node.lineno - 1].encode()[node.col_offset :].decode()
        if begins.startswith(part):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            return textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno]))
    name = getattr(function, "name", "the function")
    raise ValueError(f"part must be how a statement of {name} begins, got {part!r}")
