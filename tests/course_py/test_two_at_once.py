"""Several course.py at work in one workbook lose nothing and get in nobody's way."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from course_setup import lock, workbook
from course_setup.problems import SetupError
from tests.course_py.test_workbook import sources, write_notebook


@pytest.fixture
def root(tmp_path):
    for number in range(4):
        write_notebook(tmp_path / "notebooks" / f"0{number}_x.ipynb", "the course's")
    return tmp_path


def repeat(barrier, root: Path, action: str, times: int, failures) -> None:
    for turn in range(times):
        here = root / str(turn)
        barrier.wait(60)
        try:
            workbook.synchronise(here) if action == "lab" else workbook.reset(here, "00")
        except BaseException as error:
            failures.put(repr(error))


def together(root: Path, action: str, times: int) -> list[str]:
    """Do the same in three processes at the same moments; return what went wrong."""
    context = multiprocessing.get_context("spawn")
    barrier, failures = context.Barrier(3), context.SimpleQueue()
    arguments = (barrier, root, action, times, failures)
    runs = [context.Process(target=repeat, args=arguments) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(100)
        assert run.exitcode == 0
    found = []
    while not failures.empty():
        found.append(failures.get())
    return found


@pytest.mark.slow
def test_workbooks_begun_at_the_same_moment_are_whole(tmp_path):
    for turn in range(20):
        for number in range(4):
            write_notebook(tmp_path / str(turn) / "notebooks" / f"0{number}_x.ipynb", "course")
    assert together(tmp_path, "lab", 20) == []
    for turn in range(20):
        copies = sorted((tmp_path / str(turn) / "workbook").rglob("*.ipynb"))
        assert [sources(copy) for copy in copies] == [["course"]] * 4
        assert not list((tmp_path / str(turn)).rglob(".course-unfinished-*"))


@pytest.mark.slow
def test_resets_at_the_same_moment_keep_the_learners_version_once(tmp_path):
    for turn in range(20):
        write_notebook(tmp_path / str(turn) / "notebooks" / "00_x.ipynb", "course")
        write_notebook(tmp_path / str(turn) / "workbook" / "notebooks" / "00_x.ipynb", "mine")
    assert together(tmp_path, "reset", 20) == []
    for turn in range(20):
        folder = tmp_path / str(turn) / "workbook" / "notebooks"
        kept = {copy.name: sources(copy) for copy in folder.iterdir()}
        assert kept == {"00_x.ipynb": ["course"], "00_x.backup-1.ipynb": ["mine"]}


def test_a_backup_that_appears_in_that_moment_is_not_overwritten(tmp_path, monkeypatch):
    copy = tmp_path / "00_x.ipynb"
    copy.write_text("mine")
    real_open = Path.open

    def open_after_another(path, mode="r", *more, **options):
        if mode == "x" and path.name.endswith("backup-1.ipynb"):
            path.write_text("another's")
        return real_open(path, mode, *more, **options)

    monkeypatch.setattr(Path, "open", open_after_another)
    assert "backup-2" in workbook._keep_aside(copy)
    assert (tmp_path / "00_x.backup-1.ipynb").read_text() == "another's"
    assert (tmp_path / "00_x.backup-2.ipynb").read_text() == "mine"


def test_an_unused_backup_name_of_an_interrupted_reset_is_used(tmp_path):
    copy = tmp_path / "00_x.ipynb"
    copy.write_text("mine")
    (tmp_path / "00_x.backup-1.ipynb").touch()
    assert "backup-1" in workbook._keep_aside(copy)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def test_what_an_interrupted_run_has_left_in_the_workbook_is_cleared(root):
    workbook.synchronise(root)
    for folder in ("", "notebooks"):
        workbook._unfinished(root / "workbook" / folder).write_text("half")
    workbook.synchronise(root)
    assert not list(root.rglob(".course-unfinished-*"))


def test_who_waits_in_vain_for_the_workbook_is_told(root, monkeypatch):
    monkeypatch.setattr(workbook, "PATIENCE_S", 0.1)
    (root / "workbook").mkdir()
    with (
        lock.alone(root / "workbook" / workbook.LOCK, ""),
        pytest.raises(SetupError, match=r"another course\.py is changing your workbook"),
    ):
        workbook.synchronise(root)


def test_a_file_system_without_locks_is_said_to_be_one(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(SetupError, match="has no locks"), lock.alone(tmp_path / "lock", ""):
        pass
