"""Copy the rows of ``results.json`` into README.md: ``python -m benchmarks.readme``."""

import json
import textwrap
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


def table(found: dict[str, Any]) -> str:
    """Return the rows as a table, and what they were measured on."""
    rows = [Row.from_dict(known) for known in found["rows"]]
    lines = [
        "| what | against | median | lowest … highest round |",
        "|---|---|---|---|",
        *(f"| {row.what} | {row.peer or '–'} | {row.measured} | {row.spread} |" for row in rows),
        "",
        textwrap.fill(f"{found['rounds']} rounds in one run: {describe(found['machine'])}.", 120),
    ]
    if "algorithms" in found:
        lines += ["", algorithm_table(found["algorithms"], found["algorithm_rounds"])]
    return "\n".join(lines)


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
