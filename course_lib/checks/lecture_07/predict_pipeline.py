"""What a pipeline takes and holds: on paper, and read off its schedules."""

from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.pipelines import gpipe, one_f_one_b


class PredictPipeline(PredictTask):
    """Time, bubble and memory of a step of GPipe and 1F1B, with messages that take a while."""

    name = "predict_pipeline"
    title = "Predict how long a step of a pipeline takes, and what its ranks hold."
    questions = ("ranks", "microbatches", "forward_ms", "backward_ms", "message_ms")
    other_number = (
        "draw the lanes of 2 ranks and 3 micro-batches on squared paper, and read {name} off"
    )

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with the lecture's four ranks, and messages that take a while."""
        return ((4, 8, 1, 2, 1), (4, 8, 1, 2, 0), (2, 3, 2, 5, 3), (8, 4, 1, 3, 2), (1, 5, 2, 3, 1),
                (3, 4, 1, 2, 5))  # fmt: skip

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Make both schedules, and work out when everything happens."""
        ranks, microbatches, forward, backward, message = numbers
        g, o = gpipe(ranks, microbatches), one_f_one_b(ranks, microbatches)
        at_once = g.times(forward, 0, backward)
        assert at_once.makespan == o.times(forward, 0, backward).makespan
        return {
            "step_ms": int(at_once.makespan),
            "idle_ms": int(at_once.idle(0)),
            "gpipe_with_messages_ms": int(g.times(forward, 0, backward, message).makespan),
            "held_by_gpipe": int(g.peak(0)),
            "held_by_1f1b": int(o.peak(0)),
        }

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        P, M, forward, backward, message = numbers
        both = forward + backward
        return {
            "step_ms": [
                ("one-by-one", "that is one rank after the other; in a pipeline rank 1 computes "
                 "the first micro-batch while rank 0 computes the second", M * P * both),
                ("no-bubble", "that is what one rank computes; the last micro-batch still has to "
                 "go through the other ranks, and back", M * both),
                ("one-too-many", "the last rank begins after P - 1 passes, not P", (M + P) * both),
                ("only-filling", "the pipeline is drained as well: P - 1 passes back",
                 M * both + (P - 1) * forward),
                ("only-draining", "the pipeline is filled first: P - 1 passes forward",
                 M * both + (P - 1) * backward),
                ("twice-the-bubble", "filling takes P - 1 forward passes, draining P - 1 backward "
                 "passes: P - 1 of both together", (M + 2 * (P - 1)) * both),
                ("forward-only", "a micro-batch goes back, too", (M + P - 1) * forward),
            ],
            "idle_ms": [
                ("a-fraction", "milliseconds are asked for, not the part of the step",
                 (P - 1) / (M + P - 1)),
                ("all-ranks", "that is of all ranks together; of each rank it is 1/P of that",
                 P * (P - 1) * both),
                ("busy", "that is how long a rank computes", M * both),
                ("only-filling", "each rank waits while the pipeline is filled and while it is "
                 "drained: P - 1 passes forward and back in all", (P - 1) * forward),
                ("one-too-many", "with one rank nobody is idle", P * both),
            ],
            **_of_messages(P, M, forward, backward, message),
            **_of_what_is_held(P, M),
        }  # fmt: skip


def _of_messages(
    P: int, M: int, forward: int, backward: int, message: int
) -> Mapping[str, Sequence[Alternative]]:
    both = forward + backward
    right, with_two_ways = (M + P - 1) * both, (M + P - 1) * both + 2 * (P - 1) * message
    return {
        "gpipe_with_messages_ms": [
            ("free-messages", "messages take time on the way down and on the way back", right),
            ("one-way", "slopes travel, too: P - 1 messages back", right + (P - 1) * message),
            ("every-message", "in GPipe only the first micro-batch's way down and the last "
             "one's way back are waited for; the others travel while ranks compute",
             right + 2 * M * (P - 1) * message),
            ("every-pass", "a message travels while its sender computes on: it does not make "
             "every pass longer. Only the first one's way down and the last one's way back are "
             "waited for", (M + P - 1) * (both + 2 * message)),
            ("one-too-many", "P ranks have P - 1 cuts between them", right + 2 * P * message),
            *(("messages-overlap", "messages do not hold each other up: also where one takes "
               "longer than a pass, the next one is on its way beside it",
               with_two_ways + (M - 1) * (message - at_once))
              for at_once in (forward, backward, max(forward, backward), both)),
            ("one-message", "a message over each of the P - 1 cuts, there and back",
             right + 2 * message),
        ],
    }  # fmt: skip


def _of_what_is_held(P: int, M: int) -> Mapping[str, Sequence[Alternative]]:
    return {
        "held_by_gpipe": [
            ("as-1f1b", "GPipe sends all micro-batches forward before the first comes back",
             min(P, M)),
            ("half", "the first backward pass begins after all forward passes", M / 2),
            ("all-ranks", "of one rank", P * M),
        ],
        "held_by_1f1b": [
            ("never-more-than-all", "there are no more than M micro-batches: the smaller of "
             "both", P),
            ("last-rank", "that is the last rank; rank 0 lets in P before the first is back",
             1),
            ("one-too-few", "the P - 1 that it lets in first, and the one with which it then "
             "takes turns", min(P - 1, M)),
            ("as-gpipe", "1F1B goes back with a micro-batch as soon as it can", M),
        ],
    }  # fmt: skip


TASK = PredictPipeline()
