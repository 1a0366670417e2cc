"""The verbs of a simulated rank: what each does to the clocks, the cards and the heap.

A verb posts its parts (a send, a receive, or both at once), and every part ends at a known time as
soon as its message has started. Then the rank's clock goes to the end of the last part.
"""

import math
from collections import deque
from heapq import heappop, heappush, heapreplace
from operator import attrgetter
from sys import modules
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.failures import Failure
from course_lib.comm.messages import OPS, Envelope, Tag, check_match
from course_lib.comm.shipping import load_call
from course_lib.comm.simulated.letters import ANY, Letter
from course_lib.comm.simulated.switching import TORCH, refuse_inside_backward, switch_to
from course_lib.comm.simulated.watchdog import TimeIsUp

if TYPE_CHECKING:
    from course_lib.comm.simulated.world import World

__all__ = ["SimulatedCommunicator"]


class SimulatedCommunicator(Communicator):
    """One rank: its clock, its card, its letter box, and the greenlet that its function runs in.

    Attributes
    ----------
    thread : greenlet
        Where the rank's function runs (a thread of control, not one of the operating system's).
    caller : greenlet or None
        The same while verbs may be called, else None.
    now_s, posted_s : float
        The rank's clock, and what it was when the verb began.
    card_free_s : float
        When the receiving side of its card is free. (The sending side always is when a rank posts,
        because ``send`` returns no earlier.)
    verb : str
        What it is in, or was in last.
    open_parts : int
        How many parts of that verb still wait for another rank.
    done_s : float
        The end of those of its parts that are settled.
    listens_to : int or None
        The rank it waits to hear from, or ``ANY``.
    sends_to : int or None
        The rank that has not yet posted the receive of what this one sends.
    """

    def __init__(self, rank: int, world: "World") -> None:
        super().__init__(rank, world.size, world.seed)
        self.world = world
        self.thread = greenlet(self._live)
        self.caller: greenlet | None = self.thread
        self.speed = world.flops_per_s[rank]
        self.log = world.log
        self.now_s = self.posted_s = self.done_s = self.card_free_s = 0.0
        self.verb = "start"
        self.tag: Tag = None
        self.open_parts = 0
        self.listens_to: int | None = None
        self.sends_to: int | None = None
        self.inbox: dict[int, deque[Letter]] = {}
        self.letter: Letter | None = None
        self.value: Any = None
        self.finished = False
        self.refusals = 0
        self.n_collectives = 0

    # The life of a rank

    def _live(self) -> None:
        world = self.world
        try:
            switch_to(world.loop)  # begun, and back in the loop until it is this rank's turn
            fn, args = load_call(world.packed_call, self.rank)
            self.value = fn(self, *args)
            self.finished = True
        except (KeyboardInterrupt, TimeIsUp):
            raise  # in the loop, which is this greenlet's parent
        except BaseException as error:
            if not world.ending:
                world.failure = Failure.of(error, self.rank, self.now_s)
        finally:
            self.caller = None

    def _begin(self, verb: str, tag: Tag = None) -> None:
        if getcurrent() is not self.caller:
            self.world.refuse(self, verb)
        if TORCH in modules:
            refuse_inside_backward(self.rank, verb)
        self.verb = verb
        self.tag = tag
        self.posted_s = self.done_s = self.now_s

    def _end(self, peer: int | None) -> None:
        """Let the clock go to the end of the verb, waiting for other ranks if need be."""
        if self.open_parts:
            self._sleep()
        else:
            self._advance(self.done_s)
        if self.log is not None and self.now_s > self.posted_s:
            self.log.waits.append((self.rank, self.verb, peer, self.posted_s, self.now_s, "world"))

    def _advance(self, to_s: float) -> None:
        """Move the clock on; let others run first if that makes one of them the smallest."""
        self.now_s = to_s
        world = self.world
        heap = world.heap
        if heap and heap[0] < (to_s, self.rank):
            _, smallest = heapreplace(heap, (to_s, self.rank))
            switch_to(world.ranks[smallest].thread)

    def _sleep(self) -> None:
        """Let others run until one of them has completed the last open part."""
        world = self.world
        if world.heap:
            _, smallest = heappop(world.heap)
            switch_to(world.ranks[smallest].thread)
        else:
            switch_to(world.loop)  # nobody can go on
        self.now_s = self.done_s

    def _wake(self, done_s: float) -> None:
        """Settle one open part; another rank calls this. After the last one, go on."""
        self.done_s = max(self.done_s, done_s)
        self.open_parts -= 1
        if not self.open_parts:
            heappush(self.world.heap, (self.done_s, self.rank))

    # Messages

    def _post_send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None:
        receiver = self.world.ranks[dst]
        letter = Letter(data.copy(), sent, self.rank, self.now_s)
        if receiver.listens_to == self.rank or receiver.listens_to == ANY:
            self.done_s = self._transfer(letter, receiver, self.now_s)
            receiver.listens_to = None
            receiver.letter = letter
            receiver._wake(letter.arrived_s)
            return
        receiver.inbox.setdefault(self.rank, deque()).append(letter)
        if data.nbytes <= self.world.eager_bytes:
            self.done_s = self._transfer(letter, receiver, self.now_s)
        else:
            self.sends_to = dst
            self.open_parts += 1

    def _post_recv(self, src: int) -> None:
        letters = self.inbox.get(src)
        if not letters:
            self.listens_to = src
            self.open_parts += 1
            return
        letter = self.letter = letters.popleft()
        if letter.arrived_s == math.inf:
            sender = self.world.ranks[src]
            sender.sends_to = None
            sender._wake(sender._transfer(letter, self, self.now_s))
        self.done_s = max(self.done_s, letter.arrived_s)

    def _transfer(self, letter: Letter, receiver: "SimulatedCommunicator", start_s: float) -> float:
        """Let a message start, from this rank: return when its card is free again."""
        data = letter.data
        busy_s = data.nbytes * self.world.beta_s_per_byte
        arrived_s = max(start_s + self.world.alpha_s, receiver.card_free_s) + busy_s
        letter.arrived_s = receiver.card_free_s = arrived_s
        if self.log is not None:
            tag, dtype, shape, _ = letter.sent
            letter.number = len(self.log.messages)
            self.log.messages.append(
                (self.rank, receiver.rank, tag, dtype, shape, data.nbytes,
                 letter.posted_s, start_s + busy_s, arrived_s)
            )  # fmt: skip
            self.log.received_s.append(None)
        return start_s + busy_s

    def _take(
        self, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        """Open the letter that has been received."""
        letter, self.letter = self.letter, None
        assert letter is not None
        if self.log is not None:
            self.log.received_s[letter.number] = self.now_s
        check_match(letter.sent, letter.src, self.rank, tag, out)
        if out is None:
            return letter.data, letter.sent
        if op is None:
            out[...] = letter.data
        else:
            OPS[op](out, letter.data, out=out)
        return out, letter.sent

    def _send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None:
        self._begin("send", sent.tag)
        self._post_send(data, sent, dst)
        self._end(dst)

    def _recv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        self._begin("recv", tag)
        self._post_recv(src)
        self._end(src)
        return self._take(out, op, tag)

    def _sendrecv(
        self,
        data: NDArray[Any],
        sending: Envelope,
        dst: int,
        src: int,
        out: NDArray[Any] | None,
        op: str | None,
    ) -> tuple[NDArray[Any], Envelope]:
        self._begin("sendrecv", sending.tag)
        self._post_send(data, sending, dst)
        self._post_recv(src)
        self._end(src)
        return self._take(out, op, None)

    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]:
        self._begin("recv_any")
        first = self._first()
        if first is not None and self.now_s < first.arrived_s < math.inf:
            # What is sent from now on cannot arrive earlier, but perhaps in the same instant.
            self._advance(first.arrived_s)
            self.done_s = self.now_s
            first = self._first()
        self._post_recv(ANY if first is None else first.src)
        self._end(None)
        letter = self.letter
        assert letter is not None
        data, sent = self._take(None, None, None)
        return letter.src, data, sent

    def _first(self) -> Letter | None:
        """Find the message that arrives first, or was posted first if none has started."""
        heads = [letters[0] for letters in self.inbox.values() if letters]
        on_their_way = [head for head in heads if head.arrived_s < math.inf]
        if on_their_way:
            return min(on_their_way, key=attrgetter("arrived_s", "src"))
        return min(heads, key=attrgetter("posted_s", "src"), default=None)

    def _barrier(self) -> None:
        self._begin("barrier")
        waiting = self.world.in_barrier
        if len(waiting) == self.size - 1:  # the last one, and so the latest
            for other in waiting:
                other._wake(self.now_s)
            waiting.clear()
        else:
            waiting.append(self)
            self.open_parts += 1
        self._end(None)

    # What only this rank sees

    def _computed(self, label: str, flops: float, started_s: float) -> None:
        self._begin("compute")
        self._advance(started_s + flops / self.speed)
        if self.log is not None:
            self.log.computes.append((self.rank, label, flops, started_s, self.now_s))

    def _note(self, name: str, value: Any) -> None:
        if self.log is not None:
            self.log.notes.append((self.rank, name, value, self.now_s))

    def _clock(self) -> float:
        return self.now_s

    def _collective(self, name: str, entered_s: float) -> None:
        number = self.n_collectives
        self.n_collectives += 1
        if self.log is not None:
            self.log.collectives.append((self.rank, name, number, entered_s, self.now_s, "world"))
