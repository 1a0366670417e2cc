"""One training at a time keeps checkpoints in a folder, whatever the one that has it is doing."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from course_lib.cli.train import main
from course_lib.train import claim as claims
from course_lib.train.checkpoint import INDEX, load, save
from course_lib.train.claim import LOCK, Claim, check_claim
from course_lib.train.errors import CheckpointError
from tests.train.test_checkpoint import arrays_of, example
from tests.train.test_command import (
    PATIENCE_S,
    REPOSITORY,
    SMALL,
    ended,
    started,
    wait_for_checkpoint,
)

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGSTOP there")

HOLD = """
import subprocess, sys, time
from pathlib import Path
from course_lib.train.claim import Claim
claim = Claim(Path(sys.argv[1]))
child = [sys.executable, "-c", "import time; time.sleep(60)"]
print(subprocess.Popen(child, close_fds=False).pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Return a program that has the folder, and one that it has started."""
    program = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    child = psutil.Process(int(program.stdout.readline()))
    yield program, child
    program.kill()
    program.wait(timeout=PATIENCE_S)
    program.stdout.close()
    child.kill()


def test_a_second_claim_is_refused_and_says_who_has_the_folder_and_since_when(tmp_path):
    first = Claim(tmp_path / "new" / "folder")
    with pytest.raises(CheckpointError) as refused:
        Claim(tmp_path / "new" / "folder")
    told = str(refused.value)
    assert f"folder is in use: process {os.getpid()} has trained into it since 20" in told
    assert "wait until that has ended, or end it, or name another folder" in told
    first.release()
    first.release()  # twice is once
    assert list((tmp_path / "new" / "folder").iterdir()) == []
    Claim(tmp_path / "new" / "folder").release()


@pytest.mark.slow
def test_who_has_locked_a_folder_is_named_and_not_who_was_killed_before(tmp_path, monkeypatch):
    leave = "import os, sys; from pathlib import Path; from course_lib.train.claim import Claim; "
    killed = subprocess.Popen(
        [sys.executable, "-c", leave + "Claim(Path(sys.argv[1])); os._exit(0)", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert killed.wait(timeout=PATIENCE_S) == 0
    assert json.loads((tmp_path / LOCK).read_bytes())["process"] == killed.pid
    is_locked, has_slept, sign = threading.Event(), threading.Event(), Claim._sign

    def sign_late(claim, handle):
        is_locked.set()
        has_slept.wait(0.3)
        sign(claim, handle)

    monkeypatch.setattr(Claim, "_sign", sign_late)
    made = []
    slow = threading.Thread(target=lambda: made.append(Claim(tmp_path)))
    slow.start()
    assert is_locked.wait(PATIENCE_S)
    with pytest.raises(CheckpointError, match=f"in use: process {os.getpid()} has"):
        Claim(tmp_path)
    slow.join()
    monkeypatch.setattr(claims, "_SIGNED_WITHIN_S", 0.1)
    (tmp_path / LOCK).write_bytes(b"")
    with pytest.raises(CheckpointError, match="in use: another training"):
        Claim(tmp_path)
    made[0].release()


@pytest.mark.slow
@posix_only
def test_a_stopped_program_has_the_folder_and_a_killed_one_has_not_though_its_child_lives(
    holder, tmp_path
):
    program, child = holder
    program.send_signal(signal.SIGSTOP)
    with pytest.raises(CheckpointError, match=f"process {program.pid} has trained"):
        Claim(tmp_path)
    program.kill()
    program.wait(timeout=PATIENCE_S)
    assert child.is_running()
    assert (tmp_path / LOCK).exists()  # what is left of it
    Claim(tmp_path).release()
    assert not (tmp_path / LOCK).exists()


def test_of_many_that_come_while_one_leaves_never_two_have_the_folder(tmp_path):
    inside, most = [], []

    def come_and_go():
        for _ in range(60):
            try:
                claim = Claim(tmp_path)
            except CheckpointError:
                continue
            inside.append(claim)
            most.append(len(inside))
            inside.remove(claim)
            claim.release()

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}


SIGNED = '{"process": 1, "computer": "x", "since": "2026-01-01 00:00:00", "token": "y"}\n'


@pytest.mark.parametrize("left", ["", "\x00" * 9, SIGNED])
def test_what_a_dead_program_has_left_in_the_file_locks_nobody_out(tmp_path, left):
    (tmp_path / LOCK).write_text(left)
    Claim(tmp_path).release()
    assert not (tmp_path / LOCK).exists()


@pytest.mark.parametrize(
    "mine",
    ["{}", "[1]", "[" * 4000, '{"process": 1}', '{"token": "x"}', "my only copy\n", SIGNED * 100,
     SIGNED.replace("}", ', "more": 1}'), SIGNED.replace("1,", "true,"), "\x00" * 9000],
)  # fmt: skip
def test_a_file_of_somebody_elses_with_that_name_is_neither_emptied_nor_removed(tmp_path, mine):
    (tmp_path / LOCK).write_text(mine)
    with pytest.raises(CheckpointError, match=r"in_use\.lock .* stays as it is: move it away"):
        Claim(tmp_path)
    assert (tmp_path / LOCK).read_text() == mine


@posix_only
@pytest.mark.parametrize("make", [os.symlink, os.link, lambda _, name: os.mkfifo(name)])
def test_what_a_foreign_folder_has_in_place_of_the_lock_is_refused_and_never_written(
    tmp_path, make
):
    mine, folder = tmp_path / "mine", tmp_path / "foreign"
    mine.write_text("precious")
    folder.mkdir()
    make(mine, folder / LOCK)
    with pytest.raises(CheckpointError, match=r"lock is a link or no plain file.*remove it"):
        Claim(folder)
    assert mine.read_text() == "precious"
    (folder / LOCK).unlink()
    Claim(folder).release()


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "taken" / LOCK).mkdir(parents=True)
    for folder in (tmp_path / "file", tmp_path / "taken", tmp_path / ("x" * 300)):
        with pytest.raises(CheckpointError, match="checkpoints cannot be kept in"):
            Claim(folder)
    with pytest.raises(CheckpointError, match="file: it must be a folder, and is a file"):
        Claim(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b""


def test_on_a_drive_without_locks_who_has_lost_the_folder_writes_nothing_more(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(claims, "_lock", lambda handle: True)
    first = Claim(tmp_path)
    save(tmp_path, example(1), first.token)
    second = Claim(tmp_path)
    save(tmp_path, example(2), second.token)
    before = set(tmp_path.iterdir())
    with pytest.raises(CheckpointError, match=r"has trained into it since .* kept nothing more"):
        save(tmp_path, example(3), first.token)
    first.release()
    assert set(tmp_path.iterdir()) == before
    assert load(tmp_path).rows[-1].epoch == 2
    check_claim(tmp_path, second.token)
    second.release()


@pytest.mark.parametrize("words", ["", "--resume"])
@pytest.mark.parametrize("backend", ["processes", "simulated", "torch"])
def test_the_command_refuses_a_folder_in_use_before_anything_is_started(
    tmp_path, capsys, backend, words
):
    claim = Claim(tmp_path)
    save(tmp_path, example(1), claim.token)
    with pytest.raises(SystemExit) as refused:
        main(f"--backend {backend} --workers 2 --checkpoint {tmp_path} {words} {SMALL}".split())
    assert refused.value.code == 2
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 1)
    assert f"{tmp_path} is in use: process {os.getpid()}" in told.err
    claim.release()


def test_of_torchruns_programs_the_first_alone_claims_the_folder(tmp_path, capsys, monkeypatch):
    for name, value in [("TORCHELASTIC_RUN_ID", "none"), ("WORLD_SIZE", "2"), ("RANK", "0")]:
        monkeypatch.setenv(name, value)
    claim = Claim(tmp_path)
    words = f"--backend simulated --checkpoint {tmp_path} {SMALL}".split()
    with pytest.raises(SystemExit):
        main(words)
    assert "is in use" in capsys.readouterr().err
    monkeypatch.setenv("RANK", "1")
    assert main(words) == 0
    claim.release()


def test_the_command_gives_the_folder_back_however_it_ends(tmp_path, capsys):
    words = f"--backend simulated --checkpoint {tmp_path} --epochs 1 {SMALL}".split()
    assert main(words) == 0
    for refused in (words, [*words, "--resume", "--seed", "7"]):
        with pytest.raises(SystemExit):
            main(refused)
        assert not (tmp_path / LOCK).exists()
    assert main([*words, "--resume"]) == 0
    assert {file.name for file in tmp_path.iterdir()} == {INDEX, arrays_of(tmp_path).name}
    capsys.readouterr()


def missing_names(folder, is_over):
    """Look again and again whether what the checkpoint names is there; return what was not."""

    def named():
        return json.loads((folder / INDEX).read_bytes())["arrays"]

    missing = []
    while not is_over.is_set():
        name = named()
        # A next epoch may have replaced both since the name was read.
        if not (folder / name).exists() and named() == name:
            missing.append(name)
        time.sleep(0.001)
    return missing


@pytest.mark.slow
def test_of_two_that_go_on_at_once_one_does_and_the_checkpoint_is_whole_at_every_moment(
    tmp_path,
):
    words = f"--workers 2 --epochs 1000000 {SMALL} --checkpoint {tmp_path}"
    first = started(words)
    wait_for_checkpoint(tmp_path, first)
    is_over, missing = threading.Event(), []
    looking = threading.Thread(target=lambda: missing.extend(missing_names(tmp_path, is_over)))
    looking.start()
    first.kill()
    ended(first)
    epoch = load(tmp_path).rows[-1].epoch
    both = [started(f"{words} --resume --backend simulated") for _ in range(2)]
    try:
        until_s = time.monotonic() + PATIENCE_S
        while sum(one.poll() is None for one in both) > 1 or goes_on_from(tmp_path) < epoch + 3:
            assert time.monotonic() < until_s
            time.sleep(0.02)
    finally:
        running = [one for one in both if one.poll() is None]
        for one in running:
            one.kill()
        results = [(one, *ended(one)) for one in both]
        is_over.set()
        looking.join()
    assert len(running) == 1
    refused = [(status, errors) for one, status, _, errors in results if one not in running]
    assert [status for status, _ in refused] == [2]
    assert all(f"is in use: process {running[0].pid} has" in told for _, told in refused)
    assert missing == []
    load(tmp_path)


def goes_on_from(folder):
    return json.loads((folder / INDEX).read_bytes())["epoch"]
