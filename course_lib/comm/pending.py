"""What ``Communicator.start`` returns: a result that is still to come."""

from abc import ABC, abstractmethod
from typing import Generic, NoReturn, TypeVar

__all__ = ["Pending"]

T = TypeVar("T")


class Pending(ABC, Generic[T]):
    """The result of a function that runs beside its rank."""

    def __reduce__(self) -> NoReturn:
        """Refuse to travel."""
        raise TypeError("what start() returned lives in its rank; travel with what wait() returns")

    @abstractmethod
    def wait(self) -> T:
        """Wait until the function has returned; return what it returned, however often asked."""
