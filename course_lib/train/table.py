"""The table of the epochs, a line at a time: each is printed when its epoch is over."""

from collections.abc import Sequence

from course_lib.train.problems import Kind
from course_lib.train.row import Row
from course_lib.words.tables import as_line
from course_lib.words.units import in_seconds

__all__ = ["EpochTable"]


class EpochTable:
    """Columns as wide as the widest that may come: who prints a line does not know the later ones.

    Parameters
    ----------
    kind : Kind
        What is trained: how its score is called and written.
    epochs : int
        The number of the last epoch.
    is_virtual : bool
        Whether seconds are the simulator's.
    kept : sequence of Row, default: ()
        The rows that come first, of a training that goes on. Where they have another clock, that is
        said beside their seconds.
    """

    def __init__(self, kind: Kind, epochs: int, is_virtual: bool, kept: Sequence[Row] = ()) -> None:
        self._kind, self._is_virtual = kind, is_virtual
        self._head = ("epoch", "loss", kind.score_name, "virtual time" if is_virtual else "time")
        widest = (f"{epochs}", "1.234e-05", "1.234e-05", "99.9 ms")
        self._widths = [
            max(len(name), len(cell)) for name, cell in zip(self._head, widest, strict=True)
        ]
        self._widths[-1] = max(self._widths[-1], *(len(self._time(row)) for row in kept), 0)

    @property
    def head(self) -> str:
        """The names of the columns."""
        return as_line(self._head, self._widths)

    def line(self, row: Row) -> str:
        """Write what an epoch came to."""
        cells = (
            f"{row.epoch}", f"{row.loss:.4g}", self._kind.score_in_words(row.score),
            self._time(row),
        )  # fmt: skip
        return as_line(cells, self._widths)

    def _time(self, row: Row) -> str:
        seconds = in_seconds(row.seconds)
        if row.is_virtual is None or row.is_virtual == self._is_virtual:
            return seconds
        return f"{seconds} {'virtual' if row.is_virtual else 'measured'}"
