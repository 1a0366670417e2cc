"""A learner's notebook runs to its end: with nothing written, and with something wrong in it."""

import os
from collections.abc import Callable, Iterator

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from authoring.build import ROOT
from course_lib import checks
from tests.exercises.answers import MUTANTS, SETS

RAISES = {"tags": ["raises-exception"]}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def kernel() -> Iterator[NotebookClient]:
    """One kernel for all notebooks: to start it and to import takes longer than to run them."""
    client = NotebookClient(new_notebook(), timeout=120, kernel_name="python3")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with client.setup_kernel(env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}):
        yield client


def run_notebook(
    kernel: NotebookClient, name: str, edit: Callable[[NotebookNode], None] = lambda _: None
) -> NotebookNode:
    """Run a notebook in a kernel that has forgotten the names of the one before."""
    notebook = nbformat.read(ROOT / "exercises" / f"{name}.ipynb", as_version=4)
    edit(notebook)
    kernel.nb = new_notebook(cells=[new_code_cell("%reset -f\n'checks' in globals()")])
    kernel.execute_cell(kernel.nb.cells[0], 0)
    assert text_of(kernel.nb.cells[0]) == "False", "else a missing import would not be seen"
    kernel.nb = notebook
    for index, cell in enumerate(notebook.cells):
        kernel.execute_cell(cell, index)
    return notebook


def text_of(cell: NotebookNode) -> str:
    parts = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "".join([*parts, *(output.get("text", "") for output in cell.outputs)])


@pytest.mark.parametrize("script", SETS.values(), ids=lambda script: script.stem)
def test_untouched_exercise_runs_to_its_end_and_every_check_says_not_written(
    script, kernel: NotebookClient
) -> None:
    notebook = run_notebook(kernel, script.stem)
    checked = [cell for cell in notebook.cells if "check" in cell.metadata.get("tags", [])]
    assert len(checked) == len(checks.SETS[f"lecture_{script.stem[:2]}"]) >= 3
    for cell in checked:
        assert "not written yet" in text_of(cell)
    assert not [
        o for cell in notebook.cells for o in cell.get("outputs", []) if o.output_type == "error"
    ]
    trying = [
        cell for cell in notebook.cells if "raises-exception" in cell.metadata.get("tags", [])
    ]
    tasks = checks.SETS[f"lecture_{script.stem[:2]}"]
    trying = [cell for cell in trying if any(task in cell.source for task in tasks)]
    assert len(trying) >= 3
    for cell in trying:
        assert {output.name for output in cell.outputs} == {"stdout"}
        # A busy kernel may send a line in pieces.
        (sentence,) = "".join(output.text for output in cell.outputs).splitlines()
        assert sentence.endswith(" is not written yet. Once its check passes, run this cell again.")


def test_other_errors_of_a_notebook_are_told_as_ever(kernel: NotebookClient) -> None:
    """Of a function that is written, and of one that the learner's own code has not written."""
    source = "from course_lib import checks, run\n"
    for code, words in (
        ("raise NotImplementedError('later')", "later"),
        ("run(lambda comm: 1 / 0, workers=1, backend='simulated')", "ZeroDivisionError"),
    ):
        kernel.nb = new_notebook(cells=[new_code_cell(source + code, metadata=RAISES)])
        kernel.execute_cell(kernel.nb.cells[0], 0)
        (output,) = kernel.nb.cells[0].outputs
        assert output.output_type == "error"
        assert words in "".join(output.traceback)


def test_a_wrong_answer_in_a_cell_is_told_with_the_number_of_the_cell(
    kernel: NotebookClient,
) -> None:
    """The function is the notebook's own, and so is the number of its cell."""
    wrong = next(path for path in MUTANTS if path.stem == "m08_alone_sends_to_itself")

    def edit(notebook: NotebookNode) -> None:
        cell = next(cell for cell in notebook.cells if cell.id == "pass-around")
        cell.source = wrong.read_text(encoding="utf-8")

    notebook = run_notebook(kernel, "00_start_here", edit)
    written = next(cell for cell in notebook.cells if cell.id == "pass-around")
    said = text_of(next(c for c in notebook.cells if c.source == "checks.pass_around(pass_around)"))
    assert "pass_around: not right yet." in said
    assert "1 worker" in said
    assert f"cell In[{written.execution_count}], line" in said
    assert f"cell In[{written.execution_count}], line 8, in pass_around\n    comm.send(" in said
    assert "nobody to send to" in said
