"""What workers print, shown by the launcher line by line with the rank in front, up to a limit."""

import sys
from typing import TextIO

__all__ = ["MOST_BYTES", "MOST_LINES", "Printer"]

MOST_LINES = 1_000
MOST_BYTES = 256 * 1024


class Printer:
    """The output of one rank.

    Parameters
    ----------
    rank : int
        Who prints.

    Attributes
    ----------
    tail : str
        The end of what it wrote to stderr, for an error that explains how it died.
    refusal : OSError or None
        Why something could not be shown, unless it is that nobody reads it any more.
    """

    def __init__(self, rank: int) -> None:
        self._prefix = f"[rank {rank}] "
        self._unfinished = {"stdout": b"", "stderr": b""}
        self._lines = 0
        self._n_bytes = 0
        self._dropped = 0
        self._tail = b""
        self.refusal: OSError | None = None

    @property
    def tail(self) -> str:
        """The end of what the rank wrote to stderr."""
        return self._tail.decode("utf-8", "replace").strip()

    def feed(self, stream: str, data: bytes) -> None:
        """Take bytes as they come and show the lines that they complete."""
        if stream == "stderr":
            self._tail = (self._tail + data)[-2_000:]
        if self._lines >= MOST_LINES:  # a flood costs no more than counting it
            self._dropped += data.count(b"\n")
            return
        *lines, rest = (self._unfinished[stream] + data).split(b"\n")
        shown = [self._render(line) for line in lines if self._may_show(line)]
        self._unfinished[stream] = rest[: MOST_BYTES + 1]
        self._write(stream, shown)

    def finish(self) -> None:
        """Show last lines that have no end, and say how much was dropped."""
        for stream, rest in self._unfinished.items():
            if rest and self._may_show(rest):
                self._write(stream, [self._render(rest)])
            self._unfinished[stream] = b""
        if self._dropped:
            self._write(
                "stdout",
                [
                    f"{self._prefix}... {self._dropped:,} more lines dropped (at most "
                    f"{MOST_LINES:,} lines and {MOST_BYTES // 1024} KiB are shown for each rank)\n"
                ],
            )
            self._dropped = 0

    def _may_show(self, line: bytes) -> bool:
        if self._lines >= MOST_LINES or self._n_bytes + len(line) > MOST_BYTES:
            self._dropped += 1
            self._lines = MOST_LINES  # nothing after the first line dropped, or it would mislead
            return False
        self._lines += 1
        self._n_bytes += len(line)
        return True

    def _render(self, line: bytes) -> str:
        # Of a line that was drawn over with carriage returns, a terminal shows the last state.
        last = line.rstrip(b"\r").rsplit(b"\r", 1)[-1]
        return f"{self._prefix}{last.decode('utf-8', 'replace')}\n"

    def _write(self, stream: str, lines: list[str]) -> None:
        if not lines:
            return
        target: TextIO | None = getattr(sys, stream)
        if target is not None:
            try:
                _write_all(target, "".join(lines))
                target.flush()
            except (BrokenPipeError, ValueError):  # nobody reads it any more; the run goes on
                pass
            except OSError as error:
                self.refusal = error


def _write_all(target: TextIO, text: str) -> None:
    """Write, with escapes for letters that the stream does not know."""
    try:
        target.write(text)
    except UnicodeEncodeError as error:
        target.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))
