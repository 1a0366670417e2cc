"""A message on its way in that may be given up in the middle, or be nobody's any more."""

from collections.abc import Sequence

from course_lib.comm.processes.memory.transfers import Receiving

__all__ = ["RenewedReceiving"]


class RenewedReceiving(Receiving):
    """The receive of a rank whose peers may be lost."""

    __slots__ = ()

    @property
    def is_stamped(self) -> bool:
        """Whether it is received in a collective."""
        return self._wanted.stamp != 0

    @property
    def is_of_another_time(self) -> bool:
        """Whether it was sent in a collective, and is received in none."""
        return self.header is not None and self.header.stamp != 0 and not self.is_stamped

    @property
    def comm(self) -> str:
        """The name of the communicator on which it is received."""
        return self._comm.name

    @property
    def members(self) -> Sequence[int]:
        """The ranks of the communicator on which it is received."""
        return self._comm._members

    def renew(self) -> None:
        """Wait for the next message: this one was not meant for anybody any more."""
        self.header, self.refusal = None, None
        self.done, self._next = False, 0

    def leave(self, why: Exception) -> None:
        """Have the rest of the message go nowhere."""
        self._flat, self.refusal = None, why

    def goes_nowhere_on(self) -> bool:
        """Take out what there is of a message that was left; return whether that was the rest."""
        assert self.header is not None
        self._take(self.header)
        return self.done
