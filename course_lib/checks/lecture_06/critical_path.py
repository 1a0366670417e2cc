"""The time of a step with and without overlap: a critical path on paper."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.lecture_06.steps import in_turn_s, run_step
from course_lib.checks.prediction import Alternative, PredictTask


class CriticalPath(PredictTask):
    """Forward, backward and exchange of each layer; one exchange at a time on the network."""

    name = "critical_path"
    title = (
        "Predict how long a step takes, with one exchange after the other at the end or on the way."
    )
    units: ClassVar[Mapping[str, str]] = {"after": "s", "overlapped": "s"}
    questions = ("forward_s", "backward_s", "exchange_s")
    rounding_terms = 1 << 20
    other_number = (
        "draw two lanes, computing and network, and put each layer's exchange where it can begin: "
        "after its own backward, and after the exchange before it; read {name} off the drawing"
    )

    def tried(self) -> Sequence[tuple[Any, ...]]:
        """Begin with a case in which the network is idle once, and busy at the end."""
        ms = 1e-3
        return (
            ((ms, 2 * ms, 4 * ms), (3 * ms, 5 * ms, 5 * ms), (2.5 * ms, 9 * ms, 3.5 * ms)),
            ((ms, ms, ms), (2 * ms,) * 3, (3 * ms,) * 3),
            ((ms, 2 * ms), (2 * ms, 4 * ms), (5 * ms, ms)),
            ((2 * ms, ms, ms, 3 * ms), (4 * ms, 2 * ms, 2 * ms, 6 * ms), (ms, ms, 9 * ms, 2 * ms)),
            ((4 * ms,), (8 * ms,), (3 * ms,)),
        )

    def told(self, numbers: tuple[Any, ...]) -> str:
        """Write milliseconds by layer."""
        words = ("forward", "backward", "exchange")
        lists = (", ".join(f"{second * 1e3:g}" for second in seconds) for seconds in numbers)
        named = zip(words, lists, strict=True)
        return "in ms, by layer: " + "; ".join(f"{word} {text}" for word, text in named)

    def _unforeseen(self, secret: int) -> Any:
        rng = np.random.default_rng([secret, 61])
        for n_layers in (3, 5, 8):
            drawn = rng.integers(200, 9000, size=(3, n_layers))
            yield tuple(tuple(float(us) * 1e-6 for us in row) for row in drawn)

    def measure(self, *numbers: Any) -> dict[str, Any]:
        """Run both, two ranks in virtual time."""
        return {"after": run_step(*numbers, False), "overlapped": run_step(*numbers, True)}

    def alternatives(self, *numbers: Any) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        forward, back, exchange = (list(seconds) for seconds in numbers)
        computing = sum(forward) + sum(back)
        ready = np.cumsum(back[::-1])[::-1]
        beside = sum(forward) + max(r + e for r, e in zip(ready, exchange, strict=True))
        return {
            "after": [
                ("forward-left-out", "a step begins with its forward pass",
                 sum(back) + sum(exchange)),
                ("backward-left-out", "the backward pass takes time, too",
                 sum(forward) + sum(exchange)),
                ("already-overlapped", "without overlap nothing is exchanged before all computing "
                 "is done: add everything up", sum(forward) + in_turn_s(back, exchange)),
                ("exchange-left-out", "the exchanges are missing", computing),
            ],
            "overlapped": [
                ("forward-left-out", "a step begins with its forward pass, under which nothing is "
                 "exchanged", in_turn_s(back, exchange)),
                ("perfect-hiding", "the larger of computing and exchange would be a step in which "
                 "everything hides; but the first layer's exchange has nothing left to hide under",
                 max(computing, sum(exchange))),
                ("perfect-hiding", "not all of the backward pass hides exchange: the last layer's "
                 "gradient must be there before the first exchange begins",
                 sum(forward) + max(sum(back), sum(exchange))),
                ("never-idle", "the network waits for gradients as well: an exchange begins when "
                 "its layer is done and the exchange before is over, whichever is later",
                 sum(forward) + back[-1] + sum(exchange)),
                ("only-the-first-layer", "earlier exchanges may still be on their way when the "
                 "first layer is done: then its own waits", computing + exchange[0]),
                ("wrong-direction", "back-propagation begins with the last layer, and not "
                 "before the whole forward pass is over",
                 sum(forward) + in_turn_s(back[::-1], exchange[::-1])),
                ("side-by-side", "one exchange at a time: an exchange waits for the one before",
                 beside),
                ("nothing-hidden", "that is the time without overlap: an exchange begins when its "
                 "layer's backward is done, and meanwhile the next layer's goes on",
                 computing + sum(exchange)),
                ("misplaced-bracket", "the exchange takes its time after the later of the two: "
                 "max(ready, done) + exchange", sum(forward) + _max_too_late(back, exchange)),
                ("one-turned-round", "a layer's exchange goes with its own backward: turn both "
                 "round", sum(forward) + in_turn_s(back, exchange[::-1])),
                ("one-turned-round", "a layer's exchange goes with its own backward: turn both "
                 "round", sum(forward) + in_turn_s(back[::-1], exchange)),
            ],
        }  # fmt: skip


def _max_too_late(back: Sequence[float], exchange: Sequence[float]) -> float:
    ready = done = 0.0
    for backward_s, exchange_s in zip(reversed(back), reversed(exchange), strict=True):
        ready += backward_s
        done = max(ready, done + exchange_s)
    return done


TASK = CriticalPath()
