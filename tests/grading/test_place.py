"""Where ``grade`` stands: what is handed in is imported by no program of the lecturer's."""

import os
import subprocess
import sys

import pytest

from authoring.build import ROOT
from tests.grading.handing_in import hand_in, solution

MODULES = (
    "typing.py",
    "__future__.py",
    "argparse.py",
    "json.py",
    "numpy.py",
    "secrets/__init__.py",
)
"""Imported after our first lines."""
EARLY = ("course_lib.py", "importlib.py")
"""Imported in our place, and by many Pythons before it."""


@pytest.fixture
def handed_in(tmp_path):
    """A folder with a submission in another one."""
    folder = tmp_path / "handed_in"
    (folder / "anna").mkdir(parents=True)
    hand_in(folder / "anna" / "00.ipynb", {"hello": solution("hello")})
    return folder


def put(folder, handed_in, *names):
    """Write modules that leave a mark when they are imported, and end the program."""
    mark = str(handed_in.parent / "ran")
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        text = f"open({mark!r}, 'a').write({name!r} + ' ')\nraise SystemExit(7)\n"
        (folder / name).write_text(text)


def graded(folder, *words):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=300,
        env=environment | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def ran(handed_in):
    mark = handed_in.parent / "ran"
    return mark.read_text().split() if mark.exists() else []


@pytest.mark.parametrize(
    ("where", "what"),
    [(".", "."), (".", ".."), ("anna", "."), ("anna", ".."), ("anna", "00.ipynb")],
)
def test_it_refuses_to_stand_in_what_it_grades_and_imports_nothing_of_it(where, what, handed_in):
    here = handed_in / where
    put(here, handed_in, *MODULES)
    done = graded(here, "-m", "course_lib", "grade", what)
    assert ran(handed_in) == []
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert f"the current folder, {here.resolve()}, lies in what is graded" in last
    assert last.endswith("Go to another folder, or say python -P -m course_lib grade")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "what", "options"),
    [(".", ".", ["-P"]), ("anna", "00.ipynb", ["-P"]), ("..", "handed_in", []), (".", "anna", [])],
)
def test_it_grades_from_elsewhere_or_with_the_option_and_imports_nothing(
    where, what, options, handed_in
):
    put(handed_in, handed_in, *MODULES, *(EARLY if options else ()))
    put(handed_in / "anna", handed_in, *MODULES, *EARLY)
    done = graded(handed_in / where, *options, "-m", "course_lib", "grade", what, "--set", "00")
    assert done.returncode == 0, done.stderr
    assert "00.ipynb" in done.stdout
    assert "1 of 5" in done.stdout
    assert ran(handed_in) == []


def test_what_lecturers_are_told_of_a_module_that_comes_first_is_so(handed_in):
    put(handed_in, handed_in, "course_lib.py")  # an importlib.py where nothing has loaded it yet
    assert graded(handed_in, "-m", "course_lib", "grade", ".").returncode == 7
    assert ran(handed_in) == ["course_lib.py"]
    for page in ("SECURITY.md", "docs/lecturer/README.md"):
        assert "`course_lib.py`" in (ROOT / page).read_text(encoding="utf-8")
