"""What is solved is kept in the workbook, and read from there whatever else lies about."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from course_lib import checks
from course_lib.__main__ import main
from course_lib.checks import solved
from course_lib.checks.solved import keep_solved, progress


def right(comm: Any) -> str:
    return f"rank {comm.rank} of {comm.size}"


@pytest.fixture
def workbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "workbook"
    (folder / "exercises").mkdir(parents=True)
    monkeypatch.chdir(folder / "exercises")
    return folder


def test_check_keeps_what_it_has_passed_and_nothing_else(workbook: Path) -> None:
    assert not checks.hello(lambda comm: "wrong").passed
    assert not (workbook / "solved").exists()
    assert checks.hello(right).passed
    assert [file.name for file in (workbook / "solved").iterdir()] == ["hello.json"]
    told = repr(checks.progress())
    assert "00         1 of 5  pass_around, shift_right, ping_pong, predict_gather\n" in told
    assert "01         0 of" in told
    assert "Next: pass_around, in exercises 00." in told
    assert "<td>1 of 5</td>" in checks.progress()._repr_html_()


def test_outside_of_a_workbook_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keep_solved("hello")
    assert list(tmp_path.iterdir()) == []
    assert "0 of 5  all" in repr(progress())
    assert "There is no workbook here" in repr(progress())


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'"hello"', b'{"task": "ping_pong"}', b"\xff\xfe", b"[" * 100_000],
)
def test_damaged_and_foreign_files_do_not_count_and_are_made_anew(
    workbook: Path, content: bytes
) -> None:
    folder = workbook / "solved"
    folder.mkdir()
    (folder / "hello.json").write_bytes(content)
    (folder / "something else.json").write_bytes(b'{"task": "something else"}')
    (folder / "pass_around.json").mkdir()
    assert progress().solved == frozenset()
    keep_solved("hello")
    keep_solved("pass_around")  # cannot be written there, which is no reason to fail
    assert progress().solved == {"hello"}
    assert json.loads((folder / "hello.json").read_text())["task"] == "hello"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(workbook: Path) -> None:
    (workbook / "solved").mkdir()
    os.mkfifo(workbook / "solved" / "hello.json")
    assert progress().solved == frozenset()
    keep_solved("hello")
    assert progress().solved == {"hello"}


def test_a_file_in_the_place_of_the_folder_is_left_alone(workbook: Path) -> None:
    (workbook / "solved").write_text("mine")
    keep_solved("hello")
    assert progress().solved == frozenset()
    assert (workbook / "solved").read_text() == "mine"


def test_ctrl_c_leaves_nothing_half_written(
    workbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            keep_solved("hello")
    assert list((workbook / "solved").iterdir()) == []
    keep_solved("hello")
    assert progress().solved == {"hello"}


def test_what_two_notebooks_keep_at_the_same_moment_is_kept(
    workbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = solved.put

    def put_while_another_does(file: Path, content: bytes) -> None:
        monkeypatch.setattr(solved, "put", put)
        keep_solved("pass_around")
        keep_solved("hello")
        put(file, content)

    monkeypatch.setattr(solved, "put", put_while_another_does)
    keep_solved("hello")
    assert progress().solved == {"hello", "pass_around"}
    assert len(list((workbook / "solved").iterdir())) == 2


def test_all_solved_has_nothing_next(workbook: Path) -> None:
    for task in checks._HOME:
        keep_solved(task)
    assert "That was the last one." in repr(progress())


def test_command_prints_the_table_of_the_workbook_around_or_of_the_one_named(
    workbook: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_solved("hello")
    assert main(["progress"]) == 0
    assert "00         1 of 5" in capsys.readouterr().out
    monkeypatch.chdir(workbook.parent)
    assert main(["progress", "--workbook", str(workbook)]) == 0
    assert "00         1 of 5" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["progress", "--workbook", "nowhere"])
    told = "--workbook must be a folder that has exercises/ in it, got nowhere"
    assert told in capsys.readouterr().err
