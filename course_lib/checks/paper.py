"""What is printed, however much it is: the beginning and the end of it."""

import io

__all__ = ["Paper"]

_MOST_PRINTED, _LAST_PRINTED = 1_000, 300


class Paper(io.TextIOBase):
    """Keep the beginning of what is printed, and the end, however much it is."""

    def __init__(self) -> None:
        self._begins, self._ends, self._n_lost = "", "", 0  # of lines

    def write(self, text: str) -> int:
        """Write, and forget what does not fit."""
        n_free = _MOST_PRINTED - len(self._begins)
        self._begins += text[:n_free]
        ends = self._ends + text[n_free:]
        self._ends = ends[-_LAST_PRINTED:]
        self._n_lost += ends[:-_LAST_PRINTED].count("\n")
        return len(text)

    @property
    def text(self) -> str:
        """What is there of it."""
        gap = f"\n... {self._n_lost:,} more lines\n" if self._n_lost else ""
        return self._begins + gap + self._ends
