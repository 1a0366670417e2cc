"""What no task needs, and what a way around a check begins with: such an answer is not credited.

This is read off the text, before anything is run, and tells the one who grades where to look. It is
no proof that there is no other way.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from course_lib.grading.answer import Answer
from course_lib.grading.names import known_as
from course_lib.grading.outside import ATTRIBUTES, leads_outside
from course_lib.grading.scopes import looked_up_outside

__all__ = ["foreign_in", "foreign_means", "imported"]

_MODULES = {
    "__future__", "abc", "array", "base64", "binascii", "bisect", "calendar", "cmath",
    "collections", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "graphlib", "hashlib", "heapq", "itertools", "json", "logging",
    "math", "numbers", "numpy", "operator", "pprint", "queue", "random", "re", "scipy",
    "statistics", "string", "struct", "textwrap", "threading", "time", "torch", "tqdm", "typing",
    "warnings", "weakref", "zlib", "course_lib",
}  # fmt: skip
_A_FEW = {
    "builtins": {
        "abs",
        "all",
        "any",
        "filter",
        "float",
        "int",
        "len",
        "map",
        "max",
        "min",
        "pow",
        "range",
        "round",
        "sorted",
        "sum",
        "zip",
    },
    "io": {"BytesIO", "StringIO"},
    "pickle": {"dumps"},
    "sys": {
        "float_info",
        "getsizeof",
        "maxsize",
        "setrecursionlimit",
        "stderr",
        "stdout",
        "version_info",
    },
    "types": {"MappingProxyType", "SimpleNamespace"},
}
"""Modules of which these names are harmless, and many others are not."""
_NOT_OF_OURS = {"checks", "grading", "cli", "console", "doctor", "__main__"}
_NAMES = {
    "__builtins__", "__import__", "__loader__", "__spec__", "breakpoint", "compile", "delattr",
    "eval", "exec", "globals", "open", "vars",
}  # fmt: skip
_BY_NAME = {"attrgetter", "methodcaller"}
"""Functions whose first argument names an attribute."""
_OF_TEXTS = {"format", "format_map", "vformat", "get_field"}
"""What looks up the attributes that a text names: ``"{0.__class__}".format(x)``."""
_IN_TEXTS = re.compile(rf"__\w+__|\b(?:{'|'.join(sorted(n for n in ATTRIBUTES if '_' in n))})\b")


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
    for what, (number, line) in foreign_in(answer, task_module):
        return f"{what}, in cell {number}, line {line}"
    return ""


def foreign_in(answer: Answer, task_module: str = "") -> Iterator[tuple[str, tuple[int, int]]]:
    """List all such things.

    Parameters
    ----------
    answer : Answer
        What was handed in.
    task_module : str, default: ""
        The module of the task's own check.

    Yields
    ------
    tuple of str and (int, int)
        What, and the numbers of its cell and line.
    """
    trees = [(number, ast.parse(text)) for number, text in answer.cells]
    written = _written_texts([tree for _, tree in trees])
    partly = _known_in_part(tree for _, tree in trees)
    has_package = any(map(_binds_package, (node for _, tree in trees for node in ast.walk(tree))))
    for number, tree in trees:
        alone = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        harmless = {id(value) for value in alone if isinstance(value, ast.Constant)}
        harmless |= {id(call) for call in _calls_of_written_texts(tree, written)}
        named = {id(name) for name in _named_few(tree, partly)}
        outer = {id(name) for name in looked_up_outside(tree)}
        for node in ast.walk(tree):
            place = number, getattr(node, "lineno", 1)
            if isinstance(node, ast.Name) and node.id in partly and id(node) not in named:
                yield partly[node.id], place
            elif isinstance(node, ast.Name):
                yield from [(node.id, place)] if node.id in _NAMES and id(node) in outer else []
            elif isinstance(node, ast.Attribute) and node.attr in _NOT_OF_OURS:
                yield from [(f".{node.attr}", place)] if has_package else []
            elif id(node) not in harmless:
                yield from ((what, place) for what in _in(node, task_module))


def imported(answer: Answer) -> list[str]:
    """List the modules that an answer imports, anywhere in its text.

    Parameters
    ----------
    answer : Answer
        What was handed in.

    Returns
    -------
    list of str
        Their whole names, in the order in which they stand there.
    """
    names: dict[str, None] = {}
    for _, text in answer.cells:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                names |= dict.fromkeys(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names[node.module] = None
    return list(names)


def _in(node: ast.AST, task_module: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names if alias.name not in _A_FEW]
        yield from filter(_is_foreign, names)
    elif isinstance(node, ast.ImportFrom):
        home = node.module or ""
        for alias in node.names:
            whole = f"{home}.{alias.name}"
            allowed = home == task_module and alias.name.islower()  # a program, not the TASK
            allowed |= alias.name in _A_FEW.get(home, ())
            if node.level or (_is_foreign(whole) and not allowed) or alias.name in ATTRIBUTES:
                yield f"{'.' * node.level}{whole}"
    elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
        yield f".{node.attr}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value != "__main__":  # if __name__ == "__main__":
            yield from (f'"{name}" in a text' for name in _IN_TEXTS.findall(node.value)[:1])
    elif isinstance(node, ast.MatchClass):
        yield from (f".{name} in a pattern" for name in node.kwd_attrs if leads_outside(name))
    elif isinstance(node, ast.Call):
        yield from _looked_up(node)


def _binds_package(node: ast.AST) -> bool:
    """Tell whether a statement gives a name to the course's package as a whole."""
    return isinstance(node, ast.Import) and any(
        alias.name.partition(".")[0] == "course_lib" for alias in node.names
    )


def _known_in_part(trees: Iterable[ast.AST]) -> dict[str, str]:
    """Return under which names there are modules of which a few names are harmless."""
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Import)]
    names = [alias for node in nodes for alias in node.names if alias.name in _A_FEW]
    return {known_as(alias): alias.name for alias in names}


def _named_few(tree: ast.AST, partly: dict[str, str]) -> Iterator[ast.Name]:
    """List where such a module is written before one of its harmless names: ``sys.maxsize``."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in _A_FEW.get(partly.get(node.value.id, ""), ())
        ):
            yield node.value


def _written_texts(trees: Iterable[ast.AST]) -> set[str]:
    """Return the names that stand for nothing but texts that are written out."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    given = [
        target
        for node in nodes
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]
    known, others = {id(target) for target in given}, set[str | None]()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            others |= {node.id} if id(node) not in known else set()
        else:  # arguments, functions, classes, imports, what is caught or matched
            others |= {getattr(node, key, None) for key in ("arg", "name", "asname", "rest")}
    return {target.id for target in given} - others


def _calls_of_written_texts(tree: ast.AST, written: set[str]) -> Iterator[ast.Call]:
    """List calls such as ``TEXT.format(x)``, where ``TEXT`` is written out elsewhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            value = node.func.value
            if node.func.attr in _OF_TEXTS and getattr(value, "id", "") in written:
                yield node


def _looked_up(call: ast.Call) -> Iterator[str]:
    """Tell which attributes a call looks up by their names, where nobody can read these."""
    function = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if function in _BY_NAME:
        if leads_outside(getattr(call.args[0], "value", None) if call.args else None):
            yield f"{function} of a name that is not written out"
    elif function in _OF_TEXTS:
        text = _written_out(getattr(call.func, "value", ast.Constant("")))
        if text is None or _IN_TEXTS.search(text):
            yield f"{function} of a text that is not written out"


def _written_out(node: ast.expr) -> str | None:
    """Return the text that an expression is, if it is nothing but written-out texts in a row."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _written_out(node.left), _written_out(node.right)
        return None if left is None or right is None else left + right
    return str(node.value) if isinstance(node, ast.Constant) else None


def _is_foreign(module: str) -> bool:
    top, *rest = module.split(".")
    if top not in _MODULES or any(part in ATTRIBUTES for part in rest):
        return True
    return top == "course_lib" and bool(rest) and rest[0] in _NOT_OF_OURS
