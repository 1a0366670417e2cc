"""A rank's line to its witness, the process that sees how ranks on all machines end."""

import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from course_lib.comm.errors import RunError, WorkerKilled, WorkerStalled
from course_lib.comm.torch_backend import witness

__all__ = ["Lookout"]

_GOODBYE_S = 5.0
_EXPLAINED = {
    "ended": (
        WorkerKilled,
        "rank {} has ended before its function had returned: its process was killed (by the system "
        "if memory was short), or has left by os._exit; torchrun or mpiexec prints its exit code",
    ),
    "broken": (
        WorkerKilled,
        "the connection to rank {} has broken: its process was killed with all that it had "
        "started, or its machine is gone",
    ),
    "stopped": (
        WorkerStalled,
        f"rank {{}} has been stopped for {witness.STOPPED_S:.0f} seconds (a signal such as SIGSTOP "
        "or Ctrl-Z does that); let it go on (SIGCONT) or end it, then run again",
    ),
    "silent": (
        WorkerStalled,
        f"rank {{}} has not been heard of for {witness.SILENT_S:.0f} seconds: it is stopped, or "
        "its machine is gone or cannot be reached any more",
    ),
}


class Lookout:
    """Starts a rank's witness, and hears from it which rank has been lost.

    Parameters
    ----------
    rank, size : int
        Whose it is, of how many.
    host : str
        Where rank 0's witness listens.

    Notes
    -----
    Where no process can be started the run goes without: torchrun and mpiexec still notice what
    ends on their own machine, and time limits hold.
    """

    def __init__(self, rank: int, size: int, host: str) -> None:
        self._rank = rank
        self._token = secrets.token_hex(16)
        self._process: subprocess.Popen[str] | None = None
        command = [sys.executable, "-I", str(Path(witness.__file__)), str(rank), str(os.getpid())]
        if rank == 0:
            command += [str(size - 1), host]
        with suppress(OSError):
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )  # fmt: skip
        if rank == 0:
            self._tell(self._token)

    def address(self, host: str) -> str:
        """Return where the witness of rank 0 listens, and the word that admits to it.

        Parameters
        ----------
        host : str
            The address under which other machines reach this one.

        Returns
        -------
        str
            For ``watch``; empty where there is no witness.
        """
        if self._process is None or self._process.stdout is None:
            return ""
        words = self._process.stdout.readline().split()
        return f"{host} {words[1]} {self._token}" if words[:1] == ["port"] else ""

    def watch(self, address: str, lose: Callable[[int, RunError], None]) -> None:
        """Connect the witness, and hear of losses from now on.

        Parameters
        ----------
        address : str
            What ``address`` returned on rank 0.
        lose : callable
            Is called in a thread with the rank that is lost, and what to raise.
        """
        if self._process is None or not address:
            return
        if self._rank != 0:
            self._tell(f"join {address}")
        threading.Thread(target=self._listen, args=(lose,), name="witness", daemon=True).start()

    def end(self, *, at_once: bool = False) -> None:
        """Send the witness away.

        Parameters
        ----------
        at_once : bool, default: False
            Whether without a word to the others, which it has not met.
        """
        if self._process is None:
            return
        if at_once:
            self._process.kill()
        self._tell("bye")
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(_GOODBYE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()

    def _listen(self, lose: Callable[[int, RunError], None]) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                _, rank, how = line.split()
                kind, text = _EXPLAINED[how]
                lose(int(rank), kind(text.format(rank), rank=int(rank)))
