"""The course for students works by itself, and no solution can be read in it."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from authoring.build import ROOT
from authoring.handout import leaks, write
from authoring.scripts import AuthoringError, read_script
from authoring.solutions import as_solution
from course_lib.checks import SETS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def handout(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("handout") / "course"
    write(folder)
    return folder


def program(handout: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | more
    return subprocess.run(
        [sys.executable, *words], cwd=handout, capture_output=True, text=True, timeout=120,
        env=environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


def test_there_are_no_solutions_and_no_tests(handout):
    names = {path.name for path in handout.iterdir()}
    assert not names & {"solutions", "tests", "authoring", "benchmarks", ".git"}
    assert not list(handout.rglob("right_runs.py"))
    assert not list(handout.rglob("__pycache__"))
    assert list(leaks(handout)) == []


@pytest.mark.parametrize(
    "planted", ["notebooks/03_data_parallelism.ipynb", "course_lib/words/units.py", "docs/comm.md"]
)
def test_a_solution_that_is_planted_would_be_found(handout, tmp_path, planted):
    copy = tmp_path / "copy"
    (copy / planted).parent.mkdir(parents=True)
    shutil.copy(handout / planted, copy / planted)
    script = ROOT / "authoring/exercises/00_start_here.py"
    cells = as_solution(script, read_script(script))
    text = next(cell.source for cell in cells if cell.source.startswith("def pass_around"))
    file = copy / planted
    if file.suffix == ".ipynb":
        content = json.loads(file.read_text(encoding="utf-8"))
        content["cells"][3]["source"] = text
        file.write_text(json.dumps(content), encoding="utf-8")
    elif file.suffix == ".py":
        file.write_text(file.read_text(encoding="utf-8") + "\n\n" + text, encoding="utf-8")
    else:
        text = f"{file.read_text(encoding='utf-8')}\n```python\n{text}\n```\n"
        file.write_text(text, encoding="utf-8")
    (leak,) = leaks(copy)
    assert leak.place == planted


def test_a_copy_of_the_whole_course_would_be_refused(tmp_path):
    for name in ("solutions", "course_lib/checks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    places = {leak.place for leak in leaks(tmp_path)}
    assert "course_lib/checks/right_runs.py" in places
    assert len([place for place in places if place.startswith("solutions/")]) == len(SETS)


def test_the_exercises_are_those_of_the_course_with_nothing_written(handout):
    for file in sorted((ROOT / "exercises").glob("*.ipynb")):
        assert (handout / "exercises" / file.name).read_bytes() == file.read_bytes()
        assert "NotImplementedError" in file.read_text(encoding="utf-8")


def test_what_is_said_to_lecturers_is_left_out_of_the_notebooks_and_nothing_else(handout):
    n_notes = 0
    for file in sorted((ROOT / "notebooks").glob("*.ipynb")):
        given = json.loads((handout / "notebooks" / file.name).read_text(encoding="utf-8"))
        whole = json.loads(file.read_text(encoding="utf-8"))
        kept = [cell for cell in whole["cells"] if "For lecturers" not in cell["source"]]
        assert given == whole | {"cells": kept}
        n_notes += len(whole["cells"]) - len(kept)
    assert n_notes > 100


def test_every_check_is_there_and_tells_wrong_from_right(handout, tmp_path):
    code = (
        "import course_lib, pathlib\n"
        "from course_lib import checks\n"
        f"assert pathlib.Path(course_lib.__file__).is_relative_to({str(handout)!r})\n"
        "for names in checks.SETS.values():\n"
        "    for name in names: getattr(checks, name)\n"
        "def shift_right(comm, x): return x.copy()\n"
        "print(checks.shift_right(shift_right))\n"
        "def hello(comm): return f'rank {comm.rank} of {comm.size}'\n"
        "print(checks.hello(hello))\n"
    )
    done = program(handout, "-c", code, PYTHONPATH=str(handout))
    assert done.returncode == 0, done.stderr
    assert "shift_right: not right yet." in done.stdout
    assert "hello: right, in all" in done.stdout


def test_course_py_makes_the_workbook_and_says_that_there_are_no_tests(handout, tmp_path):
    copy = tmp_path / "course"
    shutil.copytree(handout, copy)
    code = (
        "import pathlib; from course_setup import workbook\n"
        "print(len(workbook.synchronise(pathlib.Path.cwd()).added))"
    )
    done = program(copy, "-c", code)
    assert int(done.stdout) == len(list((ROOT / "exercises").glob("*.ipynb"))) + len(
        list((ROOT / "notebooks").glob("*.ipynb"))
    )
    done = program(copy, "course.py", "test")
    assert done.returncode == 1
    assert "this copy of the course has no tests" in done.stderr
    assert not (copy / ".venv").exists()


def test_links_lead_to_files_that_are_there(handout):
    missing = set()
    for file in [*handout.rglob("*.md"), *handout.glob("*/*.ipynb")]:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\((?!https?:|#|attachment:)([^)\s#]+)", text):
            if not (file.parent / link).exists():
                missing.add(f"{file.relative_to(handout)}: {link}")
    assert missing == set()


def test_a_zip_holds_the_same_and_is_always_the_same(handout, tmp_path):
    packed = [tmp_path / name / "course.zip" for name in ("a", "b")]
    for file in packed:
        write(file)
        assert [path.name for path in file.parent.iterdir()] == ["course.zip"]
    assert packed[0].read_bytes() == packed[1].read_bytes()
    with zipfile.ZipFile(packed[0]) as archive:
        names = {name.removeprefix("course/") for name in archive.namelist()}
    files = {p.relative_to(handout).as_posix() for p in handout.rglob("*") if p.is_file()}
    assert names == files


def test_what_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(AuthoringError, match="is there already"):
        write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_no_handout_is_made_in_what_it_copies(tmp_path):
    with pytest.raises(AuthoringError, match="lies in a folder that is copied"):
        write(tmp_path / "docs" / "for students", tmp_path)
    assert not any(tmp_path.iterdir())
