"""A slider that is moved after the whole notebook has run answers as it did when its cell ran."""

import ast
import builtins
import symtable
from collections.abc import Iterator

import pytest

from authoring.build import Target
from authoring.scripts import Cell
from tests.targets import TARGETS

SCRIPTS = [t for t in TARGETS if t.path.parent.name in ("notebooks", "solutions")]


def globals_read(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that a function and those inside it read."""
    for symbol in table.get_symbols():
        if symbol.is_global() and symbol.is_referenced():
            yield symbol.get_name()
    for child in table.get_children():
        yield from globals_read(child)


def functions_of(source: str) -> dict[str, set[str]]:
    """Find a cell's functions and the global names that each reads."""
    tables = symtable.symtable(source, "cell", "exec").get_children()
    return {t.get_name(): set(globals_read(t)) for t in tables if t.get_type() == "function"}


def assigned(source: str) -> set[str]:
    """Find the names that a cell gives a value at its top level, not in its functions."""
    top = symtable.symtable(source, "cell", "exec")
    return {s.get_name() for s in top.get_symbols() if s.is_assigned() and not s.is_imported()}


def explored(source: str) -> list[set[str]]:
    """Find what a cell hands to ``explore``: the names in each function, mostly one, its own."""
    calls = [
        node.args[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "explore"
    ]
    return [names_in(function) - parameters_of(function) for function in calls]


def names_in(function: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def parameters_of(function: ast.expr) -> set[str]:
    return {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}


def changed_later(cells: list[Cell]) -> list[str]:
    """List what later cells take from under an explorer."""
    code = [cell for cell in cells if cell.kind == "code"]
    reads: dict[str, set[str]] = {}
    found = []
    for k, cell in enumerate(code):
        reads |= functions_of(cell.source)
        for names in explored(cell.source):
            needed, new = set(), names
            while new:
                needed |= new
                new = {name for at in new for name in reads.get(at, ())} - needed
            for later in code[k + 1 :]:
                taken = (needed & assigned(later.source)) - set(dir(builtins))
                found += [f"line {later.line}: {name}" for name in sorted(taken)]
    return found


@pytest.mark.parametrize("target", SCRIPTS, ids=lambda t: f"{t.path.parent.name}-{t.script.stem}")
def test_no_later_cell_changes_what_an_explorer_reads(target: Target) -> None:
    assert changed_later(target.cells) == [], target.script


@pytest.mark.parametrize(
    ("later", "said"),
    [("for size in (1, 2):\n    pass", "size"), ("def helper():\n    return 0", "helper"),
     ("size = 3", "size"), ("show = None", "show"),
     ("[size for size in (1, 2)]", ""), ("def other():\n    size = 1", ""), ("print(size)", "")],
)  # fmt: skip
def test_a_changed_name_is_found_also_behind_another_function(later: str, said: str) -> None:
    sources = ["size = 2\ndef helper():\n    return size", "def show(k):\n    return helper() * k",
               "", later]  # fmt: skip
    for call in ("explore(show, k=[1, 2])", "explore(lambda k: show(k), k=[1, 2])"):
        sources[2] = call
        cells = [Cell("code", source, 1, str(k), {}) for k, source in enumerate(sources)]
        assert changed_later(cells) == ([f"line 1: {said}"] if said else [])
