"""When a placed graph is done, on paper; then the library's executor has the last word."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.planning.numbered import Inputs, run_ranks

__all__ = ["TASK", "finished_us"]


class PredictMakespan(PredictTask):
    """Makespan, messages and idle time of numbered nodes on their workers."""

    name = "predict_makespan"
    title = "Predict when a placed graph is done, how many messages it needs, and who is idle."
    questions = ("inputs", "us", "ranks", "n_workers", "message_us")
    forbidden = (*PredictTask.forbidden, "course_lib.lectures", "course_lib.planning")
    other_number = (
        "draw a lane for each worker, put its nodes there in their order, each after its inputs, "
        "and read {name} off the drawing"
    )

    def tried(self) -> Sequence[tuple[Any, ...]]:
        """Begin with a graph on which every mistake gives another number, then every border."""
        six = ((), (0,), (0,), (0, 1), (1, 2, 3), (2,))
        diamond = ((), (0,), (0,), (1, 2))
        fan = ((), (0,), (0,), (0,), (1, 2, 3))
        return (
            (six, (20, 20, 20, 10, 80, 10), (2, 1, 1, 1, 2, 0), 4, 30),
            (diamond, (20, 50, 30, 10), (0, 0, 1, 0), 2, 15),
            (fan, (10, 40, 60, 50, 20), (0, 1, 1, 2, 0), 3, 25),
            (diamond, (20, 50, 30, 10), (1, 1, 1, 1), 2, 15),
            (((), (0,), (1,), (2,)), (30, 10, 40, 20), (0, 1, 0, 1), 2, 100),
            (((), (), (0, 1), (0,), (1,)), (70, 20, 30, 10, 90), (0, 1, 1, 0, 1), 3, 5),
            (((), (0,), (), (2,), (1,)), (10, 10, 80, 60, 10), (0, 1, 0, 1, 0), 2, 0),
            (((),), (40,), (0,), 1, 7),
        )

    def told(self, numbers: tuple[Any, ...]) -> str:
        """Write the graph for the report."""
        return ", ".join(f"{n}={v}" for n, v in zip(self.questions, numbers, strict=True))

    def _unforeseen(self, secret: int) -> Iterator[tuple[Any, ...]]:
        rng = np.random.default_rng([secret, 131])
        for n_workers in (2, 3, 3):
            yield (
                *_drawn(rng, 7), tuple(int(r) for r in rng.integers(0, n_workers, 7)), n_workers,
                int(rng.integers(1, 60)),
            )  # fmt: skip

    def measure(self, *numbers: Any) -> dict[str, Any]:
        """Run it."""
        _, us, _, n_workers, _ = numbers
        trace = run_ranks(*numbers)
        makespan_us = round(1e6 * max(span.end_s for span in trace.computes))
        return {
            "makespan_us": makespan_us,
            "messages": trace.n_messages,
            "idle_us": n_workers * makespan_us - sum(us),
        }

    def alternatives(self, *numbers: Any) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        inputs, us, ranks, n_workers, _ = numbers
        right = self.measure(*numbers)
        cut = [(used, ranks[k]) for k, before in enumerate(inputs) for used in before
               if ranks[used] != ranks[k]]  # fmt: skip
        return {
            "makespan_us": _of_the_makespan(*numbers),
            "messages": [
                ("once-a-worker", "a result goes once to each worker, however many nodes use it "
                 "there", len(cut)),
                ("each-worker", "a result that two other workers use is sent to both of them",
                 len({used for used, _ in cut})),
                ("cut-edges", "what is used on the same worker is not sent",
                 sum(map(len, inputs))),
                ("not-pairs", "not pairs of workers: messages, each with one result",
                 len({(ranks[used], dst) for used, dst in cut})),
            ],
            "idle_us": [
                ("all-workers", "idle is whoever does not compute until the last one is done: all "
                 "workers, also one without nodes",
                 len(set(ranks)) * right["makespan_us"] - sum(us)),
                ("all-workers", "add up the idle time of all workers",
                 right["makespan_us"] - max(_busy_us(us, ranks, n_workers))),
                ("until-the-end", "a worker that is done early is idle until the last one is done",
                 _gaps_us(*numbers)),
                ("idle-not-busy", "that is how long they compute", sum(us)),
                ("all-workers", "add up over the workers: no mean",
                 right["idle_us"] / n_workers),
            ],
        }  # fmt: skip


def _of_the_makespan(
    inputs: Inputs, us: Any, ranks: Any, n_workers: int, message_us: int
) -> list[Alternative]:
    n = len(us)
    right = finished_us(inputs, us, ranks, message_us)
    last = right[-1]
    return [
        ("messages-take-time", "a result from another worker comes message_us later",
         max(finished_us(inputs, us, ranks, 0))),
        ("one-at-a-time", "a worker computes one node at a time, in the order of the numbers",
         max(finished_us(inputs, us, range(n), message_us, of=ranks))),
        ("only-cut-edges", "what is used on the same worker is there at once",
         max(finished_us(inputs, us, ranks, message_us, everywhere=True))),
        ("travels-alone", "the sender goes on while a message travels",
         max(_sender_waits(inputs, us, ranks, message_us))),
        *(("none-is-added", "messages travel at the same time, and while the receiver still "
           "computes: a node begins at the latest of all these times, none of them is added to "
           "another", max(_received_in_turn(inputs, us, ranks, message_us, each)))
          for each in (False, True)),
        ("wait-for-inputs", "a node waits for its inputs: the busiest worker may have to wait",
         max(_busy_us(us, ranks, n_workers))),
        ("side-by-side", "workers compute at the same time", sum(us)),
        ("side-by-side", "workers compute at the same time, and messages travel meanwhile",
         sum(us) + message_us * len({(u, ranks[k]) for k, b in enumerate(inputs) for u in b
                                     if ranks[u] != ranks[k]})),
        ("the-last-one", "not the last node's end: the end of whichever is done last", last),
        ("latest-input", "a node waits for the latest of its inputs, not for the first",
         max(finished_us(inputs, us, ranks, message_us, latest=min))),
    ]  # fmt: skip


def finished_us(
    inputs: Inputs, us: Sequence[int], ranks: Sequence[int], message_us: int, *,
    of: Sequence[int] | None = None, everywhere: bool = False, latest: Any = max,
) -> list[int]:  # fmt: skip
    """Say when each node is done; the options are mistakes.

    Parameters
    ----------
    inputs : tuple of tuple of int
        By node the nodes that it uses.
    us : sequence of int
        How long each computes.
    ranks : sequence of int
        Whom each waits for: nodes of one rank are computed one after the other.
    message_us : int
        How long a message takes.
    of : sequence of int or None, default: None
        The worker of each, if not ``ranks``.
    everywhere : bool, default: False
        Whether every edge costs a message.
    latest : callable, default: max
        Which of its inputs a node waits for.

    Returns
    -------
    list of int
        In microseconds.
    """
    workers, free, done = ranks if of is None else of, dict[int, int](), list[int]()
    for k, before in enumerate(inputs):
        there = [
            done[used] + message_us * (everywhere or workers[used] != workers[k]) for used in before
        ]
        begins = max(free.get(ranks[k], 0), latest(there) if there else 0)
        free[ranks[k]] = begins + us[k]
        done.append(free[ranks[k]])
    return done


def _sender_waits(inputs: Inputs, us: Any, ranks: Any, message_us: int) -> list[int]:
    """Say when each node is done if a sender waits until each message has arrived."""
    free, done, comes = dict[int, int](), list[int](), dict[tuple[int, int], int]()
    for k, before in enumerate(inputs):
        there = [comes[used, ranks[k]] for used in before]
        done.append(max([free.get(ranks[k], 0), *there]) + us[k])
        free[ranks[k]] = comes[k, ranks[k]] = done[k]
        users = [other for other, used in enumerate(inputs) if k in used]
        for dst in sorted({ranks[other] for other in users} - {ranks[k]}):
            free[ranks[k]] += message_us
            comes[k, dst] = free[ranks[k]]
    return done


def _received_in_turn(
    inputs: Inputs, us: Any, ranks: Any, message_us: int, each: bool
) -> list[int]:
    """Say when each node is done if its worker first computes, and only then receives.

    With ``each`` the messages of its inputs come one after the other.
    """
    free, done = dict[int, int](), list[int]()
    for k, before in enumerate(inputs):
        begins, crosses = free.get(ranks[k], 0), False
        for used in before:
            crosses = ranks[used] != ranks[k] or (crosses and not each)
            begins = max(begins, done[used]) + message_us * (crosses and each)
        begins += message_us * (crosses and not each)
        free[ranks[k]] = begins + us[k]
        done.append(free[ranks[k]])
    return done


def _busy_us(us: Sequence[int], ranks: Sequence[int], n_workers: int) -> list[int]:
    return [sum(t for t, r in zip(us, ranks, strict=True) if r == w) for w in range(n_workers)]


def _gaps_us(inputs: Inputs, us: Any, ranks: Any, n_workers: int, message_us: int) -> int:
    """Add up what workers wait before their own last node."""
    done = finished_us(inputs, us, ranks, message_us)
    ends = [max((d for d, r in zip(done, ranks, strict=True) if r == w), default=0)
            for w in range(n_workers)]  # fmt: skip
    return sum(ends) - int(sum(us))


def _drawn(rng: np.random.Generator, n: int) -> tuple[Inputs, tuple[int, ...]]:
    inputs = tuple(tuple(j for j in range(k) if rng.random() < 0.4) for k in range(n))
    return inputs, tuple(int(t) for t in rng.integers(5, 90, n))


TASK = PredictMakespan()
