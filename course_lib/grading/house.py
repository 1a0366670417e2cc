"""The rules of a candidate's process: what Python refuses there, and what the system does.

The first are kept by an audit hook, which Python asks before it opens a file, starts a program,
reaches for the network; once there, it cannot be taken away. Compiled code, such as torch's, does
not ask it: on Linux the kernel refuses that (``landlock``).
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from course_lib.grading.landlock import confine

__all__ = ["HouseRuleError", "environ_in", "limit", "refuse_the_outside"]

_PROGRAMS = {
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system",
    "pty.spawn", "subprocess.Popen",
}  # fmt: skip
_OTHERS = {"os.kill", "os.killpg", "signal.pthread_kill"}
_NETWORK = {
    "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyaddr",
    "socket.gethostbyname", "socket.sendmsg", "socket.sendto", "urllib.Request",
}  # fmt: skip
_MEMORY = {
    "ctypes.call_function", "ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle",
    "ctypes.string_at", "ctypes.wstring_at",
    "gc.get_objects", "gc.get_referents", "gc.get_referrers",
}  # fmt: skip
_CHANGES = {
    "os.chflags", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename",
    "os.rmdir", "os.symlink", "os.truncate", "os.utime", "shutil.move", "shutil.rmtree",
}  # fmt: skip
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL")
_LISTS = {"os.listdir", "os.scandir", "glob.glob"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LONGEST_FILE = 256 * 2**20
_SYSTEM = (
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys",
    "/usr",
    "/lib",
    "/lib64",
    "/System",
)


class HouseRuleError(PermissionError):
    """The answer reaches for something outside of its process."""


def refuse_the_outside(own: Path, readable: Iterable[Path]) -> None:
    """Refuse, from now on and for good, what an answer to an exercise has no use for.

    Parameters
    ----------
    own : Path
        The folder in which files may be written.
    readable : iterable of Path
        Folders from which the process may read, besides its own and those of the system.
    """
    allowed = [*readable, *map(Path, _SYSTEM)]
    with contextlib.suppress(OSError):  # the kernel does not take its rules: the hook stays
        confine(own, allowed)
    sys.addaudithook(_hook(own, [own, *allowed]))


def environ_in(folder: Path) -> Mapping[str, str]:
    """Return the variables of a candidate's process: none that might be a secret.

    Parameters
    ----------
    folder : Path
        Its own, which is its home as well.

    Returns
    -------
    dict of str to str
        All that it is started with.
    """
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    homes = ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "MPLCONFIGDIR", "NUMBA_CACHE_DIR")
    return {
        **kept,
        **dict.fromkeys(homes, str(folder)),
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_WAIT_POLICY": "passive",
    }


def limit(cpu_s: float, more_bytes: int) -> None:
    """Have the system end what computes for too long, and refuse memory and long files.

    Parameters
    ----------
    cpu_s : float
        Processor seconds.
    more_bytes : int
        Memory that may be asked for, besides what the process has already.
    """
    if sys.platform == "win32":
        return
    import resource

    wanted = {resource.RLIMIT_CPU: int(cpu_s) + 1, resource.RLIMIT_FSIZE: _LONGEST_FILE}
    wanted[resource.RLIMIT_CORE] = 0
    if sys.platform.startswith("linux"):  # others have no such limit, or do not keep to it
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        wanted[resource.RLIMIT_AS] = pages * resource.getpagesize() + more_bytes
    for what, most in wanted.items():
        with contextlib.suppress(OSError, ValueError):  # there is a lower one
            resource.setrlimit(what, (most, most))


def _hook(own: Path, readable: list[Path]) -> Callable[[str, Any], None]:
    # All that it uses is bound here: a name of a module could be given another meaning.
    refused = frozenset(_PROGRAMS | _OTHERS | _NETWORK | _MEMORY)
    changes, lists, writing = frozenset(_CHANGES), frozenset(_LISTS), _WRITING
    mine = os.path.realpath(own) + os.sep
    read = tuple(os.path.realpath(folder) + os.sep for folder in readable)
    devices = ("/dev/null", "/dev/urandom", "/dev/random", os.devnull)
    realpath, fsdecode, error, text = os.path.realpath, os.fsdecode, HouseRuleError, str
    path_like, whole, separator = (str, bytes, os.PathLike), int, os.sep
    is_a, any_of = isinstance, any

    def where(path: Any) -> str:
        return realpath(fsdecode(path)) if is_a(path, path_like) else ""

    def ask(event: str, given: Any) -> None:
        if event in refused:
            raise error(f"{event} is not for an answer to an exercise")
        if event == "open":
            path, flags = where(given[0]), given[2]
            if not path or path in devices:
                return
            writes = is_a(flags, whole) and flags & writing
            if writes and not path.startswith(mine):
                raise error("an answer to an exercise writes no files")
            if not writes and not (path + separator).startswith(read):
                raise error(f"{text(given[0])} is not for an answer to an exercise")
        elif event in changes:
            paths = [where(one) for one in given[:2]]
            if any_of(path and not path.startswith(mine) for path in paths):
                raise error(f"{event} is not for an answer to an exercise")
        elif event in lists and not ((where(given[0]) or mine) + separator).startswith(read):
            raise error(f"{event} is not for an answer to an exercise")

    return ask
