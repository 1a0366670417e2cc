"""What workers print: floods, junk, output that is closed, questions to a keyboard there is not."""

import os
import sys
from pathlib import Path

import pytest

from course_lib.comm.errors import RunError, WorkerError
from course_lib.comm.processes.launcher.output import MOST_BYTES, MOST_LINES
from tests.faults.table import Case, row

FLOODS = {
    "a million lines": (lambda number: os.write(1, b"%d\n" % number), 1_000_000, 999_000),
    "100 MB in one line": (lambda number: os.write(1, b"x" * 1_000_000), 100, 1),
    "to stderr": (lambda number: print(number, file=sys.stderr), 20_000, 19_000),
}


@row(47, "a flood of output", alone=True, variants=FLOODS, spawned=("a million lines",))
def a_flood_is_cut_and_counted(case: Case) -> None:
    write, times, n_dropped = case.variant

    def work(comm):
        for number in range(times):
            write(number)
        return "done"

    lines = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("stdout", "stderr"):
            patch.setattr(sys, name, Screen(lines))
        assert case.run(work, workers=1).values == ["done"]
    text = "".join(lines)
    assert all(line.startswith("[rank 0] ") for line in text.splitlines())
    assert len(text.splitlines()) <= MOST_LINES + 1
    assert len(text) <= MOST_BYTES + 20 * MOST_LINES
    assert text.splitlines()[-1].startswith(f"[rank 0] ... {n_dropped:,} more lines dropped")


class Screen:
    """Keeps what is written to it."""

    def __init__(self, lines):
        self.write = lines.append

    def flush(self):
        """Have nothing to do."""


def printing_s(comm, n_lines, folder):
    """Return how long it takes to print, to the launcher or to a file."""
    if folder is not None:
        file = os.open(f"{folder}/rank {comm.rank}", os.O_WRONLY | os.O_CREAT)
        os.dup2(file, 1)
    begun_s = comm.clock()
    for number in range(n_lines):
        print(number)
    return comm.clock() - begun_s


@row(47, "what a flood costs", alone=True, spawned=())
def printing_to_the_launcher_is_nearly_as_fast_as_to_a_file(case: Case) -> None:
    n_lines = 100_000
    times_s: dict[str | None, list[float]] = {str(case.folder): [], None: []}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", Screen([]))
        for _ in range(3):  # by turns: what else the computer does slows both
            for folder, found in times_s.items():
                (taken_s,) = case.run(printing_s, n_lines, folder, workers=1).values
                found.append(taken_s)
    assert len((case.folder / "rank 0").read_text().splitlines()) == n_lines
    file_s, launcher_s = (min(found) for found in times_s.values())
    print(f"{n_lines:,} lines: {launcher_s / file_s:.2f} × the time of a file ({file_s:.3f} s)")
    assert launcher_s < 10 * 1.2 * file_s


@row(47, "bytes that are no text, carriage returns")
def odd_bytes_and_carriage_returns_do_no_harm(case: Case) -> None:
    lines: list[str] = []

    def work(comm):
        if comm.rank == comm.size - 1:
            os.write(1, b"\xff\xfe bad\n10 %\r20 %\r30 %\ndone\r\n\n\x00\x1b[2J\n")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", Screen(lines))
        case.run(work)
    told = f"[rank {case.workers - 1}] "
    assert "".join(lines).splitlines()[:4] == [
        f"{told}\ufffd\ufffd bad", f"{told}30 %", f"{told}done", told
    ]  # fmt: skip


@row(48, "output of compiled code, a stream that is closed")
def what_compiled_code_writes_is_shown_and_a_closed_stream_is_no_fault(case: Case) -> None:
    lines: list[str] = []
    bad_rank = case.bad_rank

    def work(comm):
        os.write(1, b"from below\n")
        if comm.rank == bad_rank:
            sys.stdout.close()
            os.close(1)
            os.close(2)
        return comm.rank

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", Screen(lines))
        assert case.run(work).values == list(range(case.workers))
    expected = [f"[rank {rank}] from below\n" for rank in range(case.workers)]
    assert sorted(lines) == expected


@row(48, "print after the stream was closed", limit_s=1.0)
def printing_to_a_closed_stream_is_the_workers_own_error(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        if comm.rank == bad_rank:
            sys.stdout.close()
            fault()
            print("to nobody")

    error = case.failing(WorkerError, work)
    assert error.rank == bad_rank
    assert "I/O operation on closed file" in str(error)


@row(48, "a question to the keyboard", limit_s=1.0)
def input_in_a_worker_ends_with_the_rank_named(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        if comm.rank == bad_rank:
            fault()
            input()

    error = case.failing(WorkerError, work)
    assert error.rank == bad_rank
    assert f"rank {bad_rank} failed at output.py, line " in str(error)
    assert "EOFError: EOF when reading a line" in str(error)


@row(48, "what was printed before a crash", limit_s=1.0)
def what_was_printed_before_a_crash_is_shown(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank
    lines: list[str] = []

    def work(comm):
        if comm.rank == bad_rank:
            print("before")
            print("no end", end="")
            sys.stdout.flush()
            fault()
            os._exit(1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", Screen(lines))
        with pytest.raises(RunError):
            case.run(work)
        case.reported()
    assert "".join(lines) == f"[rank {bad_rank}] before\n[rank {bad_rank}] no end\n"
    assert not Path(case.fault.path).exists()
