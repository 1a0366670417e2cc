"""Ctrl-C and Jupyter's stop button during a run: noticed at once, acted on at a safe place."""

import signal
import threading
from types import FrameType
from typing import Any

import multiprocess

__all__ = ["Interrupts"]


class Interrupts:
    """Collect interrupts while a run is under way, instead of having them raised anywhere.

    An exception in the middle of starting or ending processes would leave some behind. So a handler
    only takes note and wakes the launcher, which ends the workers and then raises one
    ``KeyboardInterrupt``, however often the key was pressed. Outside the main thread, and where the
    program has a handler of its own, nothing is changed.

    Attributes
    ----------
    count : int
        How many there were.
    wake : Connection
        Becomes readable with the first.
    """

    def __init__(self) -> None:
        self.count = 0
        self.wake, self._bell = multiprocess.Pipe(duplex=False)
        self._before: Any = None

    def __enter__(self) -> "Interrupts":
        """Take over Ctrl-C, where it would raise ``KeyboardInterrupt``."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        """Give Ctrl-C back."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        self.wake.close()
        self._bell.close()

    def _note(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.count += 1
        if self.count == 1:
            self._bell.send_bytes(b"!")
