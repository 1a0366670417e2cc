"""A history checker: from what clients saw of a server of counts, tell what the server did wrong.

Clients add to counts, each addition with an id of its own; a count belongs to one id, so that every
value says which additions are in it. Their notes on the trace are the history:

| note | value |
|---|---|
| ``invoke`` | the id of an addition that is about to be sent (again, after a crash) |
| ``ack`` | the id of an addition that the server has confirmed |
| ``ask`` | the number of a read that is about to be sent |
| ``read`` | ``[number, first half, second half]``: the counts, which the server keeps twice |
| ``final`` | the counts when all is over |

What is checked: every confirmed addition was made exactly once, every other one at most once; both
halves of what is read are from the same moment; and a read misses no more than ``bound`` of the
additions that were confirmed before it was asked for.
"""

from course_lib.trace.trace import Trace

__all__ = ["findings"]


def findings(trace: Trace, bound: int = 0) -> list[str]:
    """Say what is wrong with a history; nothing if it can be explained.

    Parameters
    ----------
    trace : Trace
        Of a run whose ranks made the notes above.
    bound : int, default: 0
        How many confirmed additions a read may miss.

    Returns
    -------
    list of str
        A sentence for each fault; the first words say of which kind.
    """
    return [*_additions(trace), *_reads(trace, bound)]


def _additions(trace: Trace) -> list[str]:
    (final,) = trace.notes_named("final")
    invoked = {note.value for note in trace.notes_named("invoke")}
    confirmed = {note.value for note in trace.notes_named("ack")}
    found = []
    for number, count in enumerate(final.value):
        if number in confirmed and count == 0:
            found.append(f"lost update: addition {number} was confirmed and is not in the end")
        if count > 1:
            found.append(f"double apply: addition {number} was made {count} times")
        if count and number not in invoked:
            found.append(f"invented: addition {number} was made and nobody asked for it")
    return found


def _reads(trace: Trace, bound: int) -> list[str]:
    asked_s = {(note.rank, note.value): note.time_s for note in trace.notes_named("ask")}
    first_ack_s: dict[int, float] = {}
    for note in trace.notes_named("ack"):
        first_ack_s.setdefault(note.value, note.time_s)
    found = []
    for note in trace.notes_named("read"):
        number, first, second = note.value
        if first != second:
            found.append(f"half-written: rank {note.rank} read {first} and {second}")
        before_s = asked_s[note.rank, number]
        missed = [
            addition
            for addition, ack_s in first_ack_s.items()
            if ack_s <= before_s and not first[addition]
        ]
        if len(missed) > bound:
            found.append(
                f"stale: rank {note.rank} asked at {before_s:.3g} s and did not see additions "
                f"{missed}, confirmed before"
            )
    return found
