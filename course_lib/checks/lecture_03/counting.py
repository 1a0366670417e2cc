"""Who computes on how many examples: a task on sharing work counts the work."""

from collections import Counter
from typing import Any

from course_lib.checks.task import Hint
from course_lib.trace.trace import Trace

__all__ = ["EXAMPLES", "Counting", "not_shared"]

EXAMPLES = "examples"
"""The name of the note that a rank puts on the trace."""


class Counting:
    """A model that counts the examples of its gradients, step by step.

    Parameters
    ----------
    model : Model
        What computes.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._examples: Counter[bytes] = Counter()

    def gradient(self, w: Any, batch: Any) -> Any:
        """Compute, and count: the gradients at the same w belong to one step."""
        result = self._model.gradient(w, batch)
        self._examples[w.tobytes()] += len(batch[1])
        return result

    def __getattr__(self, name: str) -> Any:
        """Be the model in all else."""
        return getattr(self._model, name)

    def counted(self) -> list[int]:
        """Return the most examples of a step, and those of all steps."""
        counts = self._examples.values()
        return [max(counts, default=0), sum(counts)]


def not_shared(trace: Trace, batch_size: int, n_rows: int) -> tuple[str, Hint] | None:
    """Find a rank that computes on more of a batch than its part, where the result is right.

    Parameters
    ----------
    trace : Trace
        Of the run, with a note of each rank for each call.
    batch_size : int
        How many examples a batch has at most.
    n_rows : int
        How many examples there are in all calls together.

    Returns
    -------
    tuple of str and Hint, or None
        What is wrong, and what to say to it.
    """
    counted = [(note.rank, *note.value) for note in trace.notes_named(EXAMPLES)]
    part = -(-batch_size // trace.size)
    if sum(total for _, _, total in counted) < n_rows:
        return (
            f"model.gradient was asked for {sum(total for _, _, total in counted)} of {n_rows} "
            "examples",
            Hint("not-the-model", "take every gradient with model.gradient: the model may be "
                 "another one next time"),
        )  # fmt: skip
    for rank, most, _ in counted:
        if most > part:
            idle = any(total == 0 for _, _, total in counted)
            return (
                f"rank {rank} computed the gradient of {most} examples of a batch of {batch_size}; "
                f"its part, with {trace.size} ranks, is {part}",
                Hint("work-not-shared", "the result is right, but the work is not shared"
                     + (": some rank computes on no example at all" if idle else "")
                     + ". Every rank takes the gradient of its own part of each batch, and the "
                     "all-reduce adds the parts up"),
            )  # fmt: skip
    return None
