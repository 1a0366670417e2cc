"""Ctrl-C while workers run: it wakes the launcher, which ends them at a safe place."""

from contextlib import suppress
from typing import Any

import multiprocess

from course_lib.comm.interrupts import Interrupts

__all__ = ["WakingInterrupts"]


class WakingInterrupts(Interrupts):
    """Interrupts that end what the launcher waits for.

    An exception in the middle of starting or ending processes would leave some behind. So the
    launcher is woken up, ends the workers and then raises one ``KeyboardInterrupt``, however often
    the key was pressed.

    Attributes
    ----------
    wake : Connection
        Becomes readable with the first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.wake: Any = None
        self._bell: Any = None

    def __enter__(self) -> "WakingInterrupts":
        """Take over Ctrl-C, then make what wakes the launcher."""
        super().__enter__()
        try:
            self.wake, self._bell = multiprocess.Pipe(duplex=False)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of that, then give Ctrl-C back."""
        for end in (self._bell, self.wake):
            if end is not None:
                end.close()
        super().__exit__()

    def _noted(self) -> None:
        with suppress(AttributeError, OSError):  # not there yet, or no longer
            self._bell.send_bytes(b"!")
