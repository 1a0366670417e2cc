"""The folder with the socket of the fork server, which must not outlive the program.

``multiprocess`` would remove one of its own when the program ends in an orderly way. A program that
is killed cannot, so this folder is removed by the fork server as well, which ends with the program.
If both are killed, the next program does it: the folder's name says whose it was.
"""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from multiprocess import process

from course_lib.comm.forks import in_copies
from course_lib.comm.processes.memory.shared_memory import is_alive

__all__ = ["FOLDER_VARIABLE", "STORE", "folder_for_sockets", "remove_at_exit", "sweep"]

FOLDER_VARIABLE = "COURSE_LIB_SOCKETS"
"""The environment variable that tells the fork server which folder it is to remove."""

STORE = "store"
"""The file by which the ranks of a ``torch`` run meet, in a folder of the same kind."""

_LONGEST_PATH = 103
"""The bytes of a socket's path: macOS has room for 104 with the zero at the end, Linux for 108."""

_SHORT = Path("/tmp")
"""Where to go if the folder for temporary files has a longer name than that allows."""

_folder: Path | None = None


@in_copies
def _begin_anew() -> None:
    global _folder
    _folder = None


@contextmanager
def folder_for_sockets() -> Iterator[Path]:
    """Let ``multiprocess`` put a new socket into this process's folder.

    Yields
    ------
    Path
        The folder.
    """
    global _folder
    if _folder is None or not _folder.is_dir():  # a fork server that was stopped has removed it
        _folder = _new_folder()
        remove_at_exit(_folder)
    configuration = process.current_process()._config
    before = configuration.get("tempdir")
    configuration["tempdir"] = str(_folder)
    try:
        yield _folder
    finally:
        configuration["tempdir"] = before


def _new_folder() -> Path:
    """Make a folder in which the path of a socket is not too long for the system."""
    prefix = f"cl-{os.getpid()}-"
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    if len(os.fsencode(folder / "listener-12345678")) > _LONGEST_PATH and _SHORT.is_dir():
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=_SHORT))
    return folder


def remove_at_exit(folder: Path) -> Callable[[], None]:
    """Remove a folder when this process, and no copy of it, ends; return what removes it now."""
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return remove


def sweep() -> None:
    """Remove the folders of programs that were killed together with their fork servers."""
    if sys.platform == "win32":  # where there is no fork server
        return
    for folder in Path(tempfile.gettempdir()).glob("cl-*-*"):
        pid = folder.name.split("-")[1]
        if pid.isdigit() and not is_alive(int(pid)):
            with suppress(OSError):
                _remove_ours(folder)


def _remove_ours(folder: Path) -> None:
    """Remove what a program of ours puts there, and the folder if nothing else was in it.

    Others may give their folders such names, too.
    """
    if folder.is_symlink():
        return
    for path in folder.iterdir():
        if path.is_socket() or (path.name == STORE and path.is_file()):
            path.unlink()
    folder.rmdir()
