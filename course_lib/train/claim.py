"""One training at a time keeps checkpoints in a folder: a lock that ends with its program.

The operating system keeps the lock, on a file in the folder, for as long as the program that took
it lives: also while that is stopped, and not a moment longer, however it ends. No process that it
starts inherits the file. What stands in the file only says whose it is.

Two cases are beyond a lock: a rank that outlives its killed program for a moment, and a network
drive that knows no locks. So each claim has a token, which the file names, and before a checkpoint
is written the file is looked at again: who finds another's token there has lost the folder, and
ends (a "fencing token").
"""

import json
import os
import secrets
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from course_lib.train.errors import CheckpointError

__all__ = ["LOCK", "Claim", "check_claim"]

LOCK = "in_use.lock"
_MOST_BYTES = 4096
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A folder may come from anybody: no link in it is followed, no pipe waited for."""
_FAR = 2**30
"""Windows forbids others to read what is locked: so a byte is locked that is never written."""
_SIGNED_WITHIN_S = 1.0
"""Locked comes before signed: for so long, whoever comes in between waits for the new name."""


class Claim:
    """The right to keep checkpoints in a folder, from now until ``release``, or the program's end.

    Parameters
    ----------
    folder : Path
        The folder; it is made if it is not there.

    Attributes
    ----------
    token : str
        What the file says as long as nobody else has taken the folder.

    Raises
    ------
    CheckpointError
        If another training has it, or it cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._file = folder, folder / LOCK
        self.token = secrets.token_hex(8)
        if os.path.lexists(folder) and not folder.is_dir():
            raise CheckpointError(
                f"checkpoints cannot be kept in {folder}: it must be a folder, and is a file, or "
                "a link to nothing; name another"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._handle: int | None = self._locked()
            try:
                self._sign(self._handle)
            except OSError:
                self.release()
                raise
        except OSError as error:
            raise CheckpointError(f"checkpoints cannot be kept in {folder}: {error}") from error

    def release(self) -> None:
        """Give the folder back; what was killed cannot, and leaves a file that locks nobody out."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        if os.name == "nt":  # where an open file cannot be removed
            os.close(handle)
        if _owner(self._folder).get("token") == self.token:
            with suppress(OSError):
                self._file.unlink()
        if os.name != "nt":  # only now: who waits for it must not lock what is being removed
            os.close(handle)

    def _locked(self) -> int:
        """Open the file and lock it; again, where its last owner has just removed it."""
        while True:
            if self._file.is_symlink():
                raise CheckpointError(_no_lock(self._file))
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT | _PLAIN, 0o666)
            try:
                if not _is_ours(os.fstat(handle)):
                    raise CheckpointError(_no_lock(self._file))
                if not _lock(handle):
                    raise CheckpointError(_in_use(self._folder, _holder(self._folder)))
                if not _is_signed_or_empty(handle):
                    raise CheckpointError(_no_lock(self._file))
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(handle), self._file.stat()):
                        return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def _sign(self, handle: int) -> None:
        """Write down who has the folder, for those who come."""
        owner = {
            "process": os.getpid(),
            "computer": socket.gethostname(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
            "token": self.token,
        }
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(owner).encode() + b"\n")
        os.fsync(handle)


def check_claim(folder: Path, token: str) -> None:
    """Make sure, before something is written into a folder, that nobody else has taken it.

    Parameters
    ----------
    folder : Path
        The folder.
    token : str
        That of the claim; empty for a caller that has made none.

    Raises
    ------
    CheckpointError
        If the folder is another training's now.
    """
    owner = _owner(folder)
    if token and owner.get("token", token) != token:
        raise CheckpointError(f"{_in_use(folder, owner)}; this one has kept nothing more")


def _lock(handle: int) -> bool:
    """Lock a file, or say that somebody else has; where there are no locks, go on without."""
    if os.name == "nt":
        import msvcrt

        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        os.lseek(handle, 0, os.SEEK_SET)
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the second is how some network drives say it
        return False
    except OSError:
        return True
    return True


def _is_ours(status: os.stat_result) -> bool:
    """Tell whether a file is one of its own: with another name for it, that would be written."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink <= 1


def _is_signed_or_empty(handle: int) -> bool:
    """Tell whether the file says what a claim writes; a crash may leave it empty, or of zeros."""
    os.lseek(handle, 0, os.SEEK_SET)
    content = os.read(handle, _MOST_BYTES + 1)
    os.lseek(handle, 0, os.SEEK_SET)
    return len(content) <= _MOST_BYTES and (not content.strip(b"\0") or bool(_signature(content)))


def _no_lock(file: Path) -> str:
    return (
        f"{file} is a link or no plain file, or not what a training writes there, and stays as it "
        "is: move it away, or remove it, or name another folder"
    )


def _in_use(folder: Path, owner: dict[str, Any]) -> str:
    who = "another training"
    if owner:
        where = "" if owner["computer"] == socket.gethostname() else f" on {owner['computer']}"
        who = f"process {owner['process']}{where} has trained into it since {owner['since']}"
    return (
        f"{folder} is in use: {who}; wait until that has ended, or end it, or name another folder"
    )


def _holder(folder: Path) -> dict[str, Any]:
    """Read who has locked a folder: not who had it before, and was killed; empty if unknown."""
    until_s = time.monotonic() + _SIGNED_WITHIN_S
    while time.monotonic() < until_s:
        owner = _owner(folder)
        is_here = owner.get("computer") == socket.gethostname()
        if owner and not (is_here and not psutil.pid_exists(owner["process"])):
            return owner
        time.sleep(0.01)
    return {}


def _owner(folder: Path) -> dict[str, Any]:
    """Read who has the folder; empty where that is not written, or not readable."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | _PLAIN)
        with os.fdopen(handle, "rb") as file:
            return _signature(file.read(_MOST_BYTES))
    except OSError:
        return {}


def _signature(content: bytes) -> dict[str, Any]:
    """Read what ``_sign`` wrote; empty where it is anything else."""
    try:
        owner = json.loads(content)
        is_told = {"process": int, "computer": str, "since": str, "token": str}
        if set(owner) == set(is_told) and all(
            type(owner[name]) is kind and (kind is int or owner[name].isprintable())
            for name, kind in is_told.items()
        ):
            return dict(owner)
    except (ValueError, TypeError, RecursionError):
        pass
    return {}
