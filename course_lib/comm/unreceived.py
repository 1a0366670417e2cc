"""Messages that were sent but that nobody received: one sentence for every world."""

from collections import Counter
from collections.abc import Iterable

from course_lib.comm.errors import UnreceivedMessagesWarning
from course_lib.comm.messages import Tag
from course_lib.comm.warn import warn_caller

__all__ = ["warn_unreceived"]

_MOST_LINES = 5


def warn_unreceived(left: Iterable[tuple[int, int, Tag]], out_of_step: Iterable[str]) -> None:
    """Warn about messages that were still unreceived when every rank had returned.

    Parameters
    ----------
    left : iterable of (src, dst, tag)
        One for each message, in any order; nothing happens if there are none.
    out_of_step : iterable of str
        For each communicator, in which collectives its ranks were last; empty if in the same.
    """
    counts = Counter(left)
    if not counts:
        return
    lines = []
    for (src, dst, tag), n_messages in sorted(counts.items(), key=lambda item: item[0][:2]):
        what = f"{n_messages} message{'s' * (n_messages > 1)}"
        lines.append(f"{what} from rank {src} to rank {dst} (tag={tag!r})")
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES} more pairs of ranks"]
    total = sum(counts.values())
    why = next(filter(None, out_of_step), "")
    why = why or "the receiver returned too early, or the sender sent too many"
    warn_caller(
        f"{total} unreceived message{'s' * (total > 1)}: {', '.join(lines)}; {why}",
        UnreceivedMessagesWarning,
    )
