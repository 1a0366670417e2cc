"""A file that cannot be written is refused before a command begins; what is made is never lost."""

import os
import sys
from pathlib import Path

import pytest

from course_lib.cli.bench import main as bench
from course_lib.cli.train import main as train
from course_lib.console import files
from course_lib.console.files import check_file, write
from course_lib.words.plain_file import put

LINKS = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
TRAIN = "--model linear --scheme serial --backend simulated --epochs 1"
BENCH = "allreduce --backend simulated --algorithms ring --sizes 1KB --workers 2"


def unwritable(folder):
    """Make names of each kind that cannot be written, whatever rights one has."""
    (folder / "folder.json").mkdir()
    yield folder / "folder.json", "no plain file"
    yield folder / ("x" * 300 + ".json"), "File name too long"
    if sys.platform == "win32":
        return
    os.mkfifo(folder / "pipe.json")
    yield folder / "pipe.json", "no plain file"
    for name, target in [("lost", folder / "no" / "such"), ("loop", folder / "loop.json")]:
        (folder / f"{name}.json").symlink_to(target)
        yield folder / f"{name}.json", "cannot be written"
    if Path("/dev/full").exists():
        (folder / "full.json").symlink_to("/dev/full")
        yield folder / "full.json", "no plain file"
    if Path("/proc/self").exists():
        yield Path("/proc/x.json"), "cannot be written"


def test_what_cannot_be_written_is_refused_and_nothing_is_made(tmp_path):
    cases = list(unwritable(tmp_path))
    before = set(tmp_path.iterdir())
    for file, sentence in cases:
        with pytest.raises(ValueError, match=f"--trace .*{sentence}"):
            check_file("--trace", file, ".json")
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("main", "words"),
    [(train, f"{TRAIN} --trace"), (bench, f"{BENCH} --json")],
)
def test_commands_refuse_it_before_they_begin(main, words, tmp_path, capsys):
    for file, _ in unwritable(tmp_path):
        with pytest.raises(SystemExit) as refused:
            main([*words.split(), str(file)])
        assert refused.value.code == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert "cannot be written" in told.err
        assert len(told.err.splitlines()) == 1


def test_a_picture_is_tried_too(tmp_path, capsys):
    (tmp_path / "times.png").mkdir()
    with pytest.raises(SystemExit):
        bench(f"{BENCH} --plot {tmp_path / 'times.png'}".split())
    assert "--plot" in capsys.readouterr().err


def test_a_file_that_is_there_stays_as_it_is_until_there_is_another(tmp_path):
    file = tmp_path / "found.json"
    file.write_text("old")
    check_file("--json", file, ".json")
    check_file("--json", tmp_path / "new.json", ".json")
    assert (file.read_text(), set(tmp_path.iterdir())) == ("old", {file})


@LINKS
def test_a_link_stays_a_link_to_what_is_written_with_the_same_rights(tmp_path, capsys):
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "real.json", tmp_path / "link.json"
    link.symlink_to(file)
    check_file("--json", link, ".json")
    assert not file.exists()
    file.touch(mode=0o600)
    assert write("it", "written to", link, b"new") == 0
    assert (file.read_bytes(), link.is_symlink()) == (b"new", True)
    assert file.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr().out == f"written to {link}\n"


def full(file, content):
    raise OSError(28, "No space left on device")


def test_what_was_made_is_put_elsewhere_where_its_place_has_gone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    file = tmp_path / "gone" / "trace.json"
    assert write("the trace", "written to", file, b"content") == 1
    told = capsys.readouterr()
    (kept,) = (tmp_path / "temporary").rglob("trace.json")
    assert kept.read_bytes() == b"content"
    assert (told.out, len(told.err.splitlines())) == ("", 1)
    assert f"{file} cannot be written: " in told.err
    assert f"; the trace is in {kept}" in told.err
    for name in ("overwrite", "put"):
        monkeypatch.setattr(files, name, full)
    before = set(kept.parents[1].iterdir())
    assert write("the trace", "written to", file, b"content") == 1
    assert "No space left on device; the trace is lost" in capsys.readouterr().err
    assert set(kept.parents[1].iterdir()) == before


def test_a_disk_that_is_full_leaves_the_old_file_and_nothing_half_written(tmp_path, monkeypatch):
    file = tmp_path / "found.json"
    put(file, b"old")
    monkeypatch.setattr(files.os, "fsync", lambda _: full(None, None))
    with pytest.raises(OSError, match="No space left"):
        put(file, b"new")
    assert (file.read_bytes(), set(tmp_path.iterdir())) == (b"old", {file})


def test_a_training_whose_trace_cannot_be_written_tells_all_else(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("course_lib.console.files.overwrite", full)
    words = f"{TRAIN} --trace {tmp_path / 'trace.json'} --checkpoint {tmp_path / 'kept'}"
    assert train(words.split()) == 1
    told = capsys.readouterr()
    assert f"checkpoint kept in {tmp_path / 'kept'}\n" in told.out
    assert "trace written" not in told.out
    assert "the trace is in" in told.err
    assert len(list(tmp_path.glob("course_lib_kept_*/trace.json"))) == 1


def test_a_benchmark_whose_file_cannot_be_written_shows_its_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("course_lib.console.files.overwrite", full)
    assert bench(f"{BENCH} --json {tmp_path / 'found.json'}".split()) == 1
    told = capsys.readouterr()
    assert "\nring " in told.out
    assert "what was measured is in" in told.err
