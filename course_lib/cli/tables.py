"""Aligned text and plain HTML for what was measured."""

import html
from collections.abc import Sequence

__all__ = ["as_html", "as_line", "as_text", "in_bytes", "in_seconds"]

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


def in_seconds(seconds: float | None) -> str:
    """Write seconds with three digits and their unit: "41.5 µs"; "–" for None."""
    if seconds is None:
        return "–"
    if seconds >= 1:
        return f"{_three_digits(seconds)} s"
    if seconds >= 1e-3:
        return f"{_three_digits(seconds * 1e3)} ms"
    return f"{_three_digits(seconds * 1e6)} µs"


def in_bytes(n_bytes: float) -> str:
    """Write bytes with three digits and their unit; 1 KB is 1,000 bytes."""
    value, unit = float(n_bytes), "B"
    for larger in ("KB", "MB", "GB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{_three_digits(value)} {unit}"


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"
