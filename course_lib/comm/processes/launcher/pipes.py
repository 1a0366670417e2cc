"""The launcher's ends of the pipes. Reading never blocks, whatever state a worker is in."""

import os
import pickle
import struct
import sys
from contextlib import suppress
from typing import Any

__all__ = ["LauncherPipes", "Tap"]

_CHUNK = 1024 * 1024
_FULL = 64 * 1024
_LENGTH = struct.Struct("!i")
_LONG_LENGTH = struct.Struct("!Q")
_LONGEST_HEADER = _LENGTH.size + _LONG_LENGTH.size


class Tap:
    """Bytes that a worker writes to a pipe.

    Parameters
    ----------
    pipe : Connection
        The reading end.

    Attributes
    ----------
    open : bool
        False once the worker's end is closed and all has been read.
    """

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe
        self.open = True
        self._is_wide = False
        os.set_blocking(pipe.fileno(), False)

    def read(self, most: int = 64 * _CHUNK) -> bytes:
        """Return what is there now, at most so many bytes."""
        parts: list[bytes] = []
        while self.open and most > 0:
            try:
                part = os.read(self.pipe.fileno(), min(most, _CHUNK))
            except BlockingIOError:
                break
            if not part:
                self.close()
            parts.append(part)
            most -= len(part)
            if len(part) >= _FULL and not self._is_wide:
                self._widen()
        return b"".join(parts)

    def _widen(self) -> None:
        """Let a worker that writes much fill a megabyte before it has to wait (on Linux)."""
        self._is_wide = True
        if sys.platform == "linux":
            import fcntl

            with suppress(OSError):  # a user may have so many large pipes and no more
                fcntl.fcntl(self.pipe.fileno(), fcntl.F_SETPIPE_SZ, _CHUNK)

    def close(self) -> None:
        """Close this end."""
        if self.open:
            self.open = False
            self.pipe.close()


class LauncherPipes:
    """The records that a worker sends, taken apart as they arrive.

    ``Connection.recv`` would wait for the rest of a record that a stopped worker never sends; so
    the bytes are gathered here until a record is whole. Windows delivers whole records only.

    Attributes
    ----------
    n_refused : int or None
        How large the record was that there was no memory for; nothing more is read then.
    """

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._tap = None if sys.platform == "win32" else Tap(pipe)
        self._open = True
        self._gathered = bytearray()
        self.n_refused: int | None = None

    @property
    def pipe(self) -> Any:
        """The reading end, to wait for."""
        return self._pipe

    @property
    def open(self) -> bool:
        """Whether more may come."""
        return self._open if self._tap is None else self._tap.open

    def read(self) -> list[Any]:
        """Return the records that are whole by now."""
        if self.n_refused is not None:
            return []
        if self._tap is None:
            return self._read_messages()
        records: list[Any] = []
        try:
            if self._place() is None:  # its length is known, whether or not there is room for it
                self._gathered += self._tap.read(_LONGEST_HEADER)
            self._gathered += self._tap.read()
            while (place := self._next_record()) is not None:
                with memoryview(self._gathered) as data, data[place] as record:
                    records.append(pickle.loads(record))
                del self._gathered[: place.stop]
        except MemoryError:
            self._refuse()
        return records

    def close(self) -> None:
        """Close this end."""
        if self._tap is not None:
            self._tap.close()
        elif self._open:
            self._open = False
            self._pipe.close()

    def _next_record(self) -> slice | None:
        """Say where the first record lies among what has been gathered, if it is whole."""
        place = self._place()
        return place if place is not None and place.stop <= len(self._gathered) else None

    def _place(self) -> slice | None:
        """Say where the first record will lie, if that is known."""
        # The framing of multiprocess.connection: four bytes of length, or -1 and eight bytes.
        data = self._gathered
        start = _LENGTH.size
        if len(data) < start:
            return None
        (length,) = _LENGTH.unpack_from(data)
        if length == -1:
            start += _LONG_LENGTH.size
            if len(data) < start:
                return None
            (length,) = _LONG_LENGTH.unpack_from(data, _LENGTH.size)
        return slice(start, start + length)

    def _refuse(self) -> None:
        """Let go of a record that there is no memory for; its sender waits, and will be ended."""
        place = self._place()
        self.n_refused = len(self._gathered) if place is None else place.stop - place.start
        self._gathered = bytearray()

    def _read_messages(self) -> list[Any]:
        records = []
        try:
            while self._open and self._pipe.poll():
                records.append(pickle.loads(self._pipe.recv_bytes()))
        except (EOFError, OSError):
            self.close()
        except MemoryError:
            self._refuse()
        return records
