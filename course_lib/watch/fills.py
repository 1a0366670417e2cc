"""When which chunk of a rank holds whose contributions: read from what was sent and returned."""

from operator import attrgetter, itemgetter

from course_lib.trace.contributions import Counts, Fill
from course_lib.trace.trace import Trace

__all__ = ["follow"]


def follow(
    trace: Trace,
    held: list[list[Counts]],
    carried: list[dict[int, Counts]],
    returned: list[dict[int, Counts]],
) -> list[Fill]:
    """Follow every rank's chunks: what it receives and sends is there, what it returns is final.

    Parameters
    ----------
    trace : Trace
        What happened.
    held : list of list
        By rank and chunk, the counts of the contributions that it had at the start.
    carried : list of dict
        By message, the counts in each chunk that it carried.
    returned : list of dict
        By rank, the counts in each chunk that it returned.

    Returns
    -------
    list of Fill
        When which chunk held what, in the order of time.
    """
    seen = []
    last_s = [0.0] * trace.size
    for m, chunks in zip(trace.messages, carried, strict=True):
        seen.append((m.posted_s, m.src, chunks))
        last_s[m.src] = max(last_s[m.src], m.sent_s)
        if m.received_s is not None:
            seen.append((m.received_s, m.dst, chunks))
            last_s[m.dst] = max(last_s[m.dst], m.received_s)
    now = [list(chunks) for chunks in held]
    fills = []
    for time_s, rank, chunks in sorted(seen, key=itemgetter(0)):
        for chunk, counts in chunks.items():
            together = _together(now[rank][chunk], counts)
            if together != now[rank][chunk]:
                now[rank][chunk] = together
                fills.append(Fill(rank, chunk, together, time_s))
    for rank, chunks in enumerate(returned):
        fills += [
            Fill(rank, chunk, counts, last_s[rank])
            for chunk, counts in chunks.items()
            if counts != now[rank][chunk]
        ]
    return sorted(fills, key=attrgetter("time_s"))


def _together(one: Counts, other: Counts) -> Counts:
    """Add up what is known; what cannot be read, a message of sizes for one, adds nothing."""
    if one is None or other is None:
        return one or other
    return tuple(map(max, one, other))
