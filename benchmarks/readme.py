"""Copy the rows of ``results.json`` into README.md: ``python -m benchmarks.readme``."""

import json
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.algorithms import algorithm_table
from benchmarks.machine import describe
from benchmarks.peers import ROOT
from benchmarks.rows import Row

__all__ = ["README", "RESULTS", "updated"]

RESULTS = ROOT / "benchmarks" / "results.json"
README = ROOT / "README.md"
BEGIN = "<!-- benchmarks: begin; made by python -m benchmarks.readme -->"
END = "<!-- benchmarks: end -->"
_SHORTER = {
    ", geometric mean": "",
    "data-parallel training step, ": "data-parallel step, ",
    "simulated ring of 1,024 ranks, ": "simulated ring, 1,024 ranks, ",
    "where we gain least: ": "our least gain, ",
    "4 processes": "4 proc.",
    "2 processes": "2 proc.",
    " examples": " ex.",
}
"""In the table, where a row has little room."""
_LEGEND = (
    "Where a row has several sizes it is their geometric mean. MLP 784-1024-1024-10 is a "
    "perceptron with so many units in each layer; proc. are processes, ex. examples."
)


def table(found: dict[str, Any]) -> str:
    """Return the rows as a table, and what they were measured on."""
    rows = [Row.from_dict(known) for known in found["rows"]]
    lines = [
        "| what | size | against | median | lowest … highest round |",
        "|---|---|---|---|---|",
        *map(_line, rows),
        "",
        textwrap.fill(_LEGEND, 120),
        "",
        textwrap.fill(f"{found['rounds']} rounds in one run: {describe(found['machine'])}.", 120),
    ]
    if "algorithms" in found:
        lines += ["", algorithm_table(found["algorithms"], found["algorithm_rounds"])]
    return "\n".join(lines)


def _line(row: Row) -> str:
    """Put what is measured and its sizes into columns of their own, in few words."""
    for long, short in _SHORTER.items():
        row = replace(row, what=row.what.replace(long, short), peer=row.peer.replace(long, short))
    what, _, size = row.what.partition(", ")
    return f"| {what} | {size} | {row.peer or '–'} | {row.measured} | {row.spread} |"


def updated(text: str, found: dict[str, Any]) -> str:
    """Return README.md's text with the table of these results."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table(found)}\n{END}{after}"


def main(readme: Path = README, results: Path = RESULTS) -> None:
    found = json.loads(results.read_text(encoding="utf-8"))
    readme.write_text(updated(readme.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
