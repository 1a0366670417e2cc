"""The communicator of a simulated rank: all verbs, those of messages by inheritance."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from greenlet import getcurrent
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.pending import Pending
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.messaging import MessagingCommunicator
from course_lib.comm.simulated.started import Started

__all__ = ["SimulatedCommunicator"]

T = TypeVar("T")


class SimulatedCommunicator(MessagingCommunicator):
    """One rank's end of a communicator, with all verbs."""

    # What all ranks enter together

    def _barrier(self) -> None:
        self.group.meeting.enter(self, "barrier", None, lambda offers: [None] * len(offers))

    def _split(self, color: int | None, key: int) -> Communicator | None:
        divide = partial(self.group.divide, self.world, self._n_splits)
        part: Communicator | None = self.group.meeting.enter(self, "split", (color, key), divide)
        return part

    def _shared_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        array: NDArray[Any] = self.group.meeting.enter(
            self, "shared_array", (shape, dtype), self.group.share
        )
        return array

    # What runs beside

    def _start(self, fn: Callable[..., T], args: tuple[Any, ...]) -> Pending[T]:
        self.flow.begin(self, "start")
        self._n_started += 1
        name = f"{self.name}/start {self._n_started}"
        group = self.group.children.get(name)
        if group is None:  # this rank is the first to start it
            group = self.world.open(name, self._members, self.group, n_running=self.size)
        child = group.comms[self.rank]
        child._belong_to(self)
        flow = self.world.add_flow(child, lambda child: fn(child, *args), self.flow.now_s)
        self.flow.start_beside(flow)
        return Started(child, self)

    # What only this rank sees

    def _computed(self, label: str, flops: float, started_s: float) -> None:
        self.flow.begin(self, "compute")
        seconds = flops / self.world.flops_per_s[self.run_rank]
        if self.world.service:
            seconds = self.world.service[self.run_rank](seconds)
        self.flow.advance(started_s + seconds)
        if self.log is not None:
            self.log.computes.append((self.run_rank, label, flops, started_s, self.flow.now_s))

    def _note(self, name: str, value: Any) -> None:
        now_s = self._clock()
        if self.log is not None:
            self.log.notes.append((self.run_rank, name, value, now_s))

    def _clock(self) -> float:
        here = getcurrent()
        if here is not self.flow and isinstance(here, Flow):
            self.world.refuse(self.flow, self, "clock")  # its own time would be another one
        return self.flow.now_s

    def _collective(self, name: str, number: int, entered_s: float) -> None:
        if self.log is not None:
            self.log.collectives.append(
                (self.run_rank, name, number, entered_s, self.flow.now_s, self.name)
            )
