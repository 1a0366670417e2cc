"""Take one rank's part in a random program; the same text in every world.

Every rank returns a log of what it has seen. Where what must come is known, the log says ``WRONG``
where something else came, so that one world alone can be judged, too.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
from greenlet import GreenletExit

from course_lib.comm.errors import PeerFinishedError, RunError
from tests.fuzz import modes
from tests.fuzz import program as p
from tests.fuzz.arrays import make, observe, plain_values, spoil
from tests.fuzz.collectives import call, expected
from tests.fuzz.expected import place_in_group, wrong_receive
from tests.fuzz.layouts import empty_like, filled
from tests.fuzz.posts import Posts

__all__ = ["STAYS_AFTER", "perform"]

STAYS_AFTER = frozenset({"op"})
"""After which refusals the message is still there: the argument alone was wrong. After the others
it is gone, and the next receive gets the next message."""

_OPS = {"sum": np.add, "max": np.maximum, "min": np.minimum}

Log = list[Any]


def perform(comm: Any, programs: list[p.Program], naps: bool, careful: bool = False) -> list[Log]:
    """Take this rank's part in one program after the other; return a log for each."""
    logs: list[Log] = []
    for program in programs:
        flow = Flow(comm, naps, careful, main=True)
        logs.append(flow.log)
        flow.take_carefully(program.steps)
        flow.log.append(("end", modes.probe(whole_process=True)))
    return logs


class Flow:
    """One flow of a rank: its function, or one that it has started."""

    def __init__(
        self, comm: Any, naps: bool, careful: bool, main: bool, posts: Posts | None = None
    ) -> None:
        self.comm = comm
        self.careful = careful
        self.log: Log = []
        self._naps = naps
        self._main = main
        self.posts = Posts() if posts is None else posts
        self._pending: list[Any] = []
        self._waited: set[int] = set()

    def take_carefully(self, steps: p.Steps) -> None:
        """Take this rank's part in the steps; where it fails, note that, and end as if it had not.

        So a run shows all ranks that fail by themselves, of which any may be the first.
        """
        from tests.fuzz.faults import Left

        try:
            self.take(steps)
            if self._main:
                self.posts.settle()
        except Left:
            pass
        except GreenletExit:  # the run is over
            raise
        except BaseException as error:
            if not self.careful:
                raise
            self.comm.note("failed", type(error).__name__)
            self.posts.end()
        if self.careful:  # else the library waits for what is left, and may raise
            self.posts.end(lambda error: self.comm.note("failed", type(error).__name__))

    def take(self, steps: p.Steps) -> None:
        """Take this rank's part in the steps."""
        for step in steps:
            _DO[type(step)](self, step)

    def _got(self, value: Any, wanted: np.ndarray | None, out: Any = None) -> None:
        seen = observe(value)
        self.log.append(seen)
        if wanted is not None and seen[1:4] != observe(wanted)[1:4]:
            self.log.append(("WRONG", seen, observe(wanted), wanted.reshape(-1)[:5].tolist()))
        if out is not None and value is not out:
            self.log.append(("WRONG", "out was given, another array came back"))
        if seen[0] == "torch" and out is None and seen[5]:
            self.log.append(("WRONG", "what came in a message requires grad"))

    def message(self, step: p.Message) -> None:
        """Send, or receive."""
        src, dst = self._pair(step)
        if src == dst:
            return
        if self.comm.rank == src:
            array = make(step.array, src)
            if step.isend:
                self._post_send(array, dst, step.tag)
            else:
                self.comm.send(array, dst, tag=step.tag)
        elif self.comm.rank == dst:
            out, wanted = self._out(step, src)
            tag = step.tag if step.named else None
            if step.irecv:
                self._post_receive(src, out, step.op, tag, wanted)
            else:
                self._got(self.comm.recv(src, out=out, op=step.op, tag=tag), wanted, out)

    def _post_send(self, array: Any, dst: int, tag: Any) -> None:
        self.posts.add(self.comm.isend(array, dst, tag=tag), lambda _: spoil(array))

    def _post_receive(self, src: int, out: Any, op: Any, tag: Any, wanted: np.ndarray) -> None:
        coming = self.comm.irecv(src, out=out, op=op, tag=tag)
        self.posts.add(coming, lambda got: self._got(got, wanted, out))

    def settle(self, step: p.Settle) -> None:
        """Wait for messages that were begun."""
        self.posts.settle(step.which, step.n_asked, step.patient, lambda: self._sleep(1))

    def _pair(self, step: Any) -> tuple[int, int]:
        size = self.comm.size
        src, dst = step.src % size, step.dst % size
        return src, (dst + (src == dst)) % size

    def _out(self, step: Any, src: int) -> tuple[Any, np.ndarray]:
        """Return what to receive into, and what must be in it then."""
        values = plain_values(step.array, src)
        if step.out is None:
            return None, values
        if step.op is None:
            return empty_like(values, step.out), values
        own = plain_values(replace(step.array, salt=step.array.salt + 1), src)
        return filled(own, step.out), np.asarray(_OPS[step.op](own, values)).astype(values.dtype)

    def collect(self, step: p.Collect) -> None:
        """Receive from everybody, in the order of arrival."""
        dst, came = step.dst % self.comm.size, []
        self.posts.settle()
        if self.comm.rank != dst:
            self.comm.send(make(step.array, self.comm.rank), dst)
        else:
            came = sorted(
                (self.comm.recv_any() for _ in range(self.comm.size - 1)), key=itemgetter(0)
            )
        for src, array in came:
            self.log.append(src)
            self._got(array, plain_values(step.array, src))
        self.comm.barrier()

    def exchange(self, step: p.Exchange) -> None:
        """Send to the right while receiving from the left."""
        size, rank = self.comm.size, self.comm.rank
        shift = step.shift % size
        if shift:
            dst, src = (rank + shift) % size, (rank - shift) % size
            out, wanted = self._out(step, src)
            array = make(step.array, rank)
            if step.posted:
                self._post_send(array, dst, step.tag)
                self._post_receive(src, out, step.op, None, wanted)
                return
            got = self.comm.sendrecv(array, dst, src, out=out, op=step.op, tag=step.tag)
            self._got(got, wanted, out)

    def barrier(self, step: p.Barrier) -> None:
        """Meet the others."""
        self.comm.barrier()

    def collective(self, step: p.Collective) -> None:
        """Call a collective."""
        result, out = call(self.comm, step)
        wanted = expected(step, self.comm.rank, self.comm.size)
        self._got(result, wanted, out)

    def refused(self, step: p.Refused) -> None:
        """Receive what does not fit, and go on with the next message."""
        src, dst = self._pair(step)
        second = replace(step.array, salt=step.array.salt + 1)
        if src == dst:
            return
        if self.comm.rank == src:
            self.comm.send(make(step.array, src), dst, tag=1)
            if step.then:
                self.comm.send(make(second, src), dst, tag=2)
        elif self.comm.rank == dst:
            wrong = wrong_receive(step)
            came = [step.array] * (step.wrong in STAYS_AFTER) + [second] * step.then
            try:
                if step.irecv:
                    coming = self.comm.irecv(src, **wrong)
                    for each in came:
                        self._post_receive(src, None, None, None, plain_values(each, src))
                    came = []
                    coming.wait()
                else:
                    self.comm.recv(src, **wrong)
                self.log.append(("WRONG", f"a receive with {sorted(wrong)} was not refused"))
            except (RunError, TypeError) as error:
                kind = type(error).__name__ if isinstance(error, RunError) else "TypeError"
                # Of one who has returned each world tells what it knows.
                says = "" if isinstance(error, PeerFinishedError) else str(error)
                self.log.append(("refused", kind, says))
            for each in came:
                self._got(self.comm.recv(src), plain_values(each, src))

    def split(self, step: p.Split) -> None:
        """Take the steps in groups."""
        rank = self.comm.rank
        color, key = step.colors[rank % len(step.colors)], step.keys[rank % len(step.keys)]
        group = self.comm.split(color, key)
        wanted = None if color is None else place_in_group(step, rank, self.comm.size)
        got = None if group is None else (group.rank, group.size)
        if wanted != got:
            self.log.append(("WRONG", f"split gave {got}, expected {wanted}"))
        if group is None:
            self.log.append("in no group")
            return
        inside = Flow(group, self._naps, self.careful, self._main, self.posts)
        inside.take(step.steps)
        self.log.append((group.name, group.rank, group.size, inside.log))

    def start(self, step: p.Start) -> None:
        """Start a function that takes the steps."""
        before = self._pending[-1 - step.after % len(self._pending)] if (
            step.after is not None and self._pending
        ) else None  # fmt: skip
        late_ms = step.skew_ms[self.comm.rank % len(step.skew_ms)] if self._naps else 0
        first = [*self.posts.pending] if step.settles else []
        first += [] if before is None else [before]
        self._pending.append(
            self.comm.start(_beside, step.steps, first, late_ms, self._naps, self.careful)
        )

    def wait(self, step: p.Wait) -> None:
        """Wait for what was started."""
        count = len(self._pending)
        which = range(count) if step.which is None else [count - 1 - step.which % max(count, 1)]
        for index in which:
            if index < 0:
                continue
            log = self._pending[index].wait()
            if index not in self._waited:
                self.log.append(log)
            self._waited.add(index)

    def beside(self, step: p.Beside) -> None:
        """Compute while others are on their way."""
        ms = step.ms[self.comm.rank % len(step.ms)]
        with self.comm.compute("beside", flops=1e6 * ms):
            self._sleep(ms)

    def under(self, step: p.Under) -> None:
        """Take the steps in a mode."""
        mode = step.modes[self.comm.rank % len(step.modes)]
        if mode is None or (mode in modes.OF_THE_PROCESS and not self._main):
            self.take(step.steps)
        else:
            with modes.enter(mode) as entered:
                self._take_unchanged(step.steps)
                if mode == "redirect_stdout":
                    print("captured on", self.comm.rank)
                    self.log.append(entered.getvalue())
        self.probe(step)

    def _take_unchanged(self, steps: p.Steps) -> None:
        """Take the steps, after which the modes must be what they were."""
        before = modes.probe(whole_process=self._main)
        self.take(steps)
        after = modes.probe(whole_process=self._main)
        self.log.append(after)
        if after != before:
            self.log.append(("WRONG", f"modes were {before}, are {after}"))

    def seeded(self, step: p.Seeded) -> None:
        """Seed, take the steps, draw."""
        if self._main:
            modes.seed(step.generator, self.comm.rank)
        self.take(step.steps)
        if self._main:
            self.log.append(modes.draw(step.generator))

    def shared(self, step: p.Shared) -> None:
        """Write into shared memory, and read it."""
        seats = self.comm.shared_array((self.comm.size, step.columns), step.dtype)
        seats[self.comm.rank] = self.comm.rank + 1
        self.comm.barrier()
        self._got(seats.copy(), None)
        self.comm.barrier()

    def compute(self, step: p.Compute) -> None:
        """Compute."""
        with self.comm.compute("step", flops=step.flops):
            self.log.append(int(np.arange(10).sum()))

    def note(self, step: p.Note) -> None:
        """Put a value on the trace."""
        self.comm.note("value", step.value)

    def nap(self, step: p.Nap) -> None:
        """Be late."""
        self._sleep(step.ms[self.comm.rank % len(step.ms)])

    def _sleep(self, ms: int) -> None:
        if self._naps:
            time.sleep(ms / 1000)

    def probe(self, _: Any) -> None:
        """See the modes."""
        self.log.append(modes.probe(whole_process=self._main))

    def faulty(self, step: p.Faulty) -> None:
        """Do it wrongly, if this is the rank; see ``tests.fuzz.faults`` for the kinds."""
        from tests.fuzz.faults import WRONGLY

        if self.comm.rank == step.rank % self.comm.size:
            WRONGLY[step.kind](self, step.steps)
        else:
            self.take(step.steps)


def _beside(
    comm: Any, steps: p.Steps, first: list[Any], late_ms: int, naps: bool, careful: bool
) -> Log:
    flow = Flow(comm, naps, careful, main=False)
    if late_ms:
        time.sleep(late_ms / 1000)
    for pending in first:
        pending.wait()
    flow.take_carefully(steps)
    flow.probe(None)
    return flow.log


_DO: dict[type, Callable[[Flow, Any], None]] = {
    p.Message: Flow.message, p.Collect: Flow.collect, p.Exchange: Flow.exchange,
    p.Barrier: Flow.barrier, p.Collective: Flow.collective, p.Refused: Flow.refused,
    p.Split: Flow.split, p.Start: Flow.start, p.Wait: Flow.wait, p.Beside: Flow.beside,
    p.Settle: Flow.settle, p.Under: Flow.under, p.Seeded: Flow.seeded, p.Shared: Flow.shared,
    p.Compute: Flow.compute, p.Note: Flow.note, p.Nap: Flow.nap, p.Probe: Flow.probe,
    p.Faulty: Flow.faulty,
}  # fmt: skip
