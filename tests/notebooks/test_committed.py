"""The committed notebooks are what their scripts give, and hold nothing that may not be there."""

from pathlib import Path

import nbformat
import pytest

from authoring.build import ROOT, Target, check
from authoring.outputs import problems_of
from tests.targets import LECTURES, TARGETS

FOLDERS = ("notebooks", "exercises", "solutions")
WIDEST = 84  # characters that JupyterLab shows in a line when its window is 1,100 pixels wide
every_notebook = pytest.mark.parametrize(
    "target", TARGETS, ids=[f"{t.path.parent.name}-{t.path.stem}" for t in TARGETS]
)

every_lecture = pytest.mark.parametrize("target", LECTURES, ids=lambda t: t.path.stem)


def test_every_folder_holds_notebooks_and_every_notebook_has_a_script() -> None:
    generated = {target.path for target in TARGETS}
    committed = {path for folder in FOLDERS for path in (ROOT / folder).glob("*.ipynb")}
    assert generated == committed
    assert {path.parent.name for path in generated} == set(FOLDERS)


@every_notebook
def test_notebook_is_what_its_script_gives(target: Target) -> None:
    assert check(target) == []


@every_notebook
def test_notebook_holds_only_what_it_may(target: Target) -> None:
    notebook = nbformat.read(target.path, as_version=4)
    nbformat.validate(notebook)
    private = [str(ROOT), str(Path.home()), "/tmp/", "site-packages"]
    assert problems_of(notebook, runs=target.runs, private=private) == []


@every_notebook
def test_notebook_ends_with_a_line_end_and_has_sorted_keys(target: Target) -> None:
    text = target.path.read_bytes()
    assert text.endswith(b"}\n")
    assert b"\r" not in text


@every_lecture
def test_no_printed_line_is_broken_in_a_narrow_window(target: Target) -> None:
    for index, cell in enumerate(nbformat.read(target.path, as_version=4).cells):
        if "source(" in cell.source:  # code is as wide as in its file
            continue
        for output in cell.get("outputs", []):
            wide = [line for line in output.get("text", "").splitlines() if len(line) > WIDEST]
            assert wide == [], f"{target.path.name}, cell {index}"
