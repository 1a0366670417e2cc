"""What ``Communicator.start`` returns: a result that is still to come."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

__all__ = ["Pending"]

T = TypeVar("T")


class Pending(ABC, Generic[T]):
    """The result of a function that runs beside its rank."""

    @abstractmethod
    def wait(self) -> T:
        """Wait until the function has returned; return what it returned, however often asked."""
