"""What a check gives back: the verdict, the first failing case, a hint and the price, drawn."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from course_lib.checks.diagnosis import Diagnosis
from course_lib.checks.sandbox import Mishap
from course_lib.checks.steps import Step, excerpt
from course_lib.checks.task import Price
from course_lib.trace.trace import Trace
from course_lib.words.repeats import repeats

__all__ = ["PriceRow", "Report", "price_rows"]

PASSED, FAILED, UNWRITTEN = "passed", "failed", "not written yet"
_LONGEST, _WIDTH = 1_200, 96
_MOST_LINES, _MOST_TOLD, _MOST_PRINTED, _LAST_LINES = 30, 16, 5, 3
_LONGEST_PERIOD = 8  # lines
_JARGON = "'SimulatedCommunicator' object"  # what Python says has no such attribute
_ONE = re.compile(
    r"(?<![\d.,])1 ((?:round |random )?"
    r"(?:row|layer|trip|number|step|feature|worker|example|server|message|byte|shard|span))s\b"
)
_MORE = re.compile(r"\.\.\. ([\d,]+) more lines")

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
    given : str
        Its arguments, where they are shown.
    fault : Diagnosis or None
        What is wrong with it.
    prices : tuple of PriceRow
        What one call cost, may cost and need cost.
    trace : Trace or None
        The messages of the failing case.
    other : Step or None
        The first of them that is not as in a right run.
    mishap : Mishap or None
        Why the failing case gave no results.
    printed : str
        What the function printed in the failing case.
    layout : {"ring", "star", "line"}
        Where the workers stand when the failing run is played.
    roles : mapping of int to str
        What some ranks are besides workers.
    cell : int or None
        The number of the notebook's cell in which the function was defined.
    newer_cell : int or None
        That of a cell run later, which was to define it anew and did not.
    """

    name: str
    title: str
    status: str
    n_cases: int = 0
    case: str = ""
    fault: Diagnosis | None = None
    prices: tuple[PriceRow, ...] = ()
    trace: Trace | None = None
    other: Step | None = None
    mishap: Mishap | None = None
    printed: str = ""
    layout: str = "ring"
    roles: Mapping[int, str] = field(default_factory=dict)
    cell: int | None = None
    newer_cell: int | None = None
    given: str = ""

    @property
    def passed(self) -> bool:
        """Whether the task is solved."""
        return self.status == PASSED

    @property
    def hint_id(self) -> str:
        """The short name of the hint; empty where there is none."""
        return self.fault.hint.id if self.fault else ""

    def __repr__(self) -> str:
        """Lay the report out as plain text, in 30 lines at most."""
        facts = [f"  {name:<10}{_wrapped(text, 12)}" for name, text in self._facts()]
        below = [line for fact in facts for line in fact.splitlines()]
        if self.prices:
            below += _price_lines(self.prices)
        headline = _wrapped(self._headline()).splitlines()
        return "\n".join([*few(headline, _MOST_LINES - len(below)), *below])

    def _headline(self) -> str:
        if self.status == UNWRITTEN:
            return f"{self.name}: not written yet. {self.title}"
        if self.status == PASSED:
            return f"{self.name}: right, in all {self.n_cases} cases."
        says = self.fault.says.replace(_JARGON, "comm") if self.fault else ""
        return f"{self.name}: not right yet. {says}"

    def _facts(self) -> list[tuple[str, str]]:
        """List what else is known, by its name; each in a few lines."""
        facts = [("defined", self._defined())]
        if self.fault is not None:
            fault = self.fault
            rank = "" if fault.rank is None else str(fault.rank)
            facts += [("case", _ONE.sub(r"1 \1", self.case)), ("given", self.given)]
            facts += [("when", fault.step), ("rank", rank)]
            facts += [("expected", fault.expected), ("got", fault.got)]
            if self.other and self.trace and self.trace.messages:
                facts += [("differs", f"{self.other.says} (the picture begins there)")]
            printed = few(self.printed.rstrip().splitlines(), _MOST_PRINTED)
            facts += [("printed", "\n".join(printed)), ("hint", fault.hint.text)]
        return [(name, text) for name, text in facts if text]

    def _defined(self) -> str:
        """Say which function was judged, where that is not plain to see."""
        if self.newer_cell is not None:
            return (
                f"in cell In[{self.cell}]; cell In[{self.newer_cell}], run later, ended in an "
                "error before it could define the function anew: this is the old one"
            )
        known = self.cell is not None and self.status == FAILED
        return f"in cell In[{self.cell}]" if known else ""

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
        for picture in self._pictures():
            show(picture)

    def _pictures(self) -> Iterator[Any]:
        """Draw who waits for whom, and the messages from the first one that goes wrong."""
        from course_lib.viz import draw_wait_graph, player

        if self.mishap is not None and self.mishap.cycles:
            with suppress(ValueError):  # of too many ranks
                yield draw_wait_graph(self.mishap.graph, *self.mishap.cycles)
        if self.trace is None or not self.trace.messages:
            return
        time_s = self.other.time_s if self.other else 0.0
        trace, begin_s = excerpt(self.trace, time_s)
        title = f"{self.name}: {self.case}"
        if trace is not self.trace:
            title += f" ({trace.n_messages:,} of {self.trace.n_messages:,} messages)"
        played = player(trace, self.layout, title=title, roles=dict(self.roles))
        played.time_s = min(max(time_s - begin_s, 0.0), trace.end_s)
        yield played


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
    if budget.seconds is not None and reference.seconds is not None:
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


def _price_lines(rows: Sequence[PriceRow]) -> list[str]:
    cells = [PriceRow("", "yours", "budget", "reference"), *rows]
    widths = [max(12, *(len(row[column]) + 2 for row in cells)) for column in range(1, 4)]
    return [
        f"  {row.what:<30}"
        + "".join(f"{text:>{width}}" for text, width in zip(row[1:], widths, strict=True))
        for row in cells
    ]


def few(lines: list[str], most: int) -> list[str]:
    """Leave out the middle of many lines: what comes again, or else what comes last but a few."""
    lines = _without_repeats(lines)
    if len(lines) <= most:
        return lines
    head = max(1, most - 1 - _LAST_LINES)
    tail = max(0, most - 1 - head)
    cut = lines[head : len(lines) - tail]
    counted = [int(more[1].replace(",", "")) - 1 for more in map(_MORE.fullmatch, cut) if more]
    left_out = f"... {len(cut) + sum(counted):,} more lines"
    return [*lines[:head], left_out, *lines[len(lines) - tail :]]


def _without_repeats(lines: list[str]) -> list[str]:
    """Say in a line how often some lines come again, as those of a loop that prints."""
    kept: list[str] = []
    for block, times in repeats(lines, longest=_LONGEST_PERIOD):
        kept += block
        if times > 1 and any(block):
            kept.append(f"  ... and the same again, {times - 1:,} times")
        elif times > 1:
            kept += block * (times - 1)
    return kept


def _flowing(text: str) -> str:
    """Let the window break a sentence between words; what has lines of its own keeps them."""
    if "\n" not in text:
        return escape(_cut(text))
    return f"</p>{_as_it_is(escape(_wrapped(text)))}<p>"


def _as_it_is(html: str) -> str:
    return f'<div class="jp-RenderedText"><pre>{html}</pre></div>'


def _cut(text: str) -> str:
    """Leave out the end of a very long text."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _wrapped(text: str, indent: int = 0) -> str:
    """Break long lines between words, and leave out what makes a text very long."""
    lines = []
    for line in _cut("\n".join(few(text.splitlines(), _MOST_TOLD))).splitlines():
        hanging = " " * (len(line) - len(line.lstrip()) + 2)
        lines += textwrap.wrap(line, _WIDTH - indent, subsequent_indent=hanging) or [""]
    return ("\n" + " " * indent).join(lines)
