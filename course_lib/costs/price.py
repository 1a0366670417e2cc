"""What a collective asks of a network, and the seconds that follow from it."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from course_lib.costs.bounds import AtMost
from course_lib.costs.checking import checked, duration, ranks
from course_lib.words.split import split_evenly

__all__ = ["EAGER_BYTES", "Items", "Price", "chunk_sizes", "in_rounds"]

EAGER_BYTES = 16 * 1024
"""Up to this size a send does not wait for its receive, in every world."""


class Items(NamedTuple):
    """What is sent: how large its elements are, and which messages of them wait.

    Attributes
    ----------
    n_bytes : int
        Bytes of one element.
    eager_bytes : int
        A message of more bytes waits for its receive.
    """

    n_bytes: int
    eager_bytes: int

    def wait(self, length: int) -> bool:
        """Say whether a message of ``length`` elements waits for its receive.

        Parameters
        ----------
        length : int
            Elements of one message: of a chunk or a segment, not of the vector it is cut from.

        Returns
        -------
        bool
            Whether it has more bytes than are sent without waiting.
        """
        return length * self.n_bytes > self.eager_bytes


@dataclass(frozen=True)
class Price:
    """The price of one call of a collective: whole numbers, exact for any length.

    Attributes
    ----------
    rounds : int
        How many rounds the algorithm goes in, as its docstring counts them.
    latencies : int
        How many times alpha the last byte has waited for: the longest chain in which each message
        is sent after the one before has arrived. Usually the rounds; at most so many where not
        ``is_exact``.
    messages : int
        Messages in all.
    bytes_sent, bytes_received : tuple of int
        Bytes of each rank, by rank.
    link_bytes : int
        Bytes on the busiest link, that is from one rank to another.
    message_bytes : int
        Bytes of the largest message.
    serial_bytes : int
        The sum over the rounds of the bytes on that round's busiest NIC, which pass it one after
        the other; an upper bound where not ``is_exact``.
    is_exact : bool
        Whether ``time_s`` is what the simulator's clock shows for one call that all ranks enter
        together; otherwise it is an upper bound, because some messages of one round travel while
        others wait. In a loop, a call may begin while the one before is ending.
    """

    rounds: int
    latencies: int
    messages: int
    bytes_sent: tuple[int, ...]
    bytes_received: tuple[int, ...]
    link_bytes: int
    message_bytes: int
    serial_bytes: int
    is_exact: bool = True

    def __repr__(self) -> str:
        """Summarise, however many ranks there are."""
        in_all = f"{self.rounds:,} rounds, {self.messages:,} messages, {self.total_bytes:,} bytes"
        at_most = "" if self.is_exact else "at most "
        busiest = f"{max(self.bytes_sent):,} sent by the busiest rank"
        return f"Price({in_all}; {busiest}, {at_most}{self.serial_bytes:,} in turn)"

    @property
    def total_bytes(self) -> int:
        """Bytes of all messages together."""
        return sum(self.bytes_sent)

    @checked(alpha_s=duration, beta_s_per_byte=duration)
    def time_s(self, alpha_s: float, beta_s_per_byte: float) -> float:
        """Return how long it takes on a network of which two numbers are known.

        Parameters
        ----------
        alpha_s : float
            Seconds from sending a message's first byte until it arrives.
        beta_s_per_byte : float
            Seconds that a NIC is busy with one byte.

        Returns
        -------
        float
            Seconds: ``latencies * alpha_s + serial_bytes * beta_s_per_byte``; an ``AtMost`` where
            not ``is_exact``.

        Examples
        --------
        >>> from course_lib.costs import price
        >>> round(price("allreduce_ring", size=4, n_bytes=1_000_000).time_s(2e-5, 1e-9), 6)
        0.00162
        """
        seconds = self.latencies * alpha_s + self.serial_bytes * beta_s_per_byte
        return seconds if self.is_exact else AtMost(seconds)

    @checked(item_bytes=ranks)
    def times(self, item_bytes: int) -> "Price":
        """Return the price in bytes of one that counts elements.

        Parameters
        ----------
        item_bytes : int
            Bytes of an element.

        Returns
        -------
        Price
            The same messages, each ``item_bytes`` times as long.
        """
        return replace(
            self,
            bytes_sent=tuple(item_bytes * length for length in self.bytes_sent),
            bytes_received=tuple(item_bytes * length for length in self.bytes_received),
            link_bytes=item_bytes * self.link_bytes,
            message_bytes=item_bytes * self.message_bytes,
            serial_bytes=item_bytes * self.serial_bytes,
        )


def chunk_sizes(length: int, n_parts: int) -> list[int]:
    """Return how long the parts are that ``split_evenly`` cuts."""
    return [part.stop - part.start for part in split_evenly(length, n_parts)]


def in_rounds(
    rounds: int, messages: int, sent: list[int], received: list[int], *,
    link: int, message: int, serial: int, latencies: int | None = None, is_exact: bool = True,
) -> Price:  # fmt: skip
    """Return a price in elements, with as many latencies as rounds unless they are told."""
    waits = rounds if latencies is None else latencies
    return Price(
        rounds, waits, messages, tuple(sent), tuple(received), link, message, serial, is_exact
    )
