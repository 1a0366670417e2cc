"""What watches over a worker: it must not outlive the launcher, and must say where it is.

A thread waits for requests. The end of the pipe means that the launcher is gone, and then the
worker is to go too, whatever it is doing. A thread needs Python's lock, which compiled code may
hold for long, so on Linux the kernel is asked as well to end the worker with its parent. (On
Windows and macOS such a worker ends when it next gives the lock back.)
"""

import ctypes
import faulthandler
import os
import pickle
import signal
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NoReturn

import multiprocess
from multiprocess import connection

from course_lib.comm.collective_order import Sites
from course_lib.comm.frames import frames_of, frames_of_stack, of_exception
from course_lib.comm.processes.rank.flows import Flows
from course_lib.comm.processes.worker.control import (
    Compare,
    Compared,
    GiveUp,
    Locate,
    Located,
    Output,
    Recall,
    Recalled,
)
from course_lib.comm.processes.worker.setup import WorkerPipes
from course_lib.trace.recorder import Recorder

__all__ = ["LINE_CLOSED", "ControlLine", "Pump", "die_with_launcher", "watch_for_crashes"]

LINE_CLOSED = 113
"""The exit code of a worker whose function has closed the files that it reports through."""

_PR_SET_PDEATHSIG = 1
_LAST_WORDS_S = 1.0


class ControlLine:
    """A worker's line to the launcher: records out, requests in.

    Parameters
    ----------
    pipes : WorkerPipes
        The worker's ends.
    progress : Flows
        What runs in the worker.
    sites : Sites
        The places at which it has called collectives.

    Attributes
    ----------
    error : BaseException or None
        What has left the function, from then on: to report it takes a while.
    recorder : Recorder or None
        What is recorded, if anything is.
    """

    def __init__(self, pipes: WorkerPipes, progress: Flows, sites: Sites) -> None:
        self._progress = progress
        self._sites = sites
        self.error: BaseException | None = None
        self.recorder: Recorder | None = None
        self._records = pipes.records
        self._requests = pipes.requests
        self._sending = threading.Lock()
        self._arrived: SimpleQueue[Any] = SimpleQueue()
        self._worker = threading.main_thread().ident
        threading.Thread(target=self._listen, name="requests", daemon=True).start()

    def report(self, record: Any) -> None:
        """Send a record."""
        data = pickle.dumps(record, pickle.HIGHEST_PROTOCOL)
        try:
            with self._sending:
                self._records.send_bytes(data)
        except OSError:
            os._exit(LINE_CLOSED)

    def next_request(self) -> Any:
        """Wait for what the launcher asks next; questions about the stack are answered beside.

        Raises
        ------
        MemoryError
            If there was no room for it: the function comes with its arguments.
        """
        request = self._arrived.get()
        if isinstance(request, MemoryError):
            raise request
        return request

    def _listen(self) -> None:
        launcher = multiprocess.parent_process()
        while True:
            try:
                if self._requests not in connection.wait([self._requests, launcher.sentinel]):
                    self._end()
                request = pickle.loads(self._requests.recv_bytes())
            except (EOFError, OSError, ValueError):
                self._end()
            except MemoryError as error:
                request = error
            if isinstance(request, Locate):
                self.report(self._locate())
            elif isinstance(request, Recall):
                self._recall()
            elif isinstance(request, Compare):
                self.report(Compared(self._progress.standing()))
            elif isinstance(request, GiveUp):
                self._progress.give_up(request.flow, request.gone)
            else:
                self._arrived.put(request)

    def _end(self) -> NoReturn:
        """End the worker: the launcher is gone, or nothing can be heard of it any more."""
        try:
            os.fstat(self._requests.fileno())
        except (OSError, ValueError):
            os._exit(LINE_CLOSED)
        os._exit(1)

    def _recall(self) -> None:
        if self.recorder is not None:
            with suppress(Exception):  # a note that cannot travel, or no memory: it is done without
                self.report(Recalled(self.recorder.so_far()))

    def _locate(self) -> Located:
        stacks = sys._current_frames()
        mine, mine_in, beside = None, None, []
        for _, flow in sorted(self._progress.flows.copy().items()):  # in the order of the board
            call = flow.call.written(flow.name) if flow.call is not None else None
            entered = flow.entered()
            if flow.thread == self._worker:
                mine, mine_in = call, entered
            else:
                poster = flow.poster  # of messages: where it is, the learner's lines are
                frames = frames_of_stack(stacks.get((poster or flow).thread))
                beside.append(("" if poster else flow.name, frames, call, entered))
        if self.error is None:
            frames = frames_of_stack(stacks.get(self._worker or 0))
        else:
            frames = frames_of(of_exception(self.error, "__traceback__"))
        return Located(frames, mine, mine_in, tuple(beside), tuple(self._sites.known))


class Pump:
    """Where there are no pipes for the output, what is printed travels as records.

    Parameters
    ----------
    line : ControlLine
        The line to the launcher.
    """

    def __init__(self, line: ControlLine) -> None:
        self._line = line
        self._threads = []
        for fd, stream in ((1, "stdout"), (2, "stderr")):
            read, write = os.pipe()
            os.dup2(write, fd)
            os.close(write)
            thread = threading.Thread(target=self._run, args=(read, stream), daemon=True)
            thread.start()
            self._threads.append(thread)

    def finish(self) -> None:
        """Send what has been printed last; nothing can be printed afterwards."""
        for fd, thread in zip((1, 2), self._threads, strict=True):
            with suppress(OSError):
                os.close(fd)
            thread.join(_LAST_WORDS_S)

    def _run(self, read: int, stream: str) -> None:
        while data := os.read(read, 65536):
            self._line.report(Output(stream, data))


def die_with_launcher() -> None:
    """On Linux, have the kernel kill this process when its parent ends.

    The parent is the launcher, or the fork server, which ends when nobody holds its pipe open any
    more. Workers inherit that pipe, so they close it here: the launcher alone keeps it.
    """
    if not sys.platform.startswith("linux"):
        return
    from multiprocess import forkserver

    server = forkserver._forkserver
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def watch_for_crashes(pipes: WorkerPipes) -> None:
    """Write the Python stack of a crash to its own pipe; on POSIX also when asked by a signal."""
    crash = pipes.outputs.get("crash")
    if crash is None:
        faulthandler.enable()
        return
    faulthandler.enable(crash.fileno(), all_threads=False)
    faulthandler.register(signal.SIGUSR1, crash.fileno(), all_threads=False)
