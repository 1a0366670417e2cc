"""What is written is whole, or what was there before is."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib import run
from course_lib.train import checkpoint
from course_lib.viz import player
from course_lib.words.plain_file import overwrite, read_plain
from tests.train.test_foreign_checkpoints import arrays_of, forge, plain

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
def test_a_trace_and_a_picture_that_do_not_fit_leave_what_was_there(tmp_path, monkeypatch):
    import resource

    # A module that is imported meanwhile would be kept as its first 1000 bytes.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

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


IN_LITTLE_MEMORY = """
import os, resource, sys
from pathlib import Path
from course_lib import Trace
from course_lib.train.checkpoint import load

trace, checkpoint, arrays = map(Path, sys.argv[1:])
with open("/proc/self/statm") as file:
    in_use = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + 2**28, resource.RLIM_INFINITY))
print(Trace.load(trace).size)
for read, folder, file in [(Trace.load, trace, trace), (load, checkpoint, arrays)]:
    os.truncate(file, 2**33)
    try:
        read(folder)
    except ValueError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces that limit")
def test_a_file_needs_the_memory_of_its_own_length_and_too_long_a_one_is_named(tmp_path):
    trace = tmp_path / "trace.json"
    run(lambda comm: comm.barrier(), workers=2, backend="simulated").trace.save(trace)
    checkpoint.save(tmp_path, plain())
    forge(tmp_path, made_with={"parameters": 2**40, "workers": 2})
    arrays = arrays_of(tmp_path)
    words = [sys.executable, "-c", IN_LITTLE_MEMORY, str(trace), str(tmp_path), str(arrays)]
    told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    why = "cannot be read: there is not enough memory for it"
    assert told.splitlines() == ["2", f"{trace} {why}", f"{arrays} {why}"]


@pytest.mark.skipif(sys.platform != "linux", reason="the files of /proc are Linux'")
def test_a_file_that_tells_no_length_is_read_up_to_its_limit():
    file = Path("/proc/cpuinfo")
    assert file.stat().st_size == 0
    assert read_plain(file, 10) == b"processor\t"
    assert len(read_plain(file, 2**20)) > 10
