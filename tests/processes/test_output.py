"""What workers print comes out here, line by line with the rank in front, up to a limit."""

import os
import sys
import time
from pathlib import Path

import pytest

from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.comm.processes.launcher import worker_handle
from course_lib.comm.processes.launcher.output import MOST_BYTES, Printer

pytestmark = pytest.mark.slow


def test_lines_come_with_their_rank_and_stay_on_their_stream(start_method, capsys):
    def work(comm):
        print(f"out {comm.rank}")
        print(f"err {comm.rank}", file=sys.stderr)
        os.write(1, b"from C\n")

    run(work, workers=2, start_method=start_method)
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == [
        "[rank 0] from C", "[rank 0] out 0", "[rank 1] from C", "[rank 1] out 1"
    ]  # fmt: skip
    assert sorted(err.splitlines()) == ["[rank 0] err 0", "[rank 1] err 1"]


def test_lines_are_shown_while_the_run_goes_on(start_method, monkeypatch):
    class Screen:
        def __init__(self):
            self.lines = []

        def write(self, text):
            self.lines.append((time.monotonic(), text))

        def flush(self):
            pass

    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)

    def work(comm):
        print("first")
        time.sleep(0.5)

    run(work, workers=1, start_method=start_method)
    ended_s = time.monotonic()
    assert [text for _, text in screen.lines] == ["[rank 0] first\n"]
    assert ended_s - screen.lines[0][0] > 0.3


def test_output_travels_as_records_where_there_are_no_pipes_for_it(
    start_method, capsys, monkeypatch
):
    monkeypatch.setattr(worker_handle, "_OUTPUTS", ())  # as on Windows

    def work(comm):
        print("out")
        os.write(2, b"err\nno end")
        if comm.rank == 1:
            raise ValueError("planned")
        return comm.rank

    assert run(work, workers=1, start_method=start_method).values == [0]
    with pytest.raises(RunError, match="rank 1 failed"):
        run(work, workers=2, start_method=start_method)
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == ["[rank 0] out", "[rank 0] out", "[rank 1] out"]
    for rank in (0, 1):
        lines = [line for line in err.splitlines() if line.startswith(f"[rank {rank}]")]
        assert lines[-2:] == [f"[rank {rank}] err", f"[rank {rank}] no end"]


def test_what_a_rank_printed_before_it_failed_is_shown_however_slow_the_output(
    start_method, capsys
):
    def work(comm):
        class Slow:
            def flush(self):
                time.sleep(0.5)
                os.write(1, b"last words\n")

        sys.stdout = Slow()
        raise ValueError("planned")

    with pytest.raises(RunError, match="planned"):
        run(work, workers=1, start_method=start_method)
    assert capsys.readouterr().out == "[rank 0] last words\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is always full")
def test_output_for_which_there_is_no_room_is_told(monkeypatch, start_method):
    full = Path("/dev/full").open("w")  # noqa: SIM115 - closing it fails
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", full)
        with pytest.warns(RuntimeWarning, match="not all that ranks 0, 1 printed could be shown"):
            result = run(lambda comm: print("lost"), workers=2, start_method=start_method)
    assert result.values == [None, None]
    with pytest.raises(OSError, match="No space left"):
        full.close()  # where the lines still are


def test_the_limit_counts_bytes_as_well_as_lines(capsys):
    printer = Printer(3)
    printer.feed("stdout", b"y" * 1000 + b"\n")
    printer.feed("stdout", b"z" * MOST_BYTES + b"\nlost\n")
    printer.finish()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[rank 3] " + "y" * 1000
    assert lines[1].startswith("[rank 3] ... 2 more lines dropped")
