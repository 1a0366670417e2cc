"""The workbook: what is new comes, what the learner wrote stays."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from course_setup import workbook
from course_setup.problems import SetupError


def write_notebook(path: Path, *sources: str, output: str | None = None) -> None:
    outputs = [] if output is None else [{"output_type": "stream", "text": [output]}]
    cells = [
        {"cell_type": "code", "source": [source], "outputs": outputs, "metadata": {}}
        for source in sources
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))


def sources(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


@pytest.fixture
def root(tmp_path):
    write_notebook(tmp_path / "notebooks" / "00_start_here.ipynb", "one", output="1")
    write_notebook(tmp_path / "notebooks" / "02_map_reduce.ipynb", "two", output="2")
    write_notebook(tmp_path / "exercises" / "02_map_reduce.ipynb", "todo")
    (tmp_path / "notebooks" / "pictures").mkdir()
    (tmp_path / "notebooks" / "pictures" / "ring.png").write_bytes(b"\x89PNG")
    (tmp_path / "notebooks" / ".ipynb_checkpoints").mkdir()
    (tmp_path / "notebooks" / ".ipynb_checkpoints" / "x.ipynb").write_text("{}")
    return tmp_path


def copied(root: Path, name: str) -> Path:
    return root / "workbook" / name


def test_the_first_run_copies_everything_that_belongs_there(root):
    changes = workbook.synchronise(root)
    assert changes.added == [
        "exercises/02_map_reduce.ipynb",
        "notebooks/00_start_here.ipynb",
        "notebooks/02_map_reduce.ipynb",
        "notebooks/pictures/ring.png",
    ]
    assert workbook.first_lecture(root) == copied(root, "notebooks/00_start_here.ipynb")
    again = workbook.synchronise(root)
    assert not (again.added)
    assert not (again.refreshed)
    assert not (again.kept)
    assert list(again.sentences()) == []


def test_a_copy_has_no_outputs_which_would_answer_its_questions(root):
    lecture = root / "notebooks" / "00_start_here.ipynb"
    damaged = root / "notebooks" / "01_damaged.ipynb"
    damaged.write_bytes(b'{"cells": [{"cell_type": "code"')
    before = lecture.read_bytes()
    workbook.synchronise(root)
    copy = copied(root, "notebooks/00_start_here.ipynb")
    (cell,) = json.loads(copy.read_text())["cells"]
    assert (cell["outputs"], cell["execution_count"], cell["source"]) == ([], None, ["one"])
    assert lecture.read_bytes() == before, "the course's own keeps what was run"
    assert copied(root, "notebooks/01_damaged.ipynb").read_bytes() == damaged.read_bytes()
    assert workbook.reset(root, "00") == ["notebooks/00_start_here.ipynb is as it was already."]


def test_an_untouched_copy_follows_the_course(root):
    workbook.synchronise(root)
    write_notebook(root / "notebooks" / "02_map_reduce.ipynb", "two, better")
    changes = workbook.synchronise(root)
    assert changes.refreshed == ["notebooks/02_map_reduce.ipynb"]
    assert sources(copied(root, "notebooks/02_map_reduce.ipynb")) == ["two, better"]


def test_a_copy_that_was_only_run_follows_the_course(root):
    workbook.synchronise(root)
    write_notebook(copied(root, "exercises/02_map_reduce.ipynb"), "todo", output="ran")
    write_notebook(root / "exercises" / "02_map_reduce.ipynb", "todo, clearer")
    assert workbook.synchronise(root).refreshed == ["exercises/02_map_reduce.ipynb"]


def test_what_the_learner_wrote_is_never_overwritten_and_told_of_once(root):
    workbook.synchronise(root)
    mine = copied(root, "exercises/02_map_reduce.ipynb")
    write_notebook(mine, "my solution")
    assert workbook.synchronise(root).kept == []  # the course has nothing newer
    write_notebook(root / "exercises" / "02_map_reduce.ipynb", "todo, clearer")
    changes = workbook.synchronise(root)
    assert changes.kept == ["exercises/02_map_reduce.ipynb"]
    assert "python course.py reset exercises/02_map_reduce" in next(changes.sentences())
    assert sources(mine) == ["my solution"]
    assert workbook.synchronise(root).kept == []
    write_notebook(root / "exercises" / "02_map_reduce.ipynb", "todo, clearer still")
    assert workbook.synchronise(root).kept == ["exercises/02_map_reduce.ipynb"]


def test_a_lost_manifest_costs_no_work(root):
    workbook.synchronise(root)
    write_notebook(copied(root, "exercises/02_map_reduce.ipynb"), "my solution")
    for rubbish in ("", "[]", '{"exercises/02_map_reduce.ipynb": 3}'):
        copied(root, workbook.MANIFEST).write_text(rubbish)
        workbook.synchronise(root)
        assert sources(copied(root, "exercises/02_map_reduce.ipynb")) == ["my solution"]


def test_an_interrupted_first_run_goes_on_where_it_was(root):
    workbook.synchronise(root)
    copied(root, workbook.MANIFEST).unlink()
    copied(root, "notebooks/00_start_here.ipynb").unlink()
    assert workbook.synchronise(root).added == ["notebooks/00_start_here.ipynb"]
    write_notebook(root / "notebooks" / "02_map_reduce.ipynb", "two, better")
    assert workbook.synchronise(root).refreshed == ["notebooks/02_map_reduce.ipynb"]


def test_a_damaged_copy_counts_as_the_learners(root):
    workbook.synchronise(root)
    damaged = copied(root, "notebooks/02_map_reduce.ipynb")
    for text in ("{", "[]", '{"cells": 3}', '{"cells": [{"source": 1}]}'):
        damaged.write_text(text)
        workbook.synchronise(root)
        assert damaged.read_text() == text


@pytest.mark.parametrize("wanted", ["2", "02", "02_map_reduce", "02_map_reduce.ipynb"])
def test_reset_restores_lecture_and_exercise_and_keeps_the_learners_version(root, wanted):
    workbook.synchronise(root)
    write_notebook(copied(root, "exercises/02_map_reduce.ipynb"), "my solution")
    told = workbook.reset(root, wanted)
    assert len(told) == 2
    assert "02_map_reduce.backup-1.ipynb" in told[0]
    assert "already" in told[1]
    assert sources(copied(root, "exercises/02_map_reduce.ipynb")) == ["todo"]
    assert sources(copied(root, "exercises/02_map_reduce.backup-1.ipynb")) == ["my solution"]


def test_reset_takes_the_next_free_backup_name(root):
    workbook.synchronise(root)
    for text in ("first", "second"):
        write_notebook(copied(root, "exercises/02_map_reduce.ipynb"), text)
        workbook.reset(root, "exercises/02")
    kept = sorted(copied(root, "exercises").glob("*.backup-*"))
    assert [sources(path) for path in kept] == [["first"], ["second"]]


def test_reset_of_one_folder_leaves_the_other_alone(root):
    workbook.synchronise(root)
    for folder in ("notebooks", "exercises"):
        write_notebook(copied(root, f"{folder}/02_map_reduce.ipynb"), "mine")
    workbook.reset(root, "workbook/exercises/02")
    assert sources(copied(root, "notebooks/02_map_reduce.ipynb")) == ["mine"]
    assert sources(copied(root, "exercises/02_map_reduce.ipynb")) == ["todo"]


def test_reset_works_before_there_is_a_workbook_and_after_a_deletion(root):
    workbook.reset(root, "00")
    copied(root, "notebooks/00_start_here.ipynb").unlink()
    workbook.reset(root, "00")
    assert sources(copied(root, "notebooks/00_start_here.ipynb")) == ["one"]


@pytest.mark.parametrize("wanted", ["07", "", "x", "../..", "02_map", "solutions/02"])
def test_reset_of_what_is_not_there_lists_what_is(root, wanted):
    with pytest.raises(SetupError, match="there is 00, 02"):
        workbook.reset(root, wanted)


def test_after_a_reset_the_copy_follows_the_course_again(root):
    workbook.synchronise(root)
    write_notebook(copied(root, "exercises/02_map_reduce.ipynb"), "my solution")
    workbook.reset(root, "02")
    write_notebook(root / "exercises" / "02_map_reduce.ipynb", "todo, clearer")
    assert workbook.synchronise(root).refreshed == ["exercises/02_map_reduce.ipynb"]


def test_lab_opens_the_lecture_and_not_a_backup_or_duplicate_of_it(root):
    assert workbook.first_lecture(root) is None
    workbook.synchronise(root)
    lecture = copied(root, "notebooks/00_start_here.ipynb")
    write_notebook(lecture, "mine")
    workbook.reset(root, "00")
    write_notebook(lecture.with_name("00_start_here-Copy1.ipynb"), "mine, too")
    assert lecture.with_name("00_start_here.backup-1.ipynb").exists()
    assert workbook.first_lecture(root) == lecture


def test_a_folder_in_the_place_of_a_file_is_left_alone_and_named(root):
    mine = copied(root, "exercises/02_map_reduce.ipynb")
    mine.mkdir(parents=True)
    told = "exercises/02_map_reduce.ipynb in your workbook is a folder, not a file: "
    (said,) = [line for line in workbook.synchronise(root).sentences() if "Added" not in line]
    assert said.startswith(f"{told}it is left alone; to get the course's, move it away")
    with pytest.raises(SetupError, match=f"^{told}move it away, then run this again"):
        workbook.reset(root, "02")
    assert mine.is_dir()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders, and few links")
def test_a_pipe_is_not_waited_for_and_a_link_to_nothing_is_kept(root):
    mine = copied(root, "exercises/02_map_reduce.ipynb")
    mine.parent.mkdir(parents=True)
    os.mkfifo(mine)
    assert workbook.synchronise(root).odd == {"exercises/02_map_reduce.ipynb": "a pipe or a device"}
    with pytest.raises(SetupError, match="is a pipe or a device, not a file: move it away"):
        workbook.reset(root, "02")
    assert mine.is_fifo()
    mine.unlink()
    mine.symlink_to("gone.ipynb")
    assert workbook.synchronise(root).odd == {"exercises/02_map_reduce.ipynb": "a link to nothing"}
    workbook.reset(root, "exercises/02")
    assert sources(mine) == ["todo"]
    assert mine.with_name("02_map_reduce.backup-1.ipynb").readlink() == Path("gone.ipynb")


def test_a_reset_for_which_there_is_no_room_changes_nothing(root, monkeypatch):
    workbook.synchronise(root)
    mine = root / "workbook" / "exercises" / "02_map_reduce.ipynb"
    write_notebook(mine, "my answer")
    before = mine.read_bytes()
    write = Path.write_bytes

    def half_of_it(path, data):
        write(path, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", half_of_it)
        with pytest.raises(OSError, match="No space left"):
            workbook.reset(root, "exercises/02")
    assert mine.read_bytes() == before
    assert [file.name for file in mine.parent.iterdir()] == [mine.name]
    workbook.reset(root, "exercises/02")
    assert sources(mine) == ["todo"]


@pytest.mark.parametrize("name", [workbook.MANIFEST, workbook.LOCK])
def test_what_stands_in_the_place_of_its_own_files_is_named(root, name):
    (root / "workbook" / name).mkdir(parents=True)
    with pytest.raises(SetupError, match=f"{name} in your workbook is a folder, not a file: move"):
        workbook.synchronise(root)
