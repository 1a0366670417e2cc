"""A trace as tables: what every rank sent and received, and the messages one by one."""

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["table", "table_html"]

_HEAD = ("rank", "messages sent", "bytes sent", "messages received", "bytes received")


def table(trace: "Trace", limit: int = 16) -> str:
    """Lay out by rank how many messages and bytes were sent and received, as text.

    Parameters
    ----------
    trace : Trace
        What happened.
    limit : int, default: 16
        How many ranks to list; a line says how many more there are.

    Returns
    -------
    str
        A line a rank, and one with the sums.
    """
    rows = [_HEAD, *_counts(trace, limit)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def table_html(trace: "Trace", limit: int = 16) -> str:
    """Write the same table as plain HTML: no style, no script, so that every viewer shows it.

    Parameters
    ----------
    trace : Trace
        What happened.
    limit : int, default: 16
        How many ranks to list; a line says how many more there are.

    Returns
    -------
    str
        A ``<table>`` element.
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in _HEAD)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>\n"
        for row in _counts(trace, limit)
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"


def _counts(trace: "Trace", limit: int) -> list[tuple[str, ...]]:
    columns = (
        trace.messages_sent(),
        trace.bytes_sent(),
        trace.messages_received(),
        trace.bytes_received(),
    )
    rows = [
        (str(rank), *(f"{value:,}" for value in values))
        for rank, values in enumerate(zip(*columns, strict=True))
    ]
    if len(rows) > limit:
        rows = [*rows[:limit], (f"{len(rows) - limit:,} more", "", "", "", "")]
    return [*rows, ("all", *(f"{sum(column):,}" for column in columns))]
