"""What the messages of a step look like where no rank is the combiner."""

from collections import Counter

from course_lib.checks.task import Hint
from course_lib.trace.trace import Trace

__all__ = ["all_to_all"]


def all_to_all(n_workers: int, n_steps: int, trace: Trace) -> tuple[str, Hint] | None:
    """Notice ranks that send to all others in each step, where one could add up for all.

    Parameters
    ----------
    n_workers : int
        P. Two workers send to each other in a right run, too: nothing is noticed.
    n_steps : int
        How many steps the run has.
    trace : Trace
        Its messages.

    Returns
    -------
    tuple of str and Hint, or None
        What was seen, and what to say.
    """
    if n_workers < 3 or n_steps < 1:
        return None
    sent = Counter((message.src, message.dst) for message in trace.messages)
    others, all_pairs = n_workers - 1, n_workers * (n_workers - 1)
    if len(sent) < all_pairs or min(sent.values()) < n_steps:
        return None
    return (
        "the result is right, but every rank sends to every other one: P (P - 1) = "
        f"{all_pairs} messages a step where 2 (P - 1) = {2 * others} are enough",
        Hint(
            "all-to-all",
            "only rank 0 needs the partial sums: the others send theirs to it alone, it adds up "
            "and updates, and sends the new model back to each",
        ),
    )
