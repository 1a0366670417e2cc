"""What README.md counts and lists is what the tree holds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from PIL import Image

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def answers(folder: str) -> dict[str, list[Path]]:
    """Return the answers in a folder of the tests, by task."""
    tasks = [task for task in (REPOSITORY / "tests" / folder).iterdir() if task.is_dir()]
    found = {task.name: sorted(task.glob("[!_]*.py")) for task in tasks}
    return {task: files for task, files in found.items() if files}


def test_the_planted_answers_are_counted_right():
    (told,) = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|$", README, re.MULTILINE)
    wrong, right = answers("mutants"), answers("right_answers")
    assert set(wrong) == set(right)
    counts = [len(wrong), sum(map(len, wrong.values())), sum(map(len, right.values()))]
    assert list(map(int, told)) == counts


def test_the_lectures_told_to_be_there_are_there():
    told = set(re.findall(r"^\| (\d\d) \|.*\| lecture, exercises and solutions \|$", README, re.M))
    for folder in ("notebooks", "exercises", "solutions"):
        there = {file.name[:2] for file in (REPOSITORY / folder).glob("[0-8][0-9]_*.ipynb")}
        assert there == told, folder
    appendix = set(re.findall(r"^\| (9\d) \| Appendix:.*\| notebook \|$", README, re.M))
    assert {file.name[:2] for file in (REPOSITORY / "notebooks").glob("9[0-9]_*.ipynb")} == appendix


def test_the_first_lecture_takes_as_long_as_it_says():
    (told,) = re.findall(r"00_start_here\.ipynb` \((\d+) and (\d+) minutes\)", README)
    script = (REPOSITORY / "authoring/lectures/00_start_here.py").read_text(encoding="utf-8")
    assert re.findall(r"Part 1 takes (\d+) minutes, part 2 takes (\d+);", script) == [told]


def test_every_file_named_is_there():
    for name in re.findall(r"`((?:docs|notebooks|authoring|tests|course_lib)/[\w./]*)`", README):
        assert (REPOSITORY / name).exists(), name


def test_the_text_stays_short_besides_its_tables():
    _, rest = README.split("<!-- benchmarks: begin", 1)
    measured, _ = rest.split("<!-- benchmarks: end", 1)
    lines = README.replace(measured, "").splitlines()
    assert len([line for line in lines if not line.startswith("|")]) <= 120


def test_its_picture_moves_and_is_small():
    (name,) = re.findall(r'<img src="([^"]+)"', README)
    (still,) = re.findall(r'srcset="([^"]+)"', README)
    assert (REPOSITORY / still).exists()
    assert (REPOSITORY / name).stat().st_size < 1e6
    with Image.open(REPOSITORY / name) as picture:
        assert picture.n_frames > 30
        first, last = (np.asarray(_frame(picture, k)) for k in (0, picture.n_frames - 1))
    assert (first != last).any(axis=2).mean() > 0.01, "something has moved"


def _frame(picture: Image.Image, number: int) -> Image.Image:
    picture.seek(number)
    return picture.convert("RGB")
