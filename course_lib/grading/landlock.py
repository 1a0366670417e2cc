"""What Linux itself refuses a candidate's process, whichever library asks: Landlock.

The audit hook of ``house`` hears what Python does. A library's compiled code opens files and
sockets without asking it; the system's kernel hears of that, too.
"""

import ctypes
import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["confine", "version"]

# The same numbers on every processor.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION, _BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38

_OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
"""Run, write, read, truncate, control a device: the rights that a file can be given."""
_READ = 1 << 0 | 1 << 2 | 1 << 3
"""Run and read files, list folders."""
_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
"""From which version on there are which rights for files: to read, write, make, remove, move."""
_TCP, _SCOPES = 0b11, 0b11
"""To listen and to connect (from version 4 on); sockets by name and signals outside (from 6)."""
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/proc/stat")
_DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "tcp", "scopes")]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """Return which version of Landlock the kernel has; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _call(_CREATE, None, ctypes.c_size_t(0), _ASK_VERSION))


def confine(own: Path, readable: Iterable[Path]) -> bool:
    """Have the kernel refuse this thread, and all that it starts, what lies outside; for good.

    Parameters
    ----------
    own : Path
        The folder in which anything may be done.
    readable : iterable of Path
        Folders and files that may be read, besides a few of the system's; what is not there is
        left out.

    Returns
    -------
    bool
        Whether it does: False where the kernel has no Landlock.

    Raises
    ------
    OSError
        If the kernel has it and does not take the rules.
    """
    known = version()
    if not known:
        return False
    rights = sum(more for since, more in _RIGHTS.items() if known >= since)
    rules = _Ruleset(rights, _TCP * (known >= 4), _SCOPES * (known >= 6))
    size = ctypes.c_size_t(8 if known < 4 else 16 if known < 6 else 24)
    ruleset = _call(_CREATE, ctypes.byref(rules), size, 0)
    _check(ruleset)
    try:
        _allow(ruleset, own, rights)
        for path in (*readable, *map(Path, _SYSTEM_FILES)):
            _allow(ruleset, path, rights & _READ)
        for device in _DEVICES:
            _allow(ruleset, Path(device), rights & _OF_FILES)
        _check(_libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _check(_call(_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)
    return True


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights if path.is_dir() else rights & _OF_FILES
        rule = _Beneath(allowed, parent)
        _check(_call(_ADD, ruleset, _BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(parent)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)  # not while this is loaded: Windows has none


def _call(number: int, *words: object) -> int:
    answer: int = _libc().syscall(number, *words)
    return answer


def _check(answer: int) -> None:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
