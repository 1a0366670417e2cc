"""What no task needs, and what a way around a check begins with: such an answer is not credited.

This is read off the text, before anything is run, and tells the one who grades where to look. It is
no proof that there is no other way.
"""

import ast
from collections.abc import Iterator

from course_lib.grading.answer import Answer

__all__ = ["foreign_means"]

_MODULES = {
    "__future__", "abc", "bisect", "cmath", "collections", "copy", "dataclasses", "decimal",
    "enum", "fractions", "functools", "heapq", "itertools", "math", "numbers", "numpy", "operator",
    "queue", "random", "re", "statistics", "string", "threading", "time", "torch", "typing",
    "course_lib",
}  # fmt: skip
_NOT_OF_OURS = {"checks", "grading", "cli", "console", "doctor", "__main__"}
_NAMES = {
    "__builtins__", "__import__", "__loader__", "__spec__", "breakpoint", "compile", "delattr",
    "eval", "exec", "globals", "open", "vars",
}  # fmt: skip
_ATTRIBUTES = {
    "__base__", "__bases__", "__builtins__", "__closure__", "__code__", "__dict__", "__func__",
    "__getattribute__", "__globals__", "__import__", "__loader__", "__mro__", "__reduce__",
    "__reduce_ex__", "__self__", "__spec__", "__subclasses__", "__traceback__", "__wrapped__",
    "ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame",
    "tb_frame", "tb_next",
    "_os", "_sys", "_io", "builtins", "ctypes", "ctypeslib", "f2py", "gc", "importlib", "inspect",
    "modules", "os", "pickle", "subprocess", "sys",
    "fromfile", "genfromtxt", "loadtxt", "memmap", "savetxt", "tofile",
}  # fmt: skip
_BY_NAME = ("getattr", "setattr", "hasattr")


def foreign_means(answer: Answer, task_module: str = "") -> str:
    """Find the first thing in an answer that its task can do without, and that leads outside.

    Parameters
    ----------
    answer : Answer
        What was handed in.
    task_module : str, default: ""
        The module of the task's own check, of which an exercise may import what it is about.

    Returns
    -------
    str
        What and where, such as ``"open, in cell 7, line 3"``; empty where there is nothing.
    """
    for number, text in answer.cells:
        for node in ast.walk(ast.parse(text)):
            for what in _in(node, task_module):
                return f"{what}, in cell {number}, line {getattr(node, 'lineno', 1)}"
    return ""


def _in(node: ast.AST, task_module: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if _is_foreign(alias.name))
    elif isinstance(node, ast.ImportFrom):
        home = node.module or ""
        for alias in node.names:
            whole = f"{home}.{alias.name}"
            allowed = home == task_module and alias.name.islower()  # a program, not the TASK
            if node.level or (_is_foreign(whole) and not allowed) or alias.name in _ATTRIBUTES:
                yield f"{'.' * node.level}{whole}"
    elif isinstance(node, ast.Name) and node.id in _NAMES:
        yield node.id
    elif isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES | _NOT_OF_OURS:
        yield f".{node.attr}"
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _BY_NAME:
        name = node.args[1] if len(node.args) > 1 else None
        value = getattr(name, "value", None)
        if not isinstance(value, str) or value in _ATTRIBUTES or value.startswith("__"):
            yield f"{getattr(node.func, 'id', '')} of a name that is not written out"


def _is_foreign(module: str) -> bool:
    top, *rest = module.split(".")
    if top not in _MODULES or any(part in _ATTRIBUTES for part in rest):
        return True
    return top == "course_lib" and bool(rest) and rest[0] in _NOT_OF_OURS
