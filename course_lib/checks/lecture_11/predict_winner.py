"""Who wins beside a straggler, predicted, then raced."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network
from course_lib.models.stand_in import StandIn
from course_lib.schemes import backup_workers, downpour, parameter_server
from course_lib.trace.trace import Trace
from course_lib.training import Plan

__all__ = ["TASK"]


class PredictWinner(PredictTask):
    """The times of three schemes to a target, and the first."""

    name = "predict_winner"
    title = "Predict which scheme wins beside a straggler, then race."
    questions = ("n_workers", "gradient_us", "message_us", "factor", "n_sync", "n_async")
    forbidden = ("course_lib.collectives", "course_lib.schemes", "course_lib.lectures")
    rounding_terms = 64
    other_number = (
        "draw one turn of a worker: parameters come, a gradient, it goes back; {name} is made of "
        "turns"
    )

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with the lecture's numbers, rounded; then no straggler, and the least."""
        return (
            (4, 320, 60, 10, 100, 650), (4, 320, 60, 1, 100, 650), (2, 100, 0, 3, 50, 90),
            (8, 320, 60, 2, 80, 900), (3, 50, 1000, 4, 100, 180), (6, 200, 10, 3, 100, 260),
        )  # fmt: skip

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Run each scheme for some turns, and read off what one takes."""
        n_workers, gradient_us, message_us, factor, n_sync, n_async = numbers
        turns = {
            scheme: _turns(scheme, n_workers, gradient_us, message_us, factor)
            for scheme in ("all", "but_one", "nobody")
        }
        found: dict[str, Any] = {
            "all_us": float(n_sync * max(turns["all"])),
            "but_one_us": float(n_sync * max(turns["but_one"])),
            "nobody_us": n_async / sum(1 / us for us in turns["nobody"]),
        }  # fmt: skip
        return found | {"first": _first(found.values())}

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        P, g, m, f, sync, asynchronous = numbers
        measured = self.measure(*numbers)
        times = [measured[name] for name in ("all_us", "but_one_us", "nobody_us")]
        return {
            "all_us": _of_who_waits_for_all(P, g, m, f, sync, asynchronous),
            "but_one_us": [
                ("not-for-the-last", "no step waits for the straggler", sync * (2 * m + f * g)),
                ("two-messages", _TWICE, sync * (m + g)),
                ("two-messages", _TWICE, sync * g),
                ("whose-updates", _WHOSE, asynchronous * (2 * m + g)),
                ("one-by-one", _AT_ONCE, sync * (2 * m + g) * (P - 1)),
            ],
            "nobody_us": [
                *_of_who_does_not_wait(P, g, m, f, asynchronous),
                ("whose-updates", "n_async updates: old gradients need more of them",
                 times[2] * sync / asynchronous),
            ],
            "first": [
                ("of-equals", "of equal times the smaller number", 2 - _first(times[::-1])),
                ("least", "the least time is first, not the most", _first([-t for t in times])),
                ("from-zero", "the first of the three has number 0", measured["first"] + 1),
                ("least", "compare the three times, not the updates", int(sync > asynchronous) * 2),
            ],
        }  # fmt: skip


_TWICE = "parameters come and a gradient goes: two messages a turn"
_WHOSE = "n_sync updates: those who wait need as many"
_AT_ONCE = "the workers compute at the same time"


def _of_who_waits_for_all(
    P: int, g: int, m: int, f: int, sync: int, asynchronous: int
) -> list[Alternative]:
    fast, slow = 2 * m + g, 2 * m + f * g
    return [
        ("two-messages", _TWICE, sync * (m + f * g)),
        ("two-messages", _TWICE, sync * f * g),
        ("slowest", "all wait for the slowest", sync * fast),
        ("slowest", "not the mean of the workers: the slowest",
         sync * ((P - 1) * fast + slow) / P),
        ("network-as-ever", "only the gradient takes longer; its messages do not",
         sync * f * fast),
        ("whose-updates", _WHOSE, asynchronous * slow),
        ("one-by-one", _AT_ONCE, sync * ((P - 1) * fast + slow)),
    ]  # fmt: skip


def _of_who_does_not_wait(P: int, g: int, m: int, f: int, updates: int) -> list[Alternative]:
    fast, slow = 2 * m + g, 2 * m + f * g
    return [
        ("slow-one-too", "the straggler pushes more rarely than the others", updates * fast / P),
        ("slow-one-too", "the straggler pushes, too, if rarely", updates * fast / (P - 1)),
        ("add-the-rates", "add up how many updates a microsecond each worker makes: rates add, "
         "times do not", updates * ((P - 1) * fast + slow) / P / P),
        ("add-the-rates", "all push at the same time, each at its pace",
         updates * ((P - 1) * fast + slow) / P),
        ("nobody-waits", "nobody waits for the slowest here", updates * slow / P),
        ("two-messages", _TWICE, updates / ((P - 1) / (m + g) + 1 / (m + f * g))),
        ("two-messages", _TWICE, updates / ((P - 1) / g + 1 / (f * g))),
        ("one-by-one", "each gradient is an update here, of whichever worker", updates * fast),
    ]  # fmt: skip


def _first(times: Iterable[float]) -> int:
    ordered = list(times)
    return ordered.index(min(ordered))


@cache
def _turns(
    scheme: str, n_workers: int, gradient_us: int, message_us: int, factor: int
) -> tuple[int, ...]:
    """Run a scheme; return what a turn takes, the server's or each worker's, in microseconds."""
    synchronous = scheme != "nobody"
    batch, turns = (n_workers if synchronous else 1), 3
    n_updates = turns if synchronous else 2 * n_workers * (factor + 1)
    model = StandIn.of({"all": 8}, flops_per_example=float(gradient_us))
    speeds = (1e15,) + (1e6,) * (n_workers - 1) + (1e6 / factor,)
    network = Network("a straggler", message_us * 1e-6, float("inf"), speeds)
    train: Any = {
        "all": parameter_server, "but_one": partial(backup_workers, backups=1),
        "nobody": partial(downpour, push_returns=True),
    }[scheme]  # fmt: skip
    trace = run(
        train, model, np.zeros((n_updates * batch, 1)), np.zeros(n_updates * batch),
        Plan(batch_size=batch), workers=1 + n_workers, backend="simulated", network=network,
    ).trace  # fmt: skip
    if synchronous:
        return (_between([span.end_s for span in trace.computes if span.label == "update"]),)
    return tuple(_turn_of(trace, rank) for rank in range(1, 1 + n_workers))


def _turn_of(trace: Trace, rank: int) -> int:
    """Return what lies between two pushes of a worker."""
    pushed = [m.posted_s for m in trace.messages if (m.src, m.tag) == (rank, "gradient")]
    return _between(sorted(pushed)[:2])


def _between(times: Sequence[float]) -> int:
    gaps = {round(1e6 * (b - a)) for a, b in pairwise(times)}
    (gap,) = gaps
    return gap


TASK = PredictWinner()
