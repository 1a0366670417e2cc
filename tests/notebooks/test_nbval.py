"""Every lecture and every solution runs from top to bottom and prints what is committed."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from authoring.build import ROOT, targets
from tests.nbval_runs import STRICT, nbval

RUN = sorted(target.path for target in targets(ROOT) if target.runs)


@pytest.mark.slow
@pytest.mark.parametrize("path", RUN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_notebook_runs_and_prints_what_is_committed(path: Path) -> None:
    ended = nbval(path)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    n_cells = sum(cell.cell_type == "code" for cell in nbformat.read(path, 4).cells)
    assert f"{n_cells} passed" in ended.stdout


@pytest.mark.slow
@pytest.mark.skipif(not STRICT, reason="outputs are compared on Linux only")
def test_a_wrong_output_is_found(tmp_path: Path) -> None:
    cells = [
        new_code_cell(
            f"print({value})",
            execution_count=number,
            outputs=[new_output("stream", name="stdout", text="6\n")],
        )
        for number, value in enumerate([6, 7], 1)
    ]
    path = tmp_path / "planted.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    ended = nbval(path)
    assert ended.returncode == 1
    assert "1 failed, 1 passed" in ended.stdout
    assert "print(7)" in ended.stdout
