"""What a run may have left behind: processes, shared memory, semaphores, files, threads."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import psutil

from course_lib.comm.processes.launcher.process_tree import RUN_VARIABLE

SHARED_MEMORY = Path("/dev/shm")
HELPERS = ("multiprocess.forkserver", "multiprocess.resource_tracker")


@dataclass(frozen=True)
class Residue:
    """Everything countable that a run could leave behind, as it is now."""

    processes: frozenset[str]
    shared_memory: frozenset[str]
    n_files: int
    threads: frozenset[str]
    temporary: frozenset[str]


def residue(temporary_folder: Path | None = None) -> Residue:
    """Take stock of this process and of all below it, without the fork server and the tracker.

    Parameters
    ----------
    temporary_folder : Path or None, default: None
        Where nobody but the runs puts temporary files, if there is such a folder.

    Returns
    -------
    Residue
        What there is.
    """
    me = psutil.Process()
    own = (p for p in me.children(recursive=True) if not _helps(p))
    return Residue(
        processes=frozenset(_describe(p) for p in (*own, *_orphans())),
        shared_memory=frozenset(names_in_shared_memory(os.getpid())),
        n_files=me.num_handles() if sys.platform == "win32" else me.num_fds(),
        threads=frozenset(thread.name for thread in threading.enumerate()),
        temporary=frozenset(_temporary_files(temporary_folder)),
    )


def _orphans() -> Iterator[psutil.Process]:
    """List programs that workers have started, wherever they hang in the tree by now."""
    began = psutil.Process().create_time()
    for process in psutil.process_iter():
        try:
            if process.create_time() < began:  # to read its variables takes longer
                continue
            if process.environ().get(RUN_VARIABLE, "").startswith(f"{os.getpid()}-"):
                yield process
        except psutil.Error:
            continue


def _temporary_files(folder: Path | None) -> Iterator[str]:
    """List what is there, without the folder for the socket of the fork server."""
    for path in folder.iterdir() if folder else ():
        if not path.name.startswith(f"cl-{os.getpid()}-"):
            yield path.name


def names_in_shared_memory(pid: int) -> list[str]:
    """List the names that process ``pid`` has in the system's table of shared memory."""
    if not SHARED_MEMORY.is_dir():
        return []
    names = (path.name for path in SHARED_MEMORY.iterdir())
    return [name for name in names if name.removeprefix("sem.").startswith(f"cl-{pid}-")]


def assert_nothing_left(
    before: Residue, temporary_folder: Path | None = None, patience_s: float = 5.0
) -> None:
    """Fail unless all is as it was; processes that have just ended get a moment to be buried."""
    deadline = time.monotonic() + patience_s
    while (left := _more(before, residue(temporary_folder))) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, f"left behind: {left}"


def _more(before: Residue, now: Residue) -> dict[str, object]:
    more: dict[str, object] = {}
    for field in fields(Residue):
        old, new = getattr(before, field.name), getattr(now, field.name)
        added = new - old
        if (added > 0) if isinstance(new, int) else bool(added):
            more[field.name] = added
    return more


def _helps(process: psutil.Process) -> bool:
    try:
        line = " ".join(process.cmdline())
        if any(name in line for name in HELPERS):
            # A worker has the fork server's command line; the server itself is our own child.
            return process.ppid() == os.getpid()
    except psutil.Error:
        return True  # it has ended while we looked
    return False


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {process.status()} {' '.join(process.cmdline())[:120]}"
    except psutil.Error:
        return f"{process.pid} (ended)"
