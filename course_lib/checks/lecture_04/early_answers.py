"""Which answers a server gave before it could."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference, as_list
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.trace.trace import Trace

__all__ = ["TASK", "impatient_server"]


def impatient_server(comm: Communicator, steps: int) -> Any:
    """Serve parameters from rank 0; the other ranks push a gradient in each step.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    steps : int
        How many steps to take.

    Returns
    -------
    numpy.ndarray, shape (1000,)
        The parameters that this rank ends with.
    """
    w = np.zeros(1000)
    if comm.rank == 0:
        for dst in range(1, comm.size):
            comm.send(w, dst)
        for _ in range(steps):
            for src in range(1, comm.size):
                w = w - 0.1 * comm.recv(src)
                comm.send(w, src)
        return w
    for _ in range(steps):
        w = comm.recv(0)
        with comm.compute("gradient", flops=1e6 * comm.rank):
            grad = w - comm.rank
        comm.send(grad, 0)
    return comm.recv(0)


def _serve(
    comm: Communicator, steps: int, quorum: Callable[[int, int], int], pace: float = 1e5
) -> None:
    """Answer whoever has pushed as soon as ``quorum(step, workers)`` gradients are there."""
    w, workers = np.zeros(100), range(1, comm.size)
    if comm.rank > 0:
        for step in range(steps):
            w = comm.recv(0)
            with comm.compute("gradient", flops=pace * (1 + (comm.rank + step) % comm.size)):
                grad = w - comm.rank
            comm.send(grad, 0)
        comm.recv(0)
        return
    for dst in workers:
        comm.send(w, dst)
    for step in range(steps):
        waiting: list[int] = []
        for src in workers:
            w = w - 0.1 * comm.recv(src)
            waiting.append(src)
            while waiting and src >= quorum(step, len(workers)):
                comm.send(w, waiting.pop(0))


def _patient(comm: Communicator, steps: int) -> None:
    _serve(comm, steps, lambda _, workers: workers)


def _all_but_one(comm: Communicator, steps: int) -> None:
    _serve(comm, steps, lambda _, workers: max(1, workers - 1))


def _half(comm: Communicator, steps: int) -> None:
    _serve(comm, steps, lambda _, workers: -(-workers // 2))


def _hasty_once(comm: Communicator, steps: int) -> None:
    _serve(comm, steps, lambda step, workers: 1 if step == 1 else workers, pace=1e6)


def _whoever_comes(comm: Communicator, steps: int) -> None:
    """Answer each worker at once: an asynchronous server."""
    w = np.zeros(100)
    if comm.rank == 0:
        for dst in range(1, comm.size):
            comm.send(w, dst)
        for _ in range(steps * (comm.size - 1)):
            src, grad = comm.recv_any()
            w = w - 0.1 * grad
            comm.send(w, src)
        return
    for _ in range(steps):
        w = comm.recv(0)
        with comm.compute("gradient", flops=1e5 * (comm.size - comm.rank)):
            grad = w - comm.rank
        comm.send(grad, 0)
    comm.recv(0)


_PROGRAMS: dict[str, Callable[..., Any]] = {
    "a server that is hasty in its second step": _hasty_once,
    "the impatient server": impatient_server,
    "a patient server": _patient,
    "one that waits for all but one": _all_but_one,
    "one that waits for half of them": _half,
    "one that answers whoever comes": _whoever_comes,
}

_ONE_EACH = "return a list with one whole number for each step"


class EarlyAnswers(LocalTask):
    """For each step, how many answers left before the last gradient of the step was there."""

    name = "early_answers"
    title = "Find the bug: tell which workers were answered too early."
    fresh = False
    takes = ("trace",)
    enough = "the trace's times are enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with four workers and two steps, one as it should be and one not."""
        rng = np.random.default_rng([secret, 8])
        for program in _PROGRAMS:
            for size in (5, 2, 3, 4, 8):
                steps = 2 if size == 5 else int(rng.integers(3, 6))
                workers = f"{size - 1} worker{'s' * (size > 2)}"
                yield Case(
                    1, f"{program}: {workers}, {steps} steps", calls=1, alone=True,
                    settings={"trace": _trace(program, size, steps)},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the trace."""
        return (case.settings["trace"],)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Compare each answer's time with the arrival of the step's last gradient."""
        return [_early(arguments[0][0])]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take an array of one row for a list, and NumPy's whole numbers for Python's."""
        rows = [[_whole(item) for item in value] if isinstance(value, list) else
                as_list(value) for value in got]  # fmt: skip
        return super().compare(case, arguments, rows)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        (trace,) = arguments[0]
        right = _early(trace)
        workers, steps = trace.size - 1, len(right)
        all_of_them = (
            "not all of the step's gradients are waited for: the last of all P counts, "
            "trace.size - 1 of them, and step k is the k-th push of each worker"
        )
        moments = (
            "two things to look at: the server's moments count, received_s of a gradient and "
            "posted_s of an answer; and the last of all P gradients does, of trace.size - 1 workers"
        )
        for hint_id, text, values in (
            ("first-fetch", "the first message to each worker is no answer: nothing was pushed "
             "before it, so answer k is message k + 1", _early(trace, first=0)),
            ("other-moments", moments, _early(trace, arrival="sent_s")),
            ("other-moments", moments, _early(trace, arrival="posted_s")),
            ("other-moments", moments, _early(trace, answer="received_s")),
            ("last-worker", "the last worker need not be the last to push: take the largest time",
             _early(trace, which=lambda times: list(times)[-1])),
            ("not-all-workers", "by this count none is early: an answer has to wait for the "
             "gradients of *all* workers, so the last to arrive counts", [0] * steps),
            ("at-the-same-time", "an answer that is posted when the last gradient arrives is not "
             "early", _early(trace, also_equal=True)),
            ("not-all-workers", "the last of the step's gradients counts, not the first",
             _early(trace, which=min)),
            *(("some-gradients", all_of_them, early)
              for early in (_early(trace, among=3), _before_the_next(trace),
                            _early(trace, which=lambda times: sorted(times)[-2:][0]))),
            ("in-time", "these are the answers in time, or those before the next gradient: early "
             "is what leaves before the last gradient of the step is there",
             [workers - early for early in right]),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [values])
        yield Mistake("one-for-each", _ONE_EACH, [sum(right)])
        yield Mistake("yes-or-no", "how many, not whether", [[early > 0 for early in right]])
        yield Mistake("yes-or-no", "how many, not whether", [[int(early > 0) for early in right]])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice a list of another length."""
        if "whole number" in wrong.says:
            return Hint("how-many", "how many, a whole number, not which part of them")
        if not isinstance(got[0], list | np.ndarray) or "values" in wrong.says:
            return Hint("one-for-each", _ONE_EACH)
        return Hint("by-the-times", "write down, for step k, when the k-th push of each worker was "
                    "received and when its answer (message k + 1, and no later one) was posted: "
                    "early is what was posted before the last was received")  # fmt: skip

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a list that is shorter than was thought."""
        if "list index out of range" not in text:
            return None
        return Hint("no-such-push", "as many steps as pushes: a worker gets one message more than "
                    "it pushes; rank 0 is the server and pushes nothing, so between(0, 0) is empty"
                    )  # fmt: skip


@cache
def _trace(program: str, size: int, steps: int) -> Trace:
    return run(_PROGRAMS[program], steps, workers=size, backend="simulated", network=DEFAULT).trace


def _early(
    trace: Trace,
    first: int = 1,
    arrival: str = "received_s",
    answer: str = "posted_s",
    which: Callable[..., float] = max,
    also_equal: bool = False,
    among: int | None = None,
) -> list[int]:
    """Count the early answers of each step, rightly or with one mistake."""
    workers = range(1, trace.size)[:among]
    pushes = [trace.between(worker, 0) for worker in workers]
    answers = [trace.between(0, worker)[first:] for worker in workers]
    early = []
    for step in range(len(pushes[0])):
        there_s = which(getattr(pushed[step], arrival) for pushed in pushes)
        times = [getattr(answered[step], answer) for answered in answers]
        early.append(sum(t < there_s or (also_equal and t == there_s) for t in times))
    return early


def _before_the_next(trace: Trace) -> list[int]:
    """Count the answers that left before the gradient that came after their own."""
    pushes = [trace.between(worker, 0) for worker in range(1, trace.size)]
    early = []
    for step in range(len(pushes[0])):
        came = sorted((pushed[step].received_s or 0.0, pushed[step].src) for pushed in pushes)
        early.append(sum(
            trace.between(0, src)[step + 1].posted_s < next_s
            for (_, src), (next_s, _) in pairwise(came)
        ))  # fmt: skip
    return early


def _whole(item: Any) -> Any:
    is_number = isinstance(item, np.ndarray) and item.shape == () and item.dtype.kind in "iu"
    return int(item) if is_number else item


TASK = EarlyAnswers()
