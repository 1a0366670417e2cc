"""What the tests hand in: planted wrong answers, right ones, solutions and stubs."""

import ast
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from authoring.build import ROOT
from authoring.scripts import Cell, read_script
from authoring.solutions import as_exercise, as_solution
from course_lib.checks import _HOME

TASKS = list(_HOME)
SETS = {name: sorted((ROOT / "authoring/exercises").glob(f"{name[-2:]}_*.py"))[0]
        for name in sorted(set(_HOME.values()))}  # fmt: skip
MUTANTS = sorted((ROOT / "tests/mutants").glob("*/m*.py"))
RIGHT_ANSWERS = sorted((ROOT / "tests/right_answers").glob("*/r*.py"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def header(path: Path, key: str) -> str:
    found = re.search(rf"^# {key}: (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{path} needs a line '# {key}: ...'"
    return found[1]


def load(path: Path) -> Callable[..., Any]:
    """Load the function of a file as a notebook's would be: from no module that can be imported."""
    spec = importlib.util.spec_from_file_location(f"cell_of_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, path.parent.name)
    return function


def handed_in(set_name: str, *, solved: bool) -> dict[str, Any]:
    """Run the cells of an exercise that import and define; return what they define."""
    cut: Callable[[Path, list[Cell]], list[Cell]] = as_solution if solved else as_exercise
    script = SETS[set_name]
    space: dict[str, Any] = {"__name__": "__main__"}
    for cell in cut(script, read_script(script)):
        if cell.kind != "code":
            continue
        tree = ast.parse(cell.source)
        kept = (ast.Import, ast.ImportFrom, ast.FunctionDef)
        if "exercise" not in cell.tags:
            tree.body = [node for node in tree.body if isinstance(node, kept)]
        exec(compile(tree, f"<{script.stem}>", "exec"), space)
    return space
