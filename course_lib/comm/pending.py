"""What ``start``, ``isend`` and ``irecv`` return: a result that is still to come."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

from course_lib.comm.uncompiled import uncompiled_methods

__all__ = ["Pending", "Received"]

T = TypeVar("T")


class Pending(ABC, Generic[T]):
    """The result of a function, or of a message, that goes on beside its rank."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep the methods of every world out of ``torch.compile``."""
        super().__init_subclass__(**options)
        uncompiled_methods(cls)

    def __reduce__(self) -> NoReturn:
        """Refuse to travel."""
        raise TypeError(
            "what start(), isend() and irecv() return lives in its rank; "
            "travel with what wait() returns"
        )

    @abstractmethod
    def wait(self) -> T:
        """Wait until it is over; return what it came to, however often asked."""

    asked_s = -1.0
    """In the simulator, at which time ``test`` last said no, and how often it has said so then."""
    n_asked = 0

    @abstractmethod
    def test(self) -> bool:
        """Tell whether it is over, so that ``wait`` would return at once.

        Between two questions a rank is to compute, or to wait for something. In the simulator, a
        rank that asks the same thing twice at one instant lets its time pass until something
        happens; if nothing can happen any more but by itself, and it goes on asking, it is told
        that it waits for ever.
        """


class Received(Pending[T]):
    """A message that ``irecv`` receives, as the array that the learner asked for.

    Parameters
    ----------
    pending : Pending
        The message as its world has it.
    finish : callable
        Makes the array of that.

    Attributes
    ----------
    is_waited_for : bool
        Whether a ``wait`` has returned or raised.
    """

    is_waited_for = False

    def __init__(self, pending: Pending[Any], finish: Callable[..., T]) -> None:
        self._pending = pending
        self._finish = finish

    def wait(self) -> T:
        """Wait until the message is there; return it, however often asked."""
        try:
            return self._finish(*self._pending.wait())
        finally:
            self.is_waited_for = True

    def test(self) -> bool:
        """Tell whether it is there."""
        return self._pending.test()
