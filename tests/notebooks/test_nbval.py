"""Every lecture and every solution runs from top to bottom and prints what is committed."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from authoring.build import ROOT, targets

RUN = sorted(target.path for target in targets(ROOT) if target.runs)
STRICT = sys.platform == "linux"  # other systems print floats and errors a little differently
COMMAND = [
    *(sys.executable, "-m", "pytest", "--nbval" if STRICT else "--nbval-lax"),
    *("--nbval-cell-timeout=120", "--nbval-current-env", "-p", "no:cacheprovider"),
    *("-q", "-W", "ignore", "--timeout=0", "--rootdir"),
]


def nbval(path: Path) -> "subprocess.CompletedProcess[str]":
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [*COMMAND, str(path.parent), "-c", os.devnull, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=path.parent,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=290,
        check=False,
    )


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
