"""Aligned text and plain HTML for what was measured."""

import html
from collections.abc import Sequence

__all__ = ["as_html", "as_line", "as_text"]

Cells = Sequence[Sequence[str]]


def as_text(head: Sequence[str], rows: Cells) -> str:
    """Align columns: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return "\n".join(as_line(row, widths) for row in (head, *rows))


def as_line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Align one row: the first cell to the left, the others to the right."""
    cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
    return "  ".join([row[0].ljust(widths[0]), *cells[1:]])


def as_html(head: Sequence[str], rows: Cells, title: str) -> str:
    """Write the same as plain HTML: no style, no script, so that every viewer shows it."""
    lines = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows]
    return f"<table><caption>{html.escape(title)}</caption>{''.join(lines)}</table>"
