"""How the shared memory of a run is divided: mailboxes, a board for reports, and the rings.

::

    | mailbox of rank 0 | ... | mailbox of rank P-1 | board | ring 0->1 | ring 0->2 | ... |

There is one ring for each ordered pair of ranks. All of them together are at most 24 MiB where that
gives each 20 KiB (up to 35 workers); 2 MiB each for up to 4 workers. Larger ones are no faster,
smaller ones are slower: with 512 KiB an all-reduce of 64 MB takes half as long again.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.comm.processes.memory.mailbox import Mailbox, Slots, awake, is_asleep, mailbox_words
from course_lib.comm.processes.memory.rings import Inlet, Outlet
from course_lib.comm.processes.memory.shared_arrays import Arena
from course_lib.comm.processes.memory.unexpected import Bytes
from course_lib.comm.processes.memory.wait_board import RankState, WaitBoard

if TYPE_CHECKING:
    from course_lib.comm.processes.worker.setup import Shared

__all__ = [
    "Channels", "channels_of", "front_bytes", "prepare", "rank_states", "read_board", "ring_bytes",
    "total_bytes",
]  # fmt: skip

_PAGE = 4096
_ALL_RINGS = 24 * 1024 * 1024
_LARGEST_RING = 2 * 1024 * 1024
_SMALLEST_RING = 5 * _PAGE  # an eager message of 16 KiB and its header


def ring_bytes(size: int) -> int:
    """Return how large one ring is among ``size`` ranks."""
    pairs = max(size * (size - 1), 1)
    share = _ALL_RINGS // pairs // _PAGE * _PAGE
    return max(_SMALLEST_RING, min(_LARGEST_RING, share))


def front_bytes(size: int) -> int:
    """Return how much memory the mailboxes and the board of ``size`` ranks need."""
    words = size * mailbox_words(size) + size * WaitBoard.WORDS
    return -(-8 * words // _PAGE) * _PAGE


def total_bytes(size: int) -> int:
    """Return how much shared memory ``size`` ranks need."""
    return front_bytes(size) + size * (size - 1) * ring_bytes(size)


class Channels:
    """The mailboxes, the board and the rings, as objects over the shared memory.

    Parameters
    ----------
    memory : memoryview
        The whole segment.
    locks, bells : sequence of Semaphore
        Two for each rank.
    arena : Arena
        Where the board goes on if a rank starts much.
    """

    def __init__(
        self, memory: memoryview, locks: Sequence[Any], bells: Sequence[Any], arena: Arena
    ) -> None:
        self.size = len(locks)
        self.slots = Slots(self.size)
        step = mailbox_words(self.size)
        front = memory[: front_bytes(self.size)].cast("q")
        self.mailboxes = [
            Mailbox(front[rank * step : (rank + 1) * step], locks[rank], bells[rank], self.slots)
            for rank in range(self.size)
        ]
        board = self.size * step
        self.board = WaitBoard(front[board : board + self.size * WaitBoard.WORDS], arena)
        self._rings = np.frombuffer(memory, np.uint8, offset=front_bytes(self.size))

    def outlets(self, rank: int) -> dict[int, Outlet]:
        """Return ``rank``'s ends for sending, by destination."""
        peers = (peer for peer in range(self.size) if peer != rank)
        return {dst: Outlet(rank, dst, self._ring(rank, dst), self.mailboxes[dst]) for dst in peers}

    def inlets(self, rank: int) -> dict[int, Inlet]:
        """Return ``rank``'s ends for receiving, by source."""
        peers = (peer for peer in range(self.size) if peer != rank)
        return {
            src: Inlet(rank, src, self._ring(src, rank), self.mailboxes[src], self.board)
            for src in peers
        }

    def _ring(self, src: int, dst: int) -> Bytes:
        capacity = ring_bytes(self.size)
        index = src * (self.size - 1) + dst - (dst > src)
        return self._rings[index * capacity : (index + 1) * capacity]


def channels_of(shared: "Shared") -> Channels:
    """Return the channels over what the processes of a run have in common."""
    return Channels(shared.segment.memory, shared.locks, shared.bells, shared.arena)


def prepare(memory: memoryview, size: int) -> None:
    """Mark the mailboxes in new shared memory as ones whose owners do not sleep."""
    with memory[: front_bytes(size)] as front, front.cast("q") as words:
        for rank in range(size):
            awake(words, rank * mailbox_words(size))


def read_board(memory: memoryview, size: int, arena: Arena) -> WaitBoard:
    """Return a copy of the board as it is now."""
    board = WaitBoard(_board_words(memory, size), arena)
    pages = {
        (rank, number): memoryview(bytes(page)).cast("q")
        for rank in range(size)
        for number, page in enumerate(board.pages(rank), start=1)
    }
    # The stamps come last: where they are the old ones, so is what has been read before them.
    return WaitBoard(_board_words(memory, size) if pages else board.words, None, pages)


def _board_words(memory: memoryview, size: int) -> memoryview:
    start = 8 * size * mailbox_words(size)
    return memoryview(bytes(memory[start : start + 8 * size * WaitBoard.WORDS])).cast("q")


def rank_states(memory: memoryview, size: int, arena: Arena) -> list[RankState]:
    """Return what each rank does or waits for now, by rank."""
    board, step = read_board(memory, size, arena), mailbox_words(size)
    with memory[: front_bytes(size)] as front, front.cast("q") as words:
        return [board.state(rank, asleep=is_asleep(words, rank * step)) for rank in range(size)]
