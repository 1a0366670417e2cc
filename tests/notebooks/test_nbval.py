"""Every lecture and every solution runs from top to bottom and prints what is committed.

In the same execution, every claim of a lecture is settled by a cell that could have failed.
"""

import json
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.nbval_runs import LEDGER, STRICT, nbval
from tests.targets import TARGETS

RUN = {
    name: sorted((t.path for t in TARGETS if t.runs and t.path.stem == name), reverse=True)
    for name in sorted({target.path.stem for target in TARGETS})
}
"""What runs of a lecture: its exercises solved, then itself. In this order the process that workers
are copies of serves both: it loads at once what the checks of exercises need."""
CLAIMS = json.loads(LEDGER.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", RUN)
def test_notebooks_print_what_is_committed_and_every_planted_opposite_fails(name: str) -> None:
    ended = nbval(*RUN[name])
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    cells = [cell for path in RUN[name] for cell in nbformat.read(path, 4).cells]
    n_cells = sum(cell.cell_type == "code" for cell in cells)
    n_claims = sum(claim["notebook"] == name for claim in CLAIMS if "cell" in claim)
    assert f"{n_cells + n_claims} passed" in ended.stdout


def write(path: Path, *cells: tuple[str, str]) -> None:
    """Write a notebook of cells and what they are said to print."""
    notebook = new_notebook(
        cells=[
            new_code_cell(
                source,
                id=f"cell-{number}",
                execution_count=number,
                outputs=[new_output("stream", name="stdout", text=text)] if text else [],
            )
            for number, (source, text) in enumerate(cells, 1)
        ]
    )
    nbformat.write(notebook, path)


@pytest.mark.slow
@pytest.mark.skipif(not STRICT, reason="outputs are compared on Linux only")
def test_a_wrong_output_is_found_and_a_name_that_only_the_notebook_before_defines(
    tmp_path: Path,
) -> None:
    path, after = tmp_path / "planted.ipynb", tmp_path / "solved" / "planted.ipynb"
    after.parent.mkdir()
    write(path, ("print(6)", "6\n"), ("kept = 7\nprint(7)", "6\n"))
    write(after, ("import os\nprint(os.getcwd()[-6:])", "solved\n"), ("print(kept)", "7\n"))
    ended = nbval(path, after)
    assert ended.returncode == 1
    assert "2 failed, 2 passed" in ended.stdout
    assert "print(7)" in ended.stdout
    assert "name 'kept' is not defined" in ended.stdout


@pytest.mark.slow
def test_an_opposite_must_fail_by_an_assertion_and_leaves_nothing_for_the_next_cells(
    tmp_path: Path,
) -> None:
    path, ledger = tmp_path / "claims.ipynb", tmp_path / "claims.json"
    claim = "draws = rng.random(2)\nshown = 1\nassert shown < 2\nprint(draws)"
    write(
        path,
        ("import numpy as np\nrng = np.random.default_rng(0)", ""),
        (claim, "[0.63696169 0.26978671]\n"),
        (claim, "[0.04097352 0.01652764]\n"),
        (claim, "[0.81327024 0.91275558]\n"),
        ("print(draws[1] < 1, 'planted' in globals())", "True False\n"),
    )
    by = ["shown = planted = 2", "shown = planted = 0", "shown = planted = no_such_name"]
    ledger.write_text(json.dumps([
        {"id": f"0.{number}", "notebook": "claims", "cell": f"cell-{number}",
         "planted": {"replace": "shown = 1", "by": by[number - 2]}}
        for number in (2, 3, 4)
    ]))  # fmt: skip
    ended = nbval(path, ledger=ledger)
    assert ended.returncode == 1
    assert "2 failed, 6 passed" in ended.stdout
    assert "opposite of 0.3 ended with 'nothing'" in ended.stdout
    assert "opposite of 0.4 ended with 'NameError'" in ended.stdout
