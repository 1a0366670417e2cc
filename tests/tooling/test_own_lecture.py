"""``python -m authoring new``: what it writes is a lecture, and what it lacks is told."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from authoring import __main__ as command
from authoring.build import ROOT, build, check, targets
from authoring.new import FILES, begin, missing, numbers
from tests.notebooks import test_style

PAGE = (ROOT / "docs" / "own_lecture.md").read_text(encoding="utf-8")
PARTS = ("authoring", "course_lib", "docs", "tests/lectures", "tests/notebooks", "tests/mutants",
         "tests/right_answers", "notebooks", "exercises", "solutions")  # fmt: skip


@pytest.mark.parametrize("number", numbers())
def test_every_lecture_has_all_that_a_lecture_has(number):
    assert missing(number) == []


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the project in which lecture 15 has been begun, right behind another."""
    root = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("__pycache__")
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part, ignore=ignored)
    for file in ("README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / file, root / file)
    written = begin("15", "my_topic", root)
    assert [file.relative_to(root).as_posix() for file in written][:2] == [
        "authoring/lectures/15_my_topic.py", "authoring/exercises/15_my_topic.py"
    ]  # fmt: skip
    return root


def test_the_skeleton_keeps_to_the_rules_of_the_notebooks(copy):
    lecture, exercise, solution = targets(copy, ["15"])
    test_style.test_lecture_opens_and_closes_as_all_lectures_do(lecture)
    test_style.test_lecture_has_three_questions_with_folded_answers_and_slides(lecture)
    test_style.test_code_cells_are_short(lecture)
    for target in (lecture, solution):
        test_style.test_prose_is_short_and_does_not_talk_down(target)
    for target in (lecture, exercise, solution):
        test_style.test_no_cell_does_what_is_forbidden(target)
    before = "14_search_and_inference.ipynb"
    test_style.assert_links(lecture, [before, "../exercises/15_my_topic.ipynb"])
    test_style.assert_links(exercise, ["../notebooks/15_my_topic.ipynb"])


@pytest.mark.slow
def test_its_notebooks_are_built_and_its_check_knows_right_from_wrong(copy):
    for target in targets(copy, ["15"]):
        build(target, copy)
        assert check(target) == []
    told = "my_topic_first"
    script = f"""
from pathlib import Path
from course_lib import checks
for path in sorted(Path("tests").glob("*/{told}/*.py")):
    names = {{}}
    exec(path.read_text(), names)
    report = checks.{told}(names["{told}"])
    print(path.stem, report.status, report.hint_id or "no hint")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=copy, capture_output=True, text=True, timeout=120,
        env={"PYTHONPATH": str(copy), "HOME": str(copy)},
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "m01_returns_its_own failed returns-own", "r01_receive_first passed no hint",
    ], done.stderr  # fmt: skip
    solution = (copy / "solutions" / "15_my_topic.ipynb").read_text(encoding="utf-8")
    assert "my_topic_first: right" in solution or "my_topic_first: passed" in solution, solution


def test_what_is_missing_is_told_in_lines_and_with_it_nothing_is(copy):
    lines = missing("15", copy)
    told = "\n".join(line for line in lines if not line.endswith(": TODO"))
    for line in (
        "authoring/lectures/15_my_topic.py: claims: 3 to 5, got 0",
        "course_lib/checks/__init__.py: lecture_15 needs 3 tasks or more, got 1",
        "tests/mutants/my_topic_first: 6 wrong answers or more, got 1",
        "tests/right_answers/my_topic_first: 2 right answers or more, got 1",
        "README.md: a row in the table of lectures",
        "CHANGELOG.md: a line that says what is new",
        "tests/notebooks/test_form.py: its name in SECOND_EDITION",
        "authoring/lectures/14_search_and_inference.py: its first and last cell need a link",
        "authoring/exercises/14_search_and_inference.py: its first and last cell need a link",
    ):
        assert line in told
    assert sum(line.endswith(": TODO") for line in lines) > 20
    for path, what in (("README.md", "| 15 | x | lecture, exercises and solutions |\n"),
                       ("CHANGELOG.md", "- Lecture 15\n")):  # fmt: skip
        with (copy / path).open("a", encoding="utf-8") as file:
            file.write(what)
    assert set(missing("15", copy)) == {
        line for line in lines if not line.startswith(("README", "CHANGELOG"))
    }
    (copy / "tests/lectures/test_lecture_15.py").unlink()
    assert "tests/lectures/test_lecture_15.py: missing" in missing("15", copy)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["14", "other"], "authoring/lectures/14_search_and_inference.py is there already"),
        (["90", "other"], "NN must be two digits from 00 to 89, got '90'"),
        (["7", "other"], "NN must be two digits"),
        (["15", "My Topic"], "name must be small letters, digits and underscores, got 'My Topic'"),
        (["15"], "new takes a number and a name"),
    ],
)
def test_a_number_or_name_that_cannot_be_is_refused_and_nothing_written(
    words, said, monkeypatch, capsys
):
    before = sorted((ROOT / "authoring").rglob("*.py"))
    monkeypatch.setattr("sys.argv", ["authoring", "new", *words])
    assert command.main() != 0
    assert said in capsys.readouterr().err
    assert sorted((ROOT / "authoring").rglob("*.py")) == before


def test_the_command_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["authoring", "missing", "14", "88"])
    assert command.main() == 1
    assert capsys.readouterr().out == (
        "authoring/lectures/88_*.py: there must be one script, got 0\n"
    )


def test_the_page_lists_what_is_written_and_is_found():
    for path in FILES:
        plain = re.sub("@NUMBER@", "20", path).replace("@STEM@", "20_my_topic")
        folder = Path(plain.replace("@TASK@", "TASK")).parent.as_posix()
        assert folder in PAGE, folder
    for file in ("README.md", "CONTRIBUTING.md"):
        assert "docs/own_lecture.md" in (ROOT / file).read_text(encoding="utf-8"), file
