"""What is written is whole, or what was there before is."""

import os
import signal
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib import run
from course_lib.viz import player
from course_lib.words.plain_file import overwrite

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no such limits, modes or signals there")


class StopError(BaseException):
    """What a signal handler of the program raises."""


def broken_off():
    yield b"half of it"
    raise StopError


def test_what_is_broken_off_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "it.json"
    for before in ([], [file]):
        with pytest.raises(StopError):
            overwrite(file, broken_off())
        assert list(tmp_path.iterdir()) == before
        file.write_bytes(b"the old one")
    assert file.read_bytes() == b"the old one"
    overwrite(file, iter([b"the ", b"new one"]))
    assert file.read_bytes() == b"the new one"
    assert list(tmp_path.iterdir()) == [file]


@POSIX
def test_a_file_keeps_its_mode_and_a_link_its_file_and_a_device_is_written_to(tmp_path):
    file, link = tmp_path / "it.json", tmp_path / "link.json"
    file.write_bytes(b"")
    file.chmod(0o640)
    link.symlink_to(file)
    overwrite(link, b"all")
    assert link.is_symlink()
    assert file.read_bytes() == b"all"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    reader, writer = os.pipe()
    overwrite(Path(f"/dev/fd/{writer}"), b"told")
    assert os.read(reader, 9) == b"told"
    os.close(reader)
    os.close(writer)


@POSIX
def test_a_trace_and_a_picture_that_do_not_fit_leave_what_was_there(tmp_path):
    import resource

    def swap(comm):
        for _ in range(20):
            comm.sendrecv(np.zeros(1), 1 - comm.rank, 1 - comm.rank)

    trace = run(swap, workers=2, backend="simulated").trace
    file = tmp_path / "precious"
    file.write_bytes(b"the only copy")
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN  # then it is an OSError
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for save in (trace.save, trace.to_perfetto, player(trace).save):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                save(file)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert file.read_bytes() == b"the only copy"
        assert list(tmp_path.iterdir()) == [file]
        save(file)
        assert len(file.read_bytes()) > 1000
        file.write_bytes(b"the only copy")


def test_a_name_may_be_as_long_as_the_system_allows_and_an_error_names_what_was_asked_for(tmp_path):
    long = tmp_path / f"{'ä' * 60}{'a' * 130}.json"
    overwrite(long, b"all")
    assert long.read_bytes() == b"all"
    nowhere = tmp_path / "no folder" / "it.json"
    with pytest.raises(FileNotFoundError) as error:
        overwrite(nowhere, b"all")
    assert error.value.filename == str(nowhere)
