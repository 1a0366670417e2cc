"""One worker as the launcher sees it: its process, the pipes to it, and what is known of it."""

import os
import pickle
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from multiprocess import connection

from course_lib.comm.processes.launcher.account import Account
from course_lib.comm.processes.launcher.fork_server import go_on
from course_lib.comm.processes.launcher.pipes import LauncherPipes, Tap
from course_lib.comm.processes.launcher.resident import resident_bytes
from course_lib.comm.processes.launcher.start_methods import PROCESS_LOCK, start_process
from course_lib.comm.processes.worker.setup import Setup, WorkerPipes
from course_lib.comm.processes.worker.worker_main import enter

__all__ = ["REST_S", "WorkerHandle"]

# On Windows one can wait for 63 things at most, so there the output travels with the records.
_OUTPUTS = () if sys.platform == "win32" else ("stdout", "stderr", "crash")
_DEATH_S = 0.2
_ANOTHER_FIRST_S = 0.5
REST_S = 0.002
"""How long its output is left alone after a look: a launcher that woke up for every line of a flood
would make the worker three times slower."""

_MOMENTS = 200


class WorkerHandle(Account):
    """One worker: what it has told, and its process.

    Parameters
    ----------
    rank : int
        Its rank.
    context : multiprocess context
        How to start it.

    Attributes
    ----------
    gone : bool
        Whether its process has ended.
    gone_s : float
        When that was noticed, or that it was cut off, on the clock that all processes share.
    exit_code : int or None
        How, once it is gone: a negative number is a signal.
    resident_bytes : int or None
        How much memory it held when it was last looked at.
    ended_by_us : bool
        Whether the launcher ended it.
    cut_off : bool
        Whether its line has broken and its process lived on.
    """

    def __init__(self, rank: int, context: Any) -> None:
        super().__init__(rank)
        self.gone = True
        self.gone_s = 0.0
        self.exit_code: int | None = None
        self.resident_bytes: int | None = None
        self.ended_by_us = False
        self.cut_off = False
        self._context = context
        self._process: Any = None
        self._inbox: LauncherPipes | None = None
        self._taps: dict[str, Tap] = {}
        self._heard_s = 0.0
        self._requests: Any = None
        self._worker_ends: list[Any] = []

    @property
    def pid(self) -> int:
        """The number of its process."""
        return int(self._process.pid)

    @property
    def failed(self) -> bool:
        """Whether it has raised, or can no longer report.

        One that only tells of another's failure leaves that one a moment to be heard first.
        """
        if self.failure is not None:
            patience_s = _ANOTHER_FIRST_S if self.failure.is_consequence else 0.0
            return time.monotonic() >= self.failed_s + patience_s
        lost = self._inbox is not None and not self._inbox.open
        return self.n_refused is not None or (self.done is None and lost)

    @property
    def n_refused(self) -> int | None:
        """How many bytes it has sent back that this program had no memory for, if any."""
        return None if self._inbox is None else self._inbox.n_refused

    @property
    def left_well(self) -> bool:
        """Whether it has done all that a worker does at its end, and can have left nothing."""
        return self.done is not None and self.exit_code == 0 and not self.done.had_children

    def open_pipes(self) -> WorkerPipes:
        """Make the pipes; return the worker's ends of them."""
        requests, self._requests = self._pipe()
        self._worker_ends.append(requests)  # at once, so that it is closed if there are no more
        records, worker_records = self._pipe()
        self._worker_ends.append(worker_records)
        self._inbox = LauncherPipes(records)
        outputs = {}
        for name in _OUTPUTS:
            pipe, outputs[name] = self._pipe()
            self._worker_ends.append(outputs[name])
            self._taps[name] = Tap(pipe)
        return WorkerPipes(requests, worker_records, outputs)

    def _pipe(self) -> tuple[Any, Any]:
        read, write = self._context.Pipe(duplex=False)
        return read, write

    def start(self, setup: Setup) -> None:
        """Start its process."""
        process = self._context.Process(target=enter, args=(setup,), name=f"rank-{self.rank}")
        start_process(process)
        self._process = process
        self.gone = False
        self._close_worker_ends()

    def successor(self) -> "WorkerHandle":
        """Return a handle for the process that will be this rank again."""
        return WorkerHandle(self.rank, self._context)

    def ask(self, request: Any) -> None:
        """Send a request, unless it has died."""
        self.send(pickle.dumps(request, pickle.HIGHEST_PROTOCOL))

    def send(self, request: bytes) -> None:
        """Send a request that is pickled already, unless it has died."""
        with suppress(OSError):
            self._requests.send_bytes(request)

    def sources(self) -> list[Any]:
        """List what to wait for: pipes that are open, and the end of the process."""
        found = [] if self.rests else [tap.pipe for tap in self._taps.values() if tap.open]
        if self._inbox is not None and self._inbox.open and self.n_refused is None:
            found.append(self._inbox.pipe)
        if not self.gone and sys.platform != "win32":  # there, the end of the inbox tells as much
            found.append(self._process.sentinel)
        return found

    @property
    def rests(self) -> bool:
        """Whether its output has been looked at a moment ago, and can wait."""
        return time.monotonic() < self._heard_s + REST_S

    def listen(self, ready: list[Any]) -> None:
        """Take what has come."""
        for name, tap in self._taps.items():
            if tap.pipe in ready:
                self.hear(name, tap.read())
                self._heard_s = time.monotonic()
        inbox = self._inbox
        if inbox is None:
            return
        if inbox.pipe in ready:
            for record in inbox.read():
                self.note(record)
        if not self.gone and (self._process.sentinel in ready or not inbox.open):
            # A broken line comes first by a moment; a process that lives on without one is ended.
            patience_s = 0 if inbox.open or self.done else _DEATH_S
            go_on()  # the fork server tells of the end, and a worker may have stopped it
            if connection.wait([self._process.sentinel], patience_s):
                self._end(inbox)
            elif not self.cut_off:
                self.cut_off, self.gone_s = True, time.perf_counter()

    def look(self) -> None:
        """See how much memory it holds, and whether it has ended and a copy keeps its line open."""
        if self.gone or self._inbox is None:
            return
        self.resident_bytes = resident_bytes(self.pid) or self.resident_bytes
        go_on()  # as above
        with PROCESS_LOCK:
            ended = self._process.exitcode is not None
        if ended:
            self._end(self._inbox)

    def _end(self, inbox: LauncherPipes) -> None:
        self.gone = True
        if not self.cut_off:
            self.gone_s = time.perf_counter()
        self.exit_code = self._bury()
        for name, tap in self._taps.items():  # what it wrote last is still in the pipes
            self.hear(name, tap.read())
            tap.close()
        for record in inbox.read():
            self.note(record)
        inbox.close()

    def _bury(self) -> int | None:
        # A dying process closes its files a moment before it can be buried, and one that has only
        # closed its files would never end: it gets that moment, then it is killed.
        for _ in range(_MOMENTS):
            with PROCESS_LOCK:
                code: int | None = self._process.exitcode
            if code is not None:
                return code
            time.sleep(_DEATH_S / _MOMENTS)
        self._process.kill()
        self._process.join()
        return None

    def signal(self, number: int) -> None:
        """Send a signal to its process."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the system to end it."""
        if not self.gone:
            self.ended_by_us = True
            self._process.terminate()
            if sys.platform != "win32":
                self.signal(signal.SIGCONT)  # one that is stopped would not hear of it

    def kill(self) -> None:
        """End it whatever it does."""
        if not self.gone:
            self.ended_by_us = True
            self._process.kill()

    def close(self) -> None:
        """Let go of the process and of all pipes; show what it printed last."""
        self._close_worker_ends()
        self.printer.finish()
        for tap in self._taps.values():
            tap.close()
        if self._inbox is not None:
            self._inbox.close()
        if self._requests is not None:
            self._requests.close()
        if self._process is not None and self.gone:
            with PROCESS_LOCK:
                self._process.join()
                self._process.close()

    def _close_worker_ends(self) -> None:
        for pipe in self._worker_ends:
            pipe.close()
        self._worker_ends.clear()
