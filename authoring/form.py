"""The form of a lecture: how long it takes, and how much of it is shown rather than printed."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from authoring.scripts import COLLAPSED, Cell

__all__ = ["Form", "Measures", "form_of", "problems_of_form", "report"]

MOVING = frozenset({"player", "landscape", "race", "timeline", "gantt"})
"""What a playhead moves; stills and charts do not count."""

WORDS_A_MINUTE, LINES_A_MINUTE = 170, 15
MINUTES = {"prediction": 0.75, "output": 1 / 6, "moving": 0.5, "explorer": 1.0}
MOST_MINUTES, MOST_MINUTES_OF_A_PART = 40, 30
MOST_CELLS, MOST_PRINTS = 45, 8
LEAST_MOVING, LEAST_EXPLORERS = 3, 1
LEAST_CLAIMS, MOST_CLAIMS = 3, 5
MOST_LINES_MEDIAN, MOST_LINES_P90 = 5, 10

_PART = re.compile(r"#{1,2} Part \d")
_VERDICT = re.compile(r"\*\*Verdict on ")


@dataclass(frozen=True)
class Measures:
    """What is counted in some cells.

    Attributes
    ----------
    cells, words : int
        How many cells, and words of prose, without the lecturer's notes.
    lines : tuple of int
        The lines of each code cell whose source is shown.
    counts : Counter of str
        How many cells have a "print" or another "output", and how many "prediction", "moving"
        (pictures), "explorer" and "claim" there are.
    """

    cells: int
    words: int
    lines: tuple[int, ...]
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def minutes(self) -> float:
        """How long these cells take."""
        reading = self.words / WORDS_A_MINUTE + sum(self.lines) / LINES_A_MINUTE
        return reading + sum(self.counts[what] * each for what, each in MINUTES.items())

    @property
    def median_lines(self) -> float:
        """The lines of a shown code cell in the middle."""
        return median(self.lines) if self.lines else 0.0

    @property
    def p90_lines(self) -> float:
        """The lines that nine of ten shown code cells keep to."""
        return quantiles(self.lines, n=10)[-1] if len(self.lines) > 1 else self.median_lines


@dataclass(frozen=True)
class Form:
    """A lecture: its measures as a whole and, where it has parts, those of each."""

    whole: Measures
    parts: tuple[Measures, ...] = ()


def form_of(cells: Sequence[Cell]) -> Form:
    """Measure a lecture.

    Parameters
    ----------
    cells : sequence of Cell
        All of it. A part begins at a heading "Part 1", "Part 2"; what stands before is the first's.

    Returns
    -------
    Form
        What is counted.
    """
    known = _functions(cells)
    starts = [
        i for i, cell in enumerate(cells) if cell.kind == "markdown" and _PART.match(cell.source)
    ]
    parts = []
    if len(starts) > 1:
        ends = [*starts[1:], len(cells)]
        parts = [cells[a:b] for a, b in zip([0, *starts[1:]], ends, strict=True)]
    return Form(_measure(cells, known), tuple(_measure(part, known) for part in parts))


def problems_of_form(form: Form) -> list[str]:
    """Say where a lecture leaves the form.

    Returns
    -------
    list of str
        A line each: what is allowed, and what there is.
    """
    whole, counts = form.whole, form.whole.counts
    found = []
    for number, part in enumerate(form.parts or (whole,), start=1):
        where = f"part {number}: " if form.parts else ""
        most = MOST_MINUTES_OF_A_PART if form.parts else MOST_MINUTES
        found += _beyond(f"{where}minutes", part.minutes, most=most)
        found += _beyond(f"{where}cells", part.cells, most=MOST_CELLS)
    found += _beyond("cells that print", counts["print"], most=MOST_PRINTS)
    found += _beyond("moving pictures", counts["moving"], least=LEAST_MOVING)
    found += _beyond("explorers", counts["explorer"], least=LEAST_EXPLORERS)
    found += _beyond("claims", counts["claim"], least=LEAST_CLAIMS, most=MOST_CLAIMS)
    found += _beyond("lines of a code cell, median", whole.median_lines, most=MOST_LINES_MEDIAN)
    found += _beyond("lines of a code cell, p90", whole.p90_lines, most=MOST_LINES_P90)
    return found


def report(forms: dict[str, Form]) -> str:
    """Lay the measures of lectures out as a table; below it, what leaves the form."""
    names = ("minutes", "cells", "print", "moving", "explorer", "claim", "lines", "p90")
    rows = [["lecture", *names]]
    for name, form in forms.items():
        rows.append([name, *_row(form.whole)])
        rows += [[f"  part {n}", *_row(part)] for n, part in enumerate(form.parts, start=1)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for name, *values in rows:
        aligned = [value.rjust(width) for value, width in zip(values, wide[1:], strict=True)]
        lines.append("  ".join([name.ljust(wide[0]), *aligned]))
    for name, form in forms.items():
        lines += [f"{name}: {problem}" for problem in problems_of_form(form)]
    return "\n".join(lines)


def _row(part: Measures) -> list[str]:
    counted = [str(part.counts[what]) for what in ("print", "moving", "explorer", "claim")]
    return [
        f"{part.minutes:.0f}", str(part.cells), *counted,
        f"{part.median_lines:g}", f"{part.p90_lines:g}",
    ]  # fmt: skip


def _beyond(what: str, value: float, least: float = 0, most: float = float("inf")) -> list[str]:
    if least <= value <= most:
        return []
    limits = f"at most {most:g}" if most < float("inf") and not least else f"at least {least:g}"
    if least and most < float("inf"):
        limits = f"{least:g} to {most:g}"
    return [f"{what}: {limits}, got {value:.3g}"]


def _measure(cells: Iterable[Cell], known: dict[str, Counter[str]]) -> Measures:
    cells, words, lines, counts = list(cells), 0, [], Counter[str]()
    for cell in cells:
        if cell.kind == "markdown":
            words += 0 if _is_for_lecturers(cell) else _words(cell.source)
            counts["claim"] += len(_VERDICT.findall(cell.source))
            continue
        if not _is_hidden(cell):
            lines.append(sum(1 for line in cell.source.splitlines() if line.strip()))
        counts += _shown(cell.source, known)
    shown = sum(not _is_for_lecturers(cell) for cell in cells)
    return Measures(shown, words, tuple(lines), counts)


def _is_for_lecturers(cell: Cell) -> bool:
    return bool(cell.metadata.get("slideshow", {}).get("slide_type") == "notes")


def _is_hidden(cell: Cell) -> bool:
    hidden = cell.metadata.get("jupyter", {}).get("source_hidden")
    return bool(hidden) or "hide-input" in cell.tags or not COLLAPSED.keys().isdisjoint(cell.tags)


def _words(source: str) -> int:
    text = re.sub(r"<[^>]+>|\$[^$]*\$|`[^`]*`", " x ", source)
    return len(re.findall(r"\w[\w'’-]*", text))


def _shown(source: str, known: dict[str, Counter[str]]) -> Counter[str]:
    """Count what a code cell shows; a function that it defines shows nothing before its call."""
    body = ast.parse(source).body
    called = Counter[str]()
    for statement in body:
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            called += _called(statement, known)
    found = Counter({what: n for what, n in called.items() if what != "print"})
    found["print"] = int(called["print"] > 0)
    speaks = bool(body) and isinstance(body[-1], ast.Expr)
    if (speaks or found["print"]) and not any(
        found[what] for what in ("prediction", "moving", "explorer")
    ):
        found["output"] = 1
    return +found


def _called(tree: ast.AST, known: dict[str, Counter[str]]) -> Counter[str]:
    found = Counter[str]()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        found += known.get(name, Counter())
        if name in MOVING:
            found["moving"] += 1
        elif name in ("print", "claim"):
            found[name] += 1
        elif name == "predict":
            found["prediction"] += 1
        elif name == "explore":
            found["explorer"] += 1
            moved = node.args[0] if node.args else None
            if isinstance(moved, ast.Name) and known.get(moved.id, Counter())["moving"]:
                found["moving"] += 1  # a slider moves it
    return found


def _functions(cells: Sequence[Cell]) -> dict[str, Counter[str]]:
    """Say of each function that a lecture defines what a call of it shows."""
    known: dict[str, Counter[str]] = {}
    for cell in cells:
        if cell.kind == "code":
            for statement in ast.parse(cell.source).body:
                if isinstance(statement, ast.FunctionDef):
                    known[statement.name] = _called(statement, known)
    return known
