"""What a check gives back: the verdict, the first failing case, a hint and the price, drawn."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from course_lib.checks.diagnosis import Diagnosis
from course_lib.checks.task import Price
from course_lib.trace.trace import Trace

__all__ = ["PriceRow", "Report", "price_rows"]

PASSED, FAILED, UNWRITTEN = "passed", "failed", "not written yet"
_LONGEST, _WIDTH = 1_200, 96

# The classes of coloured text output follow the theme, and bring no style sheet of their own.
_TONES = {
    PASSED: "ansi-green-fg ansi-bold",
    FAILED: "ansi-red-fg ansi-bold",
    UNWRITTEN: "ansi-bold",
}


class PriceRow(NamedTuple):
    """One line of the price table."""

    what: str
    yours: str
    budget: str
    reference: str


@dataclass(frozen=True)
class Report:
    """The result of a check; it draws itself in a notebook.

    Attributes
    ----------
    name, title : str
        The task.
    status : {"passed", "failed", "not written yet"}
        The verdict. Only ``"passed"`` counts.
    n_cases : int
        How many cases were run.
    case : str
        The first failing case, in words.
    fault : Diagnosis or None
        What is wrong with it.
    prices : tuple of PriceRow
        What one call cost, may cost and need cost.
    trace : Trace or None
        The messages of the failing case.
    printed : str
        What the function printed in the failing case.
    layout : {"ring", "star", "line"}
        Where the workers stand when the failing run is played.
    roles : mapping of int to str
        What some ranks are besides workers.
    """

    name: str
    title: str
    status: str
    n_cases: int = 0
    case: str = ""
    fault: Diagnosis | None = None
    prices: tuple[PriceRow, ...] = ()
    trace: Trace | None = None
    printed: str = ""
    layout: str = "ring"
    roles: Mapping[int, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the task is solved."""
        return self.status == PASSED

    @property
    def hint_id(self) -> str:
        """The short name of the hint; empty where there is none."""
        return self.fault.hint.id if self.fault else ""

    def __repr__(self) -> str:
        """Lay the report out as plain text."""
        lines = [_wrapped(self._headline())]
        lines += [f"  {name:<10}{_wrapped(text, 12)}" for name, text in self._facts()]
        if self.prices:
            head = PriceRow("", "yours", "budget", "reference")
            lines += [
                f"  {row.what:<30}{row.yours:>12}{row.budget:>12}{row.reference:>12}"
                for row in (head, *self.prices)
            ]
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.status == UNWRITTEN:
            return f"{self.name}: not written yet. {self.title}"
        if self.status == PASSED:
            return f"{self.name}: right, in all {self.n_cases} cases."
        return f"{self.name}: not right yet. {self.fault.says if self.fault else ''}"

    def _facts(self) -> list[tuple[str, str]]:
        if self.fault is None:
            return []
        fault = self.fault
        facts = [("case", self.case), ("when", fault.step)]
        facts += [("rank", "" if fault.rank is None else str(fault.rank))]
        facts += [("expected", fault.expected), ("got", fault.got)]
        facts += [("printed", self.printed.rstrip()), ("hint", fault.hint.text)]
        return [(name, text) for name, text in facts if text]

    def _html(self) -> str:
        verdict, _, rest = self._headline().partition(". ")
        tone = _TONES[self.status]
        lines = [_flowing(rest)] if rest else []
        lines += [f"<b>{name}:</b> {_flowing(text)}" for name, text in self._facts()]
        return (
            _as_it_is(f'<span class="{tone}">{escape(verdict.rstrip("."))}.</span>')
            + (f"<p>{'<br>'.join(lines)}</p>".replace("<p><br>", "<p>") if lines else "")
            + (_price_table(self.prices) if self.prices else "")
        )

    def _ipython_display_(self) -> None:
        from IPython.display import display

        show: Any = display
        show({"text/plain": repr(self), "text/html": self._html()}, raw=True)
        if self.trace is not None and self.trace.messages:
            from course_lib.viz import player

            title = f"{self.name}: {self.case}"
            show(player(self.trace, self.layout, title=title, roles=dict(self.roles)))


def price_rows(yours: Price, budget: Price, reference: Price) -> tuple[PriceRow, ...]:
    """Lay out what one call cost, may cost, and costs the reference solution."""
    rows = [
        PriceRow(what, *(f"{value:,}" for value in values))
        for what, values in (
            ("messages", (yours.messages, budget.messages, reference.messages)),
            ("bytes", (yours.n_bytes, budget.n_bytes, reference.n_bytes)),
            (
                "bytes at the busiest rank",
                (yours.busiest_bytes, budget.busiest_bytes, reference.busiest_bytes),
            ),
        )
    ]
    if budget.rounds is not None:
        counted = (f"{price.rounds or 0:,}" for price in (yours, budget, reference))
        rows.append(PriceRow("rounds", *counted))
    if budget.seconds is not None:
        times = (yours.seconds, budget.seconds, reference.seconds)
        rows.append(PriceRow("virtual time, microseconds", *map(_microseconds, times)))
    return tuple(rows)


def _microseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:,.2f}"


def _price_table(rows: Sequence[PriceRow]) -> str:
    names = ("price of one call", "yours", "budget", "reference")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{row.what}</th>'
        + "".join(f"<td>{value}</td>" for value in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _flowing(text: str) -> str:
    """Let the window break a sentence between words; what has lines of its own keeps them."""
    text = escape(_cut(text))
    return f"</p>{_as_it_is(text)}<p>" if "\n" in text else text


def _as_it_is(html: str) -> str:
    return f'<div class="jp-RenderedText"><pre>{html}</pre></div>'


def _cut(text: str) -> str:
    """Leave out the end of a very long text."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _wrapped(text: str, indent: int = 0) -> str:
    """Break long lines between words, and leave out the end of a very long text."""
    lines = []
    for line in _cut(text).splitlines():
        hanging = " " * (len(line) - len(line.lstrip()) + 2)
        lines += textwrap.wrap(line, _WIDTH - indent, subsequent_indent=hanging) or [""]
    return ("\n" + " " * indent).join(lines)
