"""What was found about a computer, and how it reads."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """What was found about one thing.

    Attributes
    ----------
    topic : str
        What was looked at, such as "shared memory".
    verdict : {"ok", "warning", "problem"}
        A warning limits something; with a problem the course does not work.
    found : str
        What was found, with numbers and units.
    fix : str
        What to do about it; empty if nothing has to be done.
    """

    topic: str
    verdict: Verdict
    found: str
    fix: str = ""


@dataclass(frozen=True)
class Report:
    """All findings; it draws itself as text and as a table.

    Attributes
    ----------
    findings : tuple of Finding
        In the order in which they were made.
    """

    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing that was found keeps the course from working."""
        return all(finding.verdict != "problem" for finding in self.findings)

    def __str__(self) -> str:
        """Return the report as aligned text."""
        return "\n".join([*self._lines(), "", self._summary()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the report as a plain HTML table; JupyterLab would move its words to the right."""
        left = 'style="text-align: left"'
        rows = "".join(
            "<tr>" + "".join(f"<td {left}>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
            for cells in ((one.verdict, one.topic, one.found, one.fix) for one in self.findings)
        )
        names = "".join(f"<th {left}>{name}</th>" for name in ("what", "found", "what to do"))
        head = f"<tr><td></td>{names}</tr>"
        return f"<table>{head}{rows}</table><p>{html.escape(self._summary())}</p>"

    def _lines(self) -> Iterator[str]:
        width = max((len(finding.topic) for finding in self.findings), default=0)
        for finding in self.findings:
            start = f"{finding.verdict:<8} {finding.topic:<{width}}  "
            yield from _wrapped(finding.found, start)
            if finding.fix:
                yield from _wrapped(finding.fix, " " * len(start) + "→ ")

    def _summary(self) -> str:
        counts = [
            f"{number} {word}{'s' if number > 1 else ''}"
            for word in ("problem", "warning")
            if (number := sum(finding.verdict == word for finding in self.findings))
        ]
        return f"{' and '.join(counts)}." if counts else "Everything is in order."


def _wrapped(text: str, start: str) -> list[str]:
    """Wrap a text to 100 columns behind a start that the next lines leave blank."""
    indent = " " * len(start)
    return textwrap.wrap(text, 100, initial_indent=start, subsequent_indent=indent) or [start]
