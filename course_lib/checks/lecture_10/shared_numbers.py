"""Finding a race that the simulator has not: several ranks that add to one shared number."""

from typing import Any

from numpy.typing import NDArray

__all__ = ["SharedNumbers"]

Vector = NDArray[Any]


class SharedNumbers:
    """Shared arrays of one number: whether this rank changes one that others change, too.

    In the simulator nothing gets lost in ``count[0] += 1``, on real cores it does. While a rank
    computes it changes nothing, so what is another value afterwards has been changed by another.
    """

    SAYS = "a shared number that this rank and another change"

    def __init__(self) -> None:
        self._arrays: list[Vector] = []
        self._known: list[Any] = []
        self._mine: set[int] = set()
        self._others: set[int] = set()

    def add(self, array: Vector) -> None:
        """Look at an array from now on, if it is one number."""
        if array.size == 1:
            self._arrays.append(array)

    def look_before(self) -> None:
        """Find what this rank has changed since it computed last."""
        self._mine |= self._changed()

    def look_after(self) -> None:
        """Find what others have changed while it computed; refuse what it changes as well."""
        self._others |= self._changed()
        if self._mine & self._others:
            raise ValueError(self.SAYS)

    def _changed(self) -> set[int]:
        now = [array.item() for array in self._arrays]
        changed = {k for k, value in enumerate(self._known) if value != now[k]}
        self._known = now
        return changed
