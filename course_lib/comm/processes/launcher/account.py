"""What a worker has told: how far it is, how it ended, where it was when it was asked."""

import enum
import time
from typing import Any

from course_lib.comm.collective_order import Entered, Site
from course_lib.comm.frames import Frame, frames_of_dump
from course_lib.comm.processes.launcher.output import Printer
from course_lib.comm.processes.returned import Standing
from course_lib.comm.processes.worker.control import (
    Attached,
    Compared,
    Done,
    Failed,
    Loaded,
    Located,
    Output,
    Recalled,
)
from course_lib.trace.recorder import Recorder

__all__ = ["Account", "Phase"]


class Phase(enum.IntEnum):
    """How far a worker has come."""

    STARTING = 0
    ATTACHED = 1
    LOADED = 2
    RUNNING = 3
    DONE = 4


class Account:
    """What is known of a worker by its own words.

    Parameters
    ----------
    rank : int
        Its rank.

    Attributes
    ----------
    phase : Phase
        How far it has come.
    done : Done or None
        Its report, once its function has returned.
    failure : Failed or None
        Its report, if it raised.
    frames : tuple of Frame or None
        Where it was when it was last asked.
    call : str or None
        The verb it waited in then.
    entered : Entered or None
        The collective it was in then.
    beside : tuple of (str, tuple of Frame, str or None, Entered or None)
        All three, after a name, of everything that it had started.
    sites : tuple of Site
        The places at which it had called collectives when it last reported.
    standing : Standing or None
        Which functions run in it, if it has answered to that.
    recorder : Recorder or None
        What it had recorded when it last reported, if it was traced.
    silent : bool
        Whether it did not answer when it was asked where it is; a later answer no longer counts.
    too_late : bool
        Whether the run is over for it: what it reports from now on no longer counts.
    failed_s : float
        When it was heard that it had raised.
    lost : str
        How it was lost, in a run that goes on without it.
    printer : Printer
        Shows what it prints.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.phase = Phase.STARTING
        self.done: Done | None = None
        self.failure: Failed | None = None
        self.frames: tuple[Frame, ...] | None = None
        self.call: str | None = None
        self.entered: Entered | None = None
        self.beside: tuple[tuple[str, tuple[Frame, ...], str | None, Entered | None], ...] = ()
        self.sites: tuple[Site, ...] = ()
        self.standing: Standing | None = None
        self.recorder: Recorder | None = None
        self.silent = False
        self.too_late = False
        self.failed_s = 0.0
        self.lost = ""
        self.printer = Printer(rank)
        self._crash = b""

    @property
    def crash(self) -> tuple[Frame, ...]:
        """The stack that the fault handler wrote."""
        return frames_of_dump(self._crash.decode("utf-8", "replace"))

    def hear(self, name: str, data: bytes) -> None:
        """Take what it has printed, or its fault handler."""
        if name == "crash":
            self._crash += data
        elif data:
            self.printer.feed(name, data)

    def note(self, record: Any) -> None:
        """Take a record."""
        match record:
            case Attached():
                self.phase = Phase.ATTACHED
            case Loaded():
                self.phase = Phase.LOADED
            case Located() if not self.silent:
                self.frames, self.call, self.entered, self.beside, self.sites = record
            case Compared():
                self.standing = record.standing
            case Recalled():
                self.recorder = record.recorder
            case Output():
                self.printer.feed(record.stream, record.data)
            case Done() | Failed() if self.too_late:
                self.recorder = record.recorder
            case Done():
                self.done = record
                self.recorder = record.recorder
                self.sites = record.sites
                self.phase = Phase.DONE
            case Failed():
                self.failure = record
                self.recorder = record.recorder
                self.failed_s = time.monotonic()
                self.sites = record.sites
