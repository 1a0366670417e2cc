"""What no task needs, and what a way around a check begins with: such an answer is not credited.

This is read off the text, before anything is run, and tells the one who grades where to look. It is
no proof that there is no other way.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from course_lib.grading.answer import Answer
from course_lib.grading.names import known_as

__all__ = ["foreign_in", "foreign_means", "imported"]

_MODULES = {
    "__future__", "abc", "array", "bisect", "cmath", "collections", "contextlib", "copy",
    "dataclasses", "decimal", "enum", "fractions", "functools", "heapq", "itertools", "math",
    "numbers", "numpy", "operator", "pprint", "queue", "random", "re", "statistics", "string",
    "struct", "threading", "time", "torch", "typing", "warnings", "course_lib",
}  # fmt: skip
_A_FEW = {
    "sys": {"float_info", "maxsize", "version_info"},
    "types": {"MappingProxyType", "SimpleNamespace"},
}
"""Modules of which these names are harmless, and many others are not."""
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
_BY_NAME = {"getattr": 1, "setattr": 1, "hasattr": 1, "attrgetter": 0, "methodcaller": 0}
"""Functions that take an attribute's name, and which of their arguments it is."""
_OF_TEXTS = {"format", "format_map", "vformat", "get_field"}
"""What looks up the attributes that a text names: ``"{0.__class__}".format(x)``."""
_IN_TEXTS = re.compile(rf"__\w+__|\b(?:{'|'.join(sorted(n for n in _ATTRIBUTES if '_' in n))})\b")


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
    for number, tree in trees:
        alone = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        harmless = {id(value) for value in alone if isinstance(value, ast.Constant)}
        harmless |= {id(node) for node in _local_names(tree)}
        harmless |= {id(call) for call in _calls_of_written_texts(tree, written)}
        named = {id(name) for name in _named_few(tree, partly)}
        for node in ast.walk(tree):
            place = number, getattr(node, "lineno", 1)
            if isinstance(node, ast.Name) and node.id in partly and id(node) not in named:
                yield partly[node.id], place
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
            if node.level or (_is_foreign(whole) and not allowed) or alias.name in _ATTRIBUTES:
                yield f"{'.' * node.level}{whole}"
    elif isinstance(node, ast.Name) and node.id in _NAMES:
        yield node.id
    elif isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES | _NOT_OF_OURS:
        yield f".{node.attr}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from (f'"{name}" in a text' for name in _IN_TEXTS.findall(node.value)[:1])
    elif isinstance(node, ast.Call):
        yield from _looked_up(node)


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


def _local_names(tree: ast.AST) -> Iterator[ast.Name]:
    """List what has the name of something that is built in, and is a function's own variable.

    In a class, and where something is said to be global, a name may be the built-in one all the
    same; so it may in a default value, which belongs to who surrounds the function.
    """
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        parts = [part for statement in function.body for part in ast.walk(statement)]
        if any(isinstance(part, ast.ClassDef | ast.Global) for part in parts):
            continue
        own = {one.arg for one in _arguments(function.args)}
        for statement in function.body:
            if isinstance(statement, ast.Assign):
                own |= {one.id for one in statement.targets if isinstance(one, ast.Name)}
        yield from (part for part in parts if isinstance(part, ast.Name) and part.id in own)


def _arguments(given: ast.arguments) -> Iterator[ast.arg]:
    """List a function's own arguments, not those of a lambda that is a default value."""
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)
    yield from (one for one in (given.vararg, given.kwarg) if one is not None)


def _written_texts(trees: Iterable[ast.AST]) -> dict[str, set[object]]:
    """Return the names that stand for nothing but constants that are written out, with these.

    ``TEXT = "{}"`` gives one such a meaning, and so does ``for key in ("w", "b"):``.
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    found: dict[str, set[object]] = {}
    known, others = set[int](), set[str | None]()
    for node in nodes:
        for target, constants in _given_constants(node):
            known.add(id(target))
            found.setdefault(target.id, set()).update(one.value for one in constants)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            others |= {node.id} if id(node) not in known else set()
        else:  # arguments, functions, classes, imports, what is caught or matched
            others |= {getattr(node, key, None) for key in ("arg", "name", "asname", "rest")}
    return {name: constants for name, constants in found.items() if name not in others}


def _given_constants(node: ast.AST) -> Iterator[tuple[ast.Name, list[ast.Constant]]]:
    """List names that a statement or a loop gives to constants, with these."""
    if isinstance(node, ast.Assign):
        targets, values = node.targets, [node.value]
    elif isinstance(node, ast.For | ast.comprehension):
        listed = isinstance(node.iter, ast.Tuple | ast.List | ast.Set)
        targets, values = [node.target], getattr(node.iter, "elts", []) if listed else [node.iter]
    else:
        return
    constants = [value for value in values if isinstance(value, ast.Constant)]
    if len(constants) == len(values):
        yield from ((one, constants) for one in targets if isinstance(one, ast.Name))


def _calls_of_written_texts(tree: ast.AST, written: dict[str, set[object]]) -> Iterator[ast.Call]:
    """List calls such as ``TEXT.format(x)`` and ``getattr(x, key)``, with what is written out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            value = node.func.value
            if node.func.attr in _OF_TEXTS and getattr(value, "id", "") in written:
                yield node
        elif isinstance(node, ast.Call):
            names = node.args[_BY_NAME.get(_called(node), len(node.args)) :]
            key = getattr(names[0], "id", "") if names else ""
            if key in written and not any(map(_leads_outside, written[key])):
                yield node


def _looked_up(call: ast.Call) -> Iterator[str]:
    """Tell which attributes a call looks up by their names, where nobody can read these."""
    function = _called(call)
    if function in _BY_NAME:
        names = call.args[_BY_NAME[function] :]
        if _leads_outside(getattr(names[0], "value", None) if names else None):
            yield f"{function} of a name that is not written out"
    elif function in _OF_TEXTS and not isinstance(
        getattr(call.func, "value", ast.Constant("")), ast.Constant
    ):
        yield f"{function} of a text that is not written out"


def _called(call: ast.Call) -> str:
    name: str = getattr(call.func, "id", getattr(call.func, "attr", ""))
    return name


def _leads_outside(key: object) -> bool:
    """Tell whether an attribute of this name is not for an answer, or this is no name."""
    return not isinstance(key, str) or key in _ATTRIBUTES or key.startswith("__")


def _is_foreign(module: str) -> bool:
    top, *rest = module.split(".")
    if top not in _MODULES or any(part in _ATTRIBUTES for part in rest):
        return True
    return top == "course_lib" and bool(rest) and rest[0] in _NOT_OF_OURS
