"""Files that a command writes: refused before it begins, or whole, or kept elsewhere."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from course_lib.console.outputs import say, tell
from course_lib.words.plain_file import overwrite, put

__all__ = ["CHECKPOINT", "are_one_file", "check_file", "write"]

CHECKPOINT = "checkpoint.json"
"""The file that a folder of checkpoints is read by."""

_TRIED_BYTES = 4096


def check_file(option: str, file: Path | None, ending: str) -> None:
    """Refuse a file that could not be written when all is done: try it.

    Parameters
    ----------
    option : str
        How the option is called, for the error.
    file : Path or None
        The file, if one was named.
    ending : str
        How its name has to end, such as ``".json"``.

    Raises
    ------
    ValueError
        If its name ends otherwise or is that of a checkpoint, or it cannot be written. A file that
        is there stays as it is.
    """
    if file is None:
        return
    if file == Path():  # what an empty text is read as
        raise ValueError(
            f"{option} must be the name of a file that ends in {ending}, got none (was a variable "
            "of the shell empty?)"
        )
    if file.suffix.lower() != ending:
        raise ValueError(f"{option} must be a file that ends in {ending}, got {file}")
    if Path(os.path.realpath(file)).name.lower() == CHECKPOINT:
        raise ValueError(
            f"{option} must have another name than {CHECKPOINT}, which a folder of checkpoints is "
            f"read by, got {file}"
        )
    if not file.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {file.absolute().parent} to put {file.name} in")
    try:
        _try(Path(os.path.realpath(file)))
    except OSError as error:
        raise ValueError(f"{option} {file} cannot be written: {error}") from None


def are_one_file(file: Path, other: Path) -> bool:
    """Say whether two names stand for one file, whether it is there or not.

    Parameters
    ----------
    file, other : Path
        The names; links are followed.

    Returns
    -------
    bool
        True also where they differ in the case of letters, and the system does not care.
    """
    with suppress(OSError):
        if file.samefile(other):
            return True
    one, two = (os.path.normcase(os.path.realpath(name)) for name in (file, other))
    return one == two


def _try(file: Path) -> None:
    """Do what will have to be done, and undo it."""
    if file.is_symlink():
        raise OSError("its links lead to each other")
    if file.exists():
        if not stat.S_ISREG(file.stat().st_mode):
            raise OSError("it is there, and no plain file")
        with file.open("ab"):
            pass
        if not os.access(file.parent, os.W_OK):  # the file may be ours where the folder is not
            return
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.") as tried:
        tried.write(bytes(_TRIED_BYTES))  # no room shows only now


def write(what: str, told: str, file: Path, content: bytes) -> int:
    """Write a file that cost much to make, and say so; if it cannot be there, put it elsewhere.

    Parameters
    ----------
    what, told : str
        What it is, and what to say before its name: "the trace" and "trace written to".
    file : Path
        Where it shall be; behind a link, the file that the link stands for.
    content : bytes
        All of it.

    Returns
    -------
    int
        The exit status: 0, or 1 if it is not where it should be.
    """
    try:
        overwrite(file, content)
    except OSError as error:
        why = f"{file} cannot be written: {error}"
        try:
            elsewhere = _put_elsewhere(file.name, content)
        except OSError:
            tell(f"{why}; {what} is lost")
        else:
            tell(f"{why}; {what} is in {elsewhere}")
        return 1
    say(f"{told} {file}")
    return 0


def _put_elsewhere(name: str, content: bytes) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="course_lib_kept_"))
    try:
        put(folder / name, content)
    except OSError:
        folder.rmdir()
        raise
    return folder / name
