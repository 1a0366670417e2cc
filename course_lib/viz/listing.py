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


def source(fn: Callable[..., Any]) -> Source:
    """Show what a function does: its text without the docstring, which ``help`` shows.

    Parameters
    ----------
    fn : callable
        A function of Python's, decorated or not.

    Returns
    -------
    Source
        Its lines, from the first decorator or ``def`` to the last.

    Raises
    ------
    TypeError, OSError
        If it is no function, or its file cannot be found.

    Examples
    --------
    >>> from course_lib.collectives.power_of_two import fold_out
    >>> print(source(fold_out))
    def fold_out(comm: Communicator, total: Array, active: int) -> None:
        if comm.rank >= active:
            comm.recv(comm.rank - active, out=total)
        elif comm.rank + active < comm.size:
            comm.send(total, comm.rank + active)
    """
    lines = textwrap.dedent(inspect.getsource(inspect.unwrap(fn))).splitlines()
    function = ast.parse("\n".join(lines)).body[0]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    first = function.body[0]
    if ast.get_docstring(function) is not None and len(function.body) > 1:
        assert first.end_lineno is not None
        del lines[first.lineno - 1 : first.end_lineno]
    return Source("\n".join(lines))
