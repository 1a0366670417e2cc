"""Small random damage to the solutions: nearly all of it must be noticed."""

import ast
import copy
from collections.abc import Iterator
from typing import Any

import pytest

from authoring.scripts import read_script
from authoring.solutions import as_solution
from course_lib import checks
from tests.exercises.answers import SETS, TASKS, handed_in

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Gt: ast.GtE,
    ast.Lt: ast.LtE,
}
_NEGATIVE = "from -P on, a negative number of a chunk counts from the end of the list: the same"
HARMLESS = {
    "2 * w.size": "what the arithmetic is said to cost in virtual time: well below the budget",
    "2 + 1: 2": "the same number",
    "2 - 1: 2": "the same number",
    "no float(): float(n_examples)": "NumPy makes the same number of it",
    "no int(): int(loads.argmin())": "a NumPy integer is an index as well",
    "ends > begins": "otherwise nothing is added, and nothing is covered that was not",
    "1 + 1: 1 in batch + 1": "more workers than examples are never the fastest",
    "loss_partial": "a note for the loss curve",
    "loss_sum / len(y)": "the value of that note",
    "no %: (comm.rank - step": _NEGATIVE,
    "no %: (comm.rank - 1 - step": _NEGATIVE,
    "no %: (comm.rank - 2 - step": _NEGATIVE,
    "message.wait()": "a rank that returns waits for what it has begun to send",
    ": 0.1": "a default of the stub: every check gives its own learning rate",
    ": 100": "a default of the stub: every check gives its own number of steps",
}
"""Damage that leaves a right answer, and why."""
SWAPPED_NAMES = {"rank": "size", "size": "rank", "left": "right", "right": "left"}


def damages(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """List what can be done to one node, without doing it."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} + 1", ast.Constant(node.value + 1)
        yield f"{node.value} - 1", ast.Constant(node.value - 1)
    elif isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Mod):
            yield "no %", node.left
        elif type(node.op) in SWAPPED:
            changed = copy.deepcopy(node)
            changed.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
            yield f"{type(node.op).__name__} swapped", changed
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        changed_compare = copy.deepcopy(node)
        changed_compare.ops = [SWAPPED[type(node.ops[0])]()]  # type: ignore[list-item]
        yield f"{type(node.ops[0]).__name__} swapped", changed_compare
    elif isinstance(node, ast.Attribute) and node.attr in SWAPPED_NAMES:
        yield f".{node.attr} swapped", ast.Attribute(node.value, SWAPPED_NAMES[node.attr], node.ctx)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "call dropped", ast.Pass()
    elif isinstance(node, ast.Call) and not node.keywords:
        if isinstance(node.func, ast.Name) and len(node.args) == 1:
            yield f"no {node.func.id}()", node.args[0]
        elif isinstance(node.func, ast.Attribute) and not node.args:
            yield f"no .{node.func.attr}()", node.func.value


def mutants_of(tree: ast.FunctionDef) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the function with one damage each."""
    places = [node for node in ast.walk(tree) if node is not tree]
    around = {child: node for node in places for child in ast.iter_child_nodes(node)}
    for index, place in enumerate(places):
        for what, new in damages(place):
            mutant = copy.deepcopy(tree)
            old = [node for node in ast.walk(mutant) if node is not mutant][index]
            for parent in ast.walk(mutant):
                for name, value in ast.iter_fields(parent):
                    if value is old:
                        setattr(parent, name, new)
                    elif isinstance(value, list) and any(item is old for item in value):
                        setattr(parent, name, [new if item is old else item for item in value])
            line = getattr(place, "lineno", 0)
            inside = around.get(place)
            where = f" in {ast.unparse(inside)}" if isinstance(inside, ast.expr) else ""
            told = f"line {line}: {what}: {ast.unparse(place)}{where}"
            yield told, ast.fix_missing_locations(mutant)


def solution_tree(name: str, set_name: str) -> ast.FunctionDef:
    for cell in as_solution(SETS[set_name], read_script(SETS[set_name])):
        if cell.kind == "code" and "exercise" in cell.tags:
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return node
    raise AssertionError(name)


def survivors(name: str) -> tuple[list[str], int]:
    """Hand in every damaged solution; list those that pass, and count all."""
    set_name = checks._HOME[name]
    passed, n_mutants = [], 0
    for what, tree in mutants_of(solution_tree(name, set_name)):
        space: dict[str, Any] = handed_in(set_name, solved=True)
        exec(compile(ast.Module([tree], []), "<mutant>", "exec"), space)
        n_mutants += 1
        if getattr(checks, name)(space[name]).passed:
            passed.append(what)
    return passed, n_mutants


@pytest.mark.soak
@pytest.mark.parametrize("name", TASKS)
def test_hardly_any_damage_to_a_solution_goes_unnoticed(name: str) -> None:
    passed, n_mutants = survivors(name)
    print(f"{name}: {n_mutants - len(passed)} of {n_mutants} rejected; accepted: {passed}")
    unexplained = [what for what in passed if not any(part in what for part in HARMLESS)]
    assert n_mutants >= 2
    assert len(unexplained) <= 0.05 * n_mutants, unexplained
