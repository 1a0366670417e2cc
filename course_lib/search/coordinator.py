"""One rank hands out jobs, the others carry them out: whoever is free gets the next."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import RankLost
from course_lib.models.model import Array
from course_lib.search.job import Job, Outcome, Strategy
from course_lib.search.space import Space
from course_lib.words.real import one_number

__all__ = ["Coordinator", "Train", "search"]

COORDINATOR = 0
_NO_MORE = Job(-1, 0)

Train = Callable[[Communicator, dict[str, Any], int], float]
"""Called on a worker with the communicator, a trial's numbers and its resource; returns the loss.
It sends nothing."""


def search(comm: Communicator, strategy: Strategy, space: Space, train: Train) -> list[Outcome]:
    """Have all ranks but the first carry out a strategy's jobs.

    Parameters
    ----------
    comm : Communicator
        The group of ranks, 2 or more; all of them must call.
    strategy : Strategy
        Which job comes next; it changes on rank 0 only.
    space : Space
        What trials are drawn from, the same on every rank: only their numbers are sent.
    train : callable
        Carries out a job, in ``comm.compute`` blocks, and returns its loss.

    Returns
    -------
    list of Outcome
        In the order in which they came in; on rank 0 only, on others nothing.

    Raises
    ------
    ValueError
        If there is no worker.
    RuntimeError
        If rank 0 was lost.
    TypeError
        If ``train`` returns something else than one number.

    Notes
    -----
    Cost: a message of 16 bytes to the worker and one of 24 bytes back for each job, and one to each
    worker at the end.

    Invariant: a job is in one place: not given out, with one worker, or done. In a run with
    ``survive=True`` the job of a worker that is lost is given out again, until none is left.
    """
    if comm.size < 2:
        raise ValueError("search needs a worker beside rank 0: workers must be 2 or more, got 1")
    if comm.rank == COORDINATOR and comm.incarnation:
        raise RuntimeError("rank 0 hands out the jobs and was lost, with all outcomes: begin again")
    if comm.rank != COORDINATOR:
        _work(comm, space, train)
        return []
    return Coordinator(comm, strategy).carry_out()


class Coordinator:
    """Who has which job.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; this is rank 0.
    strategy : Strategy
        Which job comes next.
    """

    def __init__(self, comm: Communicator, strategy: Strategy) -> None:
        self._comm, self._strategy = comm, strategy
        self._free = list(range(1, comm.size))
        self._under_way: dict[int, Job] = {}  # by worker
        self._again: list[Job] = []  # whose worker was lost

    def carry_out(self) -> list[Outcome]:
        """Hand out jobs until there are none, and return what they came to."""
        outcomes = []
        self._hand_out()
        while self._under_way or self._again:
            heard = self._hear()
            if heard is None:
                continue
            src, told = heard
            if len(told) == 0:  # it was started again, and knows nothing of its job
                self.lose(src)
                self._free.append(src)
                self._hand_out()
                continue
            loss = float(told[2])
            loss = math.inf if math.isnan(loss) else loss  # the worst
            outcome = Outcome(self._under_way.pop(src), loss)
            self._strategy.tell(outcome)
            outcomes.append(outcome)
            self._free.append(src)
            self._hand_out()
        for worker in [*self._free, *set(range(1, self._comm.size)).difference(self._free)]:
            self._see_off(worker)
        return outcomes

    def lose(self, worker: int) -> None:
        """Forget a worker, and put its job aside for the next who is free.

        Parameters
        ----------
        worker : int
            Its rank.
        """
        if worker in self._under_way:
            self._again.append(self._under_way.pop(worker))
        self._free = [other for other in self._free if other != worker]

    def _hear(self) -> tuple[int, Array] | None:
        """Receive what comes first; while a worker is idle, who is busy may be lost and silent."""
        if not self._comm.survives or not self._free:
            return self._comm.recv_any()
        busy = min(self._under_way)
        try:
            return busy, self._comm.recv(busy)
        except RankLost:
            self.lose(busy)
            self._hand_out()
            return None

    def _see_off(self, worker: int) -> None:
        """Tell a worker that there are no more jobs; one that is started again is waited for."""
        for _ in range(2):  # told of its loss once, and again where it does not come back
            try:
                if worker not in self._free:
                    self._comm.recv(worker)  # it asks for a job
                    self._free.append(worker)
                self._comm.send(np.array(_NO_MORE), worker, tag="job")
                return
            except RankLost:
                self.lose(worker)

    def _hand_out(self) -> None:
        while self._free:
            job = self._again.pop(0) if self._again else self._strategy.next_job()
            if job is None:
                return
            worker = self._free.pop(0)
            self._under_way[worker] = job
            try:
                self._comm.send(np.array(job), worker, tag="job")
            except RankLost:
                self.lose(worker)


def _work(comm: Communicator, space: Space, train: Train) -> None:
    """Carry out jobs until there are no more."""
    if comm.incarnation:
        comm.send(np.empty(0), COORDINATOR, tag="again")
    while (job := Job(*map(int, comm.recv(COORDINATOR, tag="job")))) != _NO_MORE:
        found = train(comm, space.draw(job.trial), job.resource)
        loss = one_number("the loss that train returns", found)
        comm.send(np.array([job.trial, job.resource, loss]), COORDINATOR, tag="outcome")
