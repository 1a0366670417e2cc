"""One answer as text, which becomes the function only in a process of its own."""

import __future__

import ast
import linecache
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from course_lib.grading.outside import guarded

__all__ = ["Answer", "uncalled"]

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
    passes_over : bool, default: False
        Whether the text goes on after a statement that fails.
    """

    name: str
    cells: tuple[tuple[int, str], ...] = ()
    is_written: bool = True
    fault: str = ""
    passes_over: bool = False

    def __call__(self, *_: Any) -> Any:
        """Refuse: it is called as what it is loaded as, in another process."""
        raise TypeError("an answer is called only where it was loaded")

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as text, and become the function where it is loaded."""
        return _loaded, (self.name, self.cells, self.passes_over)


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
    trees = _trees(answer.cells)
    for name in (answer.name, _other_name(answer.name, trees)):
        for filename, tree in reversed(trees):
            code = _code_named(compile(tree, filename, "exec"), name)
            if code is not None:
                return FunctionType(code, {})
    return answer.__call__


def _trees(cells: Iterable[tuple[int, str]]) -> list[tuple[str, ast.Module]]:
    trees = []
    for number, text in cells:
        filename = f"cell {number}"
        lines = [f"{line}\n" for line in text.split("\n")]
        linecache.cache[filename] = len(text), None, lines, filename
        trees.append((filename, ast.parse(text, filename)))
    return trees


def _other_name(name: str, trees: Iterable[tuple[str, ast.Module]]) -> str:
    """Return what a function is called besides: ``f = another``, ``f = lambda x: x``."""
    found = ""
    for node in (node for _, tree in trees for node in tree.body):
        if isinstance(node, ast.Assign) and name in (getattr(t, "id", "") for t in node.targets):
            found = "<lambda>" if isinstance(node.value, ast.Lambda) else found
            found = node.value.id if isinstance(node.value, ast.Name) else found
    return found


def _code_named(code: CodeType, name: str) -> CodeType | None:
    found = [part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == name]
    return found[-1] if found else None


@cache
def _compiled(cells: tuple[tuple[int, str], ...]) -> list[CodeType]:
    """Return the code of each statement."""
    codes: list[CodeType] = []
    flags = 0
    for filename, tree in _trees(cells):
        for node in tree.body:
            alone = ast.Module([node], [])
            codes.append(compile(alone, filename, "exec", flags, dont_inherit=True))
            flags |= codes[-1].co_flags & _FUTURE  # in a notebook it is so in all that follows
    return codes


def _loaded(name: str, cells: tuple[tuple[int, str], ...], passes_over: bool) -> Any:
    """Run the text: only ever in a candidate's process."""
    space: dict[str, Any] = {"__name__": "__main__", **guarded}
    for code in _compiled(cells):
        with suppress(*((Exception, SystemExit) if passes_over else ())):
            exec(code, space)
    return space[name]
