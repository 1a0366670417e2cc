"""A rank's end of all connections: a thread takes every letter that comes, flows wait for them.

A message of up to ``EAGER_BYTES`` is a letter. A larger one is announced by a letter; when its
receive is posted, the receiver asks for it by another, and the listening thread of the sender
begins to send, whatever the sender's flows do meanwhile. So nobody ever waits for a flow that is
not in the verb that is waited for.

On one computer a letter that is under way is announced in its receiver's mailbox, in shared memory:
a rank is asleep on the board only if it has read all that has been written to it.
"""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import count

import torch

from course_lib.comm.errors import LaunchTimeout, PeerFinishedError
from course_lib.comm.processes.board import Board
from course_lib.comm.processes.crew import Crew
from course_lib.comm.processes.flows import Call, Flow
from course_lib.comm.processes.mailbox import ANYONE, NOBODY, Mailbox
from course_lib.comm.torch_backend.letters import LONGEST, Kind, Letter, note, unpack
from course_lib.comm.torch_backend.transfers import Coming, Going
from course_lib.comm.torch_backend.wires import Wires

__all__ = ["TorchPort"]


class TorchPort(Crew):
    """A rank's connections, and its flows.

    Parameters
    ----------
    rank, size : int
        Whose they are, of how many.
    board : Board
        Where is written what its flows wait for.
    mailboxes : sequence of Mailbox
        Where letters are announced, by rank; empty if the ranks share no memory.
    meet : callable
        Connects the ranks.

    Attributes
    ----------
    wires : Wires
        The connections, once there are any.
    numbers : iterator of int
        Of the rank's messages.
    told : bytes or None
        What a rank that has failed told, where no launcher hears of it.
    deadline_s : float or None
        When whoever waits is to give up, on this computer's clock; None where the launcher sees
        to it.
    """

    wires: Wires
    told: bytes | None = None
    deadline_s: float | None = None

    def __init__(
        self, rank: int, size: int, board: Board, mailboxes: Sequence[Mailbox],
        meet: Callable[[], Wires],
    ) -> None:  # fmt: skip
        super().__init__(rank, size, board)
        self.numbers = count(1)
        self._mailboxes = mailboxes
        self._meet = meet
        self._peers = [peer for peer in range(size) if peer != rank]
        self._letters: dict[tuple[int, int], deque[tuple[int, Letter]]] = defaultdict(deque)
        self._asking = [threading.Lock() for _ in range(size)]
        self._going: dict[int, Going] = {}
        self._n_heard = 0
        self._finished: set[int] = set()
        self._stop: BaseException | None = None

    # Life

    def connect(self) -> None:
        """Meet the others, and take all letters from now on."""
        self.wires = self._meet()
        if self._peers:
            threading.Thread(target=self._listen, name="letters", daemon=True).start()

    def finish(self) -> None:
        """Tell all others that this rank will neither send nor receive any more."""
        for peer in self._peers:
            self._post(peer, note(Kind.FINISHED, self.rank))
        self.wires.flush()

    def stop(self, error: BaseException) -> None:
        """Let whatever waits here raise ``error``."""
        with self.turn:
            self._stop = self._stop or error
            self._wake_flows()

    def await_word(self, limit_s: float) -> None:
        """Wait for a moment until a rank that has failed says so."""
        with self.turn:
            self._changed.wait_for(lambda: self.told is not None, limit_s)

    def close(self) -> None:
        """Wait until nobody will write any more; then close what a program that goes on need not.

        A process that ends does without: whoever waits for it in a collective of the default group
        is to hear that at once, and its connections end with it.
        """
        with self.turn:
            while len(self._finished) < len(self._peers):
                if self._stop is not None:
                    raise self._stop
                self._changed.wait(self._left_s())
                self._check_deadline("until all ranks have returned")
        self.wires.close()

    def tell_failure(self, data: bytes) -> None:
        """Tell all others that this rank has failed, and how, where no launcher does."""
        for peer in self._peers:
            self._post(peer, note(Kind.FAILED, self.rank, data=data))
        self.wires.flush()

    def is_consequence(self, error: BaseException) -> bool:
        """Tell whether an exception says that a connection has broken, or timed out."""
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, torch.distributed.DistError) or "gloo/transport" in str(seen):
                return True
            seen = seen.__cause__ or seen.__context__
        return False

    # What comes in

    def _listen(self) -> None:
        buffer = torch.empty(LONGEST, dtype=torch.uint8)
        view = buffer.numpy().data
        try:
            while len(self._finished) < len(self._peers):
                self.wires.next_letter(buffer)
                self._hear(unpack(view))
        except Exception as error:
            self.stop(error)

    def _hear(self, letter: Letter) -> None:
        with self.turn:
            self._n_heard += 1
            if letter.kind == Kind.MESSAGE:
                self._letters[letter.src, letter.channel].append((self._n_heard, letter))
            elif letter.kind == Kind.ACCEPT:
                going = self._going.pop(letter.number)
                going.work = self.wires.send(
                    going.payload, going.dst, going.number, on_device=going.on_device
                )
            elif letter.kind == Kind.FAILED:
                self.told = letter.data
                self._stop = ConnectionAbortedError(f"rank {letter.src} has failed")
            else:
                self._finished.add(letter.src)
            self._wake_flows()

    # What goes out

    def _post(self, dst: int, letter: bytearray) -> None:
        if self._mailboxes:
            self._mailboxes[dst].announce()
        self.wires.post(letter, dst)

    def _ask(self, coming: Coming, letter: Letter) -> None:
        # NCCL has no tags: what is asked for first is received first.
        with self._asking[coming.src]:
            self._post(coming.src, note(Kind.ACCEPT, self.rank, letter.number))
            coming.work = self.wires.receive(
                coming.room, coming.src, letter.number, on_device=letter.on_device
            )

    # Messages

    def drive(self, flow: Flow, call: Call, going: Going | None, coming: Coming | None) -> None:
        """Send and receive, and wait until both are done."""
        if going is not None:
            if going.waits:
                self._going[going.number] = going
            self._post(going.dst, going.letter)
            if coming is None and not going.waits:
                return
        while self._step(flow, call, going, coming):
            if coming is not None and coming.letter is not None and coming.may_be_asked_for:
                self._ask(coming, coming.letter)
        if coming is not None:
            coming.finish()
        if going is not None and going.work is not None:
            going.work.wait()

    def _step(self, flow: Flow, call: Call, going: Going | None, coming: Coming | None) -> bool:
        """Go on as far as letters allow; return whether there is more to ask or to wait for."""
        with self.turn:
            if coming is not None and coming.letter is None:
                self._open(coming)
            src = NOBODY if coming is None or coming.letter is not None else coming.src
            unasked = going is not None and going.waits and going.work is None
            dst = going.dst if going is not None and unasked else NOBODY
            if coming is not None and coming.may_be_asked_for:
                self._went_on(flow)
                return True
            if src == NOBODY and dst == NOBODY:
                self._went_on(flow)
                return False
            channel = 0 if coming is None else coming.channel
            self._rest(flow, call.still(src, dst), channel)
            return True

    def _open(self, coming: Coming) -> None:
        letters = self._letters.get((coming.src, coming.channel))
        if letters:
            coming.open(letters[0][1])
            letters.popleft()

    def first_arrived(self, flow: Flow, call: Call, channel: int, members: Iterable[int]) -> int:
        """Wait for a message from any of ``members``; return who sent the first."""
        with self.turn:
            while True:
                waiting = ((self._letters.get((src, channel)), src) for src in members)
                arrived = [(letters[0][0], src) for letters, src in waiting if letters]
                if arrived:
                    self._went_on(flow)
                    return min(arrived)[1]
                self._rest(flow, call, channel)

    # Waiting

    def _rest(self, flow: Flow, call: Call, channel: int) -> None:
        """Wait until a letter comes, or another flow has moved something."""
        flow.idle_since_s = flow.idle_since_s or time.perf_counter()
        if gone := self._gone(call, channel):
            text = call.explain_gone(self.rank, gone, flow.entered())
            raise PeerFinishedError(text, rank=self.rank)
        flow.call = call
        self._board.waits(self.rank, flow.number, call.verb, call.src, call.dst)
        self._doze(flow)
        flow.call = None
        self._board.goes_on(self.rank, flow.number)

    def _doze(self, flow: Flow) -> None:
        if self._stop is not None:
            raise self._stop
        if self._mailboxes:
            self._mailboxes[self.rank].lie_down(self._n_heard)
        self._dozing.add(flow)
        self._changed.wait(self._left_s())
        if flow.call is not None:
            self._check_deadline(f"in {flow.call.written(flow.name)}")

    def _left_s(self) -> float | None:
        return None if self.deadline_s is None else max(self.deadline_s - time.monotonic(), 0)

    def _check_deadline(self, where: str) -> None:
        if self._left_s() == 0:
            raise LaunchTimeout(
                f"rank {self.rank} still waits {where} when the time limit passes; look for a rank "
                "that does not do its part, or raise time_limit_s",
                rank=self.rank,
            )

    def _gone(self, call: Call, channel: int) -> list[int]:
        """List the ranks that have returned, and left nothing, without which it cannot end."""
        sources = list(call.missing) or [call.src]
        left = [
            src for src in sources
            if src in self._finished and not self._letters.get((src, channel))
        ]  # fmt: skip
        if call.src == ANYONE:
            return left if len(left) == len(sources) else []
        return left + [call.dst] * (call.dst in self._finished)
