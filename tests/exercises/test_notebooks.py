"""A learner's notebook runs to its end: with nothing written, and with something wrong in it."""

import os
from collections.abc import Callable

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from authoring.build import ROOT
from tests.exercises.answers import MUTANTS, SETS

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def run_notebook(name: str, edit: Callable[[NotebookNode], None] = lambda _: None) -> NotebookNode:
    notebook = nbformat.read(ROOT / "exercises" / f"{name}.ipynb", as_version=4)
    edit(notebook)
    client = NotebookClient(notebook, timeout=120, kernel_name="python3")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with client.setup_kernel(env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}):
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
    return notebook


def text_of(cell: NotebookNode) -> str:
    parts = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "".join([*parts, *(output.get("text", "") for output in cell.outputs)])


@pytest.mark.parametrize("script", SETS.values(), ids=lambda script: script.stem)
def test_untouched_exercise_runs_to_its_end_and_every_check_says_not_written(script) -> None:
    notebook = run_notebook(script.stem)
    checked = [cell for cell in notebook.cells if "check" in cell.metadata.get("tags", [])]
    assert len(checked) >= 4
    for cell in checked:
        assert "not written yet" in text_of(cell)
        assert not [output for output in cell.outputs if output.output_type == "error"]


def test_a_wrong_answer_in_a_cell_is_told_with_the_number_of_the_cell() -> None:
    """The function is the notebook's own, and so is the number of its cell."""
    wrong = next(path for path in MUTANTS if path.stem == "m08_alone_sends_to_itself")

    def edit(notebook: NotebookNode) -> None:
        cell = next(cell for cell in notebook.cells if cell.id == "pass-around")
        cell.source = wrong.read_text(encoding="utf-8")

    notebook = run_notebook("00_start_here", edit)
    written = next(cell for cell in notebook.cells if cell.id == "pass-around")
    said = text_of(next(c for c in notebook.cells if c.source == "checks.pass_around(pass_around)"))
    assert "pass_around: not right yet." in said
    assert "1 worker" in said
    assert f"cell In[{written.execution_count}], line" in said
    assert f"cell In[{written.execution_count}], line 8, in pass_around\n    comm.send(" in said
    assert "nobody to send to" in said
