"""What a flow has begun and not yet waited for, and what is seen of each when it is over."""

from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit

__all__ = ["Posts"]


class Posts:
    """What ``isend`` and ``irecv`` have returned, in the order of posting."""

    def __init__(self) -> None:
        self._posts: list[tuple[Any, Callable[[Any], None]]] = []

    @property
    def pending(self) -> list[Any]:
        """What is waited for."""
        return [pending for pending, _ in self._posts]

    def add(self, pending: Any, see: Callable[[Any], None]) -> None:
        """Keep one more; ``see`` gets what its ``wait`` returns."""
        self._posts.append((pending, see))

    def settle(
        self,
        which: int | None = None,
        n_asked: int = 0,
        patient: bool = False,
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait for one, counted back from the last, or for all.

        Parameters
        ----------
        which : int or None, default: None
            Which one; None waits for all.
        n_asked : int, default: 0
            So often it is asked first whether it is over.
        patient : bool, default: False
            Whether it is then asked until it is.
        rest : callable, default: nothing
            Called between two questions.
        """
        count = 1 if which is not None else len(self._posts)
        for _ in range(min(count, len(self._posts))):
            index = 0 if which is None else -1 - which % len(self._posts)
            pending, see = self._posts.pop(index)
            over = any(pending.test() for _ in range(n_asked))
            while patient and not over and not pending.test():
                rest()
            see(pending.wait())

    def end(self, note: Callable[[BaseException], None] = lambda _: None) -> None:
        """Wait for all; what one raises is noted, and no other goes unheard for it."""
        while self._posts:
            pending, _ = self._posts.pop(0)
            try:
                pending.wait()
            except GreenletExit:  # the run is over
                raise
            except BaseException as error:
                note(error)
