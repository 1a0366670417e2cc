"""Turn scripts into notebooks, and say which notebooks are not what their scripts would give."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import zmq
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from traitlets.config import Config

from authoring.outputs import clean_outputs, problems_of, without_colours
from authoring.scripts import AuthoringError, Cell, read_script
from authoring.solutions import as_exercise, as_solution, refuse_regions

__all__ = ["ENCRYPTED", "ROOT", "Target", "build", "check", "targets", "text_of"]

ROOT = Path(__file__).resolve().parents[1]
CELL_TIMEOUT_S = 120
ENCRYPTED = Config({"KernelManager": {"transport_encryption": "auto"}} if zmq.has("curve") else {})
"""As in the lab, nobody else hears what is said to a kernel; each would warn that they could."""
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Target:
    """One notebook to be generated.

    Attributes
    ----------
    script, path : pathlib.Path
        Where it comes from and where it goes.
    cells : list of Cell
        What it consists of.
    runs : bool
        Whether it is committed with the outputs of a run.
    """

    script: Path
    path: Path
    cells: list[Cell]
    runs: bool

    def notebook(self) -> NotebookNode:
        """Make the notebook, without outputs."""
        content = {
            "cells": [_notebook_cell(cell) for cell in self.cells],
            "metadata": _METADATA,
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        return _read(json.dumps(content))


def targets(root: Path = ROOT, numbers: list[str] | None = None) -> Iterator[Target]:
    """List the notebooks that the scripts under ``root/authoring`` give, in order.

    Parameters
    ----------
    root : pathlib.Path, optional
        The project's folder.
    numbers : list of str or None, default: None
        Only those scripts whose names start with one of these, ``["00", "02"]`` for two.

    Raises
    ------
    AuthoringError
        If a script cannot become a notebook.
    """
    for script in sorted((root / "authoring" / "lectures").glob("*.py")):
        if _wanted(script, numbers):
            cells = read_script(script)
            refuse_regions(script, cells)
            yield Target(script, root / "notebooks" / f"{script.stem}.ipynb", cells, runs=True)
    for script in sorted((root / "authoring" / "exercises").glob("*.py")):
        if _wanted(script, numbers):
            cells = read_script(script)
            exercise, solution = as_exercise(script, cells), as_solution(script, cells)
            name = f"{script.stem}.ipynb"
            yield Target(script, root / "exercises" / name, exercise, runs=False)
            yield Target(script, root / "solutions" / name, solution, runs=True)


def build(target: Target, root: Path = ROOT) -> None:
    """Generate one notebook, run it where that is wanted, and write it.

    Raises
    ------
    AuthoringError
        If a cell fails, takes too long, or shows what a committed notebook may not hold. Nothing is
        written then.
    """
    notebook = target.notebook()
    if target.runs:
        _execute(target, notebook, root)
        clean_outputs(notebook)
    problems = problems_of(notebook, runs=target.runs, private=[str(root), str(Path.home())])
    if problems:
        cell_index, problem = problems[0]
        raise AuthoringError(target.script, target.cells[cell_index].line, problem)
    target.path.parent.mkdir(parents=True, exist_ok=True)
    target.path.write_text(text_of(notebook), encoding="utf-8", newline="\n")


def check(target: Target) -> list[str]:
    """Say how a committed notebook differs from what its script gives now.

    Outputs are left out: the notebooks' own tests run them.

    Returns
    -------
    list of str
        One line for each difference; empty where the notebook is up to date.
    """
    if not target.path.exists():
        return [f"{target.path}: missing; run: python -m authoring build {target.script.stem[:2]}"]
    found = _read(target.path.read_text(encoding="utf-8"))
    expected = target.notebook()
    problems = []
    for name in ("metadata", "nbformat", "nbformat_minor"):
        if found[name] != expected[name]:
            problems.append(f"{name} is {found[name]!r}, the script gives {expected[name]!r}")
    if len(found.cells) != len(expected.cells):
        problems.append(f"{len(found.cells)} cells, the script gives {len(expected.cells)}")
    for index, (old, new) in enumerate(zip(found.cells, expected.cells, strict=False)):
        for name in ("id", "cell_type", "metadata", "source"):
            if old.get(name) != new[name]:
                line = target.cells[index].line
                problems.append(f"cell {index} differs in its {name} from {target.script}:{line}")
    return [f"{target.path}: {problem}" for problem in problems]


def _wanted(script: Path, numbers: list[str] | None) -> bool:
    return not numbers or any(script.name.startswith(number) for number in numbers)


def _notebook_cell(cell: Cell) -> dict[str, Any]:
    content = {
        "cell_type": cell.kind,
        "id": cell.id,
        "metadata": cell.metadata,
        "source": cell.source,
    }
    return content | ({"execution_count": None, "outputs": []} if cell.kind == "code" else {})


def _read(text: str) -> NotebookNode:
    notebook: NotebookNode = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def text_of(notebook: dict[str, Any]) -> str:
    """Write a notebook as it is committed: the same cells are always the same text."""
    nbformat.validate(notebook)
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _execute(target: Target, notebook: NotebookNode, root: Path) -> None:
    """Run all cells in a fresh kernel, in the folder that the notebook will lie in."""
    target.path.parent.mkdir(parents=True, exist_ok=True)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        coalesce_streams=True,
        record_timing=False,
        config=ENCRYPTED,
        resources={"metadata": {"path": str(target.path.parent)}},
    )
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        "OMP_WAIT_POLICY": "passive",  # as in the lab: threads of torch do not spin
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
    }
    with client.setup_kernel(env=environment):
        for index, cell in enumerate(notebook.cells):
            try:
                client.execute_cell(cell, index)
            except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
                problem = f"cell {cell.id!r} of {target.path.name} failed:\n{error}"
                line = target.cells[index].line
                raise AuthoringError(target.script, line, without_colours(problem)) from None
