"""Tables: as text for a terminal and for tests, as plain HTML that follows every theme."""

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from course_lib.words.units import in_bytes, in_seconds

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["Table", "table"]


class Table:
    """Rows and columns; make one with ``table(rows)``.

    Parameters
    ----------
    head : sequence of str
        The columns' names.
    rows : list of list of str
        The cells, as they are read.
    numeric : sequence of bool
        Which columns are numbers; they are set flush right.
    told : set of (int, int)
        The cells that are marked: row and column, from 0.
    caption : str, default: ""
        A sentence above it.
    """

    def __init__(
        self,
        head: Sequence[str],
        rows: list[list[str]],
        numeric: Sequence[bool],
        told: Collection[tuple[int, int]] = (),
        caption: str = "",
    ) -> None:
        self.head, self.rows, self.numeric = list(head), rows, list(numeric)
        self.told, self.caption = set(told), caption

    def __repr__(self) -> str:
        """Lay it out as text: aligned columns, a star behind a marked cell."""
        marked = [
            [cell + " *" * ((r, c) in self.told) for c, cell in enumerate(row)]
            for r, row in enumerate(self.rows)
        ]
        rows = [self.head, *marked]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self.head))]
        lines = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, self.numeric, strict=True)
            ).rstrip()
            for row in rows
        ]
        return "\n".join([self.caption, *lines] if self.caption else lines)

    def _repr_html_(self) -> str:
        """Write it as plain HTML: no style, no script, so that every viewer shows it."""
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self.head)
        body = []
        for r, row in enumerate(self.rows):
            cells = []
            for c, cell in enumerate(row):
                text = html.escape(cell)
                text = f"<strong>▸ {text}</strong>" if (r, c) in self.told else text
                heads = c == 0 and not self.numeric[0]
                cells.append(f'<th scope="row">{text}</th>' if heads else f"<td>{text}</td>")
            body.append(f"<tr>{''.join(cells)}</tr>")
        caption = f"<caption>{html.escape(self.caption)}</caption>\n" if self.caption else ""
        rows = "\n".join(body)
        return (
            f"<table>\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
        )


def table(
    data: "Trace | Mapping[Any, Mapping[str, Any]] | Iterable[Mapping[str, Any]]",
    *,
    units: Mapping[str, str] | None = None,
    told: Collection[tuple[int, str]] = (),
    caption: str = "",
    limit: int = 16,
) -> Table:
    """Lay out rows as a table; of a trace, what every rank sent and received.

    Parameters
    ----------
    data : Trace, dict of dicts, or list of dicts
        A row each: columns by name, the same in all. A dict's keys become the first column.
    units : dict of str to str or None, default: None
        The unit of a column: ``"s"`` and ``"bytes"`` are written as people read them, ``"%"`` takes
        fractions, any other text follows the number.
    told : collection of (int, str), default: ()
        The cells to mark: row from 0, and column.
    caption : str, default: ""
        A sentence above it.
    limit : int, default: 16
        Of a trace, how many ranks to list; a line says how many more there are.

    Returns
    -------
    Table
        A notebook shows it as a table, ``print`` as text.

    Raises
    ------
    ValueError
        If there is no row, rows have different columns, or a unit or mark names no column.

    Examples
    --------
    >>> table({"ring": {"rounds": 6, "time": 0.00123}, "tree": {"rounds": 4, "time": 0.0025}},
    ...       units={"time": "s"}, told=[(0, "time")])
          rounds       time
    ring       6  1.23 ms *
    tree       4     2.5 ms
    """
    if hasattr(data, "messages_sent"):
        return _traffic(data, limit)  # type: ignore[arg-type]
    if isinstance(data, Mapping):
        rows = [{"": name, **row} for name, row in data.items()]
    else:
        rows = [dict(row) for row in data]
    if not rows:
        raise ValueError("data must hold at least one row, got none")
    head = list(rows[0])
    for number, row in enumerate(rows):
        if list(row) != head:
            raise ValueError(f"row {number} must have the columns {head}, got {list(row)}")
    for name in [*(units or {}), *(column for _, column in told)]:
        if name not in head:
            raise ValueError(f"units and told must name columns of {head}, got {name!r}")
    cells = [[_text(row[name], (units or {}).get(name, "")) for name in head] for row in rows]
    numeric = [all(_is_number(row[name]) for row in rows) for name in head]
    return Table(head, cells, numeric, [(r, head.index(name)) for r, name in told], caption)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if value is None or isinstance(value, int | float):
        return True
    return hasattr(value, "dtype") and getattr(value.dtype, "kind", "f") in "iuf"  # or torch's


def _text(value: Any, unit: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        return "yes" if value else "no"
    if not _is_number(value):
        return str(value)
    number = float(value)
    if unit == "s":
        return in_seconds(number)
    if unit == "bytes":
        return in_bytes(number)
    if unit == "%":
        return f"{number:.0%}".replace("%", " %")
    # A large number has no exponent, whatever stands in the other rows of its column.
    whole = abs(number) < 1e15 and (number.is_integer() or abs(number) >= 9999.5)
    return f"{number:,.0f} {unit}".rstrip() if whole else f"{number:,.4g} {unit}".rstrip()


def _traffic(trace: "Trace", limit: int) -> Table:
    head = ("rank", "messages sent", "bytes sent", "messages received", "bytes received")
    columns = (
        trace.messages_sent(),
        trace.bytes_sent(),
        trace.messages_received(),
        trace.bytes_received(),
    )
    rows = [
        [str(rank), *(f"{value:,}" for value in values)]
        for rank, values in enumerate(zip(*columns, strict=True))
    ]
    if len(rows) > limit:
        rows = [*rows[:limit], [f"{len(rows) - limit:,} more", "", "", "", ""]]
    rows.append(["all", *(f"{sum(column):,}" for column in columns)])
    return Table(head, rows, [True] * len(head))
