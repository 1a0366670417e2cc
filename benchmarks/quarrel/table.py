"""Copy the tables of quarrel.json into docs/quarrel.md: ``python -m benchmarks.quarrel.table``."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import describe
from benchmarks.peers import ROOT

__all__ = ["DOCS", "RESULTS", "main", "tables", "updated"]

RESULTS = ROOT / "benchmarks" / "quarrel.json"
DOCS = ROOT / "docs" / "quarrel.md"
BEGIN = "<!-- tables: begin; made by python -m benchmarks.quarrel.table -->"
END = "<!-- tables: end -->"
MB = 1e6

Entry = dict[str, Any]


def tables(found: Entry) -> str:
    """Return all tables: who trains how fast, two sites, and the grids."""
    near = [entry for entry in found["runs"] if not entry["case"]["is_far"]]
    serial = [entry for entry in near if entry["case"]["scheme"] == "serial"]
    others = [entry for entry in near if entry["case"]["scheme"] != "serial"]
    parts = []
    for place in dict.fromkeys(_place(entry) for entry in others):
        workers, straggler = place
        slow = "no straggler" if straggler == 1 else f"one worker {straggler:g} times slower"
        parts += [f"### {workers} workers, {slow}", ""]
        parts += _race(serial + [entry for entry in others if _place(entry) == place], found)
    far = [entry for entry in found["runs"] if entry["case"]["is_far"]]
    for workers in dict.fromkeys(entry["case"]["workers"] for entry in far):
        of_them = [entry for entry in far if entry["case"]["workers"] == workers]
        parts += [f"### Two sites, {workers} workers together", "", *_far(of_them, found)]
    parts += ["### The grids", "", *_grids(found["grids"], len(found["seeds"]["grid"]))]
    parts.append(f"{found['n_runs']} runs, {found['cpu_s']} s of CPU: {describe(found['machine'])}")
    return "\n".join(parts)


def _place(entry: Entry) -> tuple[int, float]:
    return entry["case"]["workers"], entry["case"]["straggler"]


def _race(entries: Sequence[Entry], found: Entry) -> list[str]:
    n_epochs = found["rules"]["epochs"]
    head = (
        "scheme", "rate, momentum", "seeds there", "updates", "epochs", "virtual ms", "MB",
        f"accuracy after {n_epochs} epochs, %", f"virtual ms of {n_epochs} epochs",
    )  # fmt: skip
    return _table(head, (_row(entry) for entry in entries))


def _row(entry: Entry) -> list[str]:
    seeds = entry["seeds"]
    there = [seed for seed in seeds if "seconds" in seed]
    at_end = [seed for seed in seeds if not seed["is_diverged"]]
    n_diverged = len(seeds) - len(at_end)
    missed = [seed["loss"] for seed in at_end if "seconds" not in seed]
    nearest = f"; others end at {_spread(missed, '.3g')}" if missed else ""
    return [
        entry["case"]["scheme"] + _option(entry["case"]),
        f"{entry['rate']:g}, {entry['momentum']:g}",
        f"{len(there)} of {len(seeds)}"
        + nearest
        + (f"; {n_diverged} diverged" if n_diverged else ""),
        _spread([seed["updates"] for seed in there], ".0f"),
        _spread([seed["epochs"] for seed in there], ".1f"),
        _spread([1e3 * seed["seconds"] for seed in there], ".3g"),
        _spread([seed["bytes"] / MB for seed in there], ".3g"),
        _spread([100 * seed["accuracy"] for seed in at_end], ".1f"),
        _spread([1e3 * seed["whole_seconds"] for seed in at_end], ".3g"),
    ]


def _far(entries: Sequence[Entry], found: Entry) -> list[str]:
    n_epochs = found["rules"]["far_epochs"]
    head = (
        "H", "rate, momentum", "seeds there", "steps", "epochs", "virtual s", "s, predicted", "MB",
        "MB, predicted", f"accuracy after {n_epochs} epochs, %",
    )  # fmt: skip
    rows = []
    for entry in entries:
        scheme, *tuned = _row(entry)[:5]
        there = [seed for seed in entry["seeds"] if "seconds" in seed]
        told = [of for of in entry["predicted"] if of is not None]
        at_end = [seed for seed in entry["seeds"] if not seed["is_diverged"]]
        rows.append([
            scheme.rpartition(" ")[2], *tuned,
            _spread([seed["seconds"] for seed in there], ".4g"),
            _spread([of["seconds"] for of in told], ".4g"),
            _spread([seed["bytes"] / MB for seed in there], ".4g"),
            _spread([of["bytes"] / MB for of in told], ".4g"),
            _spread([100 * seed["accuracy"] for seed in at_end], ".1f"),
        ])  # fmt: skip
    return _table(head, rows)


def _grids(grids: Sequence[Entry], n_seeds: int) -> list[str]:
    lines = []
    for grid in grids:
        points = {(point["rate"], point["momentum"]): point for point in grid["points"]}
        rates, momenta = (sorted({point[i] for point in points}) for i in (0, 1))
        end = "" if grid["is_inside"] else "; the best is still at an end"
        lines += [f"{_name(grid['case'])}{end}:", ""]
        rows = []
        for momentum in momenta:
            row = {rate: _cell(points.get((rate, momentum)), n_seeds) for rate in rates}
            if momentum == grid["best"][1]:
                row[grid["best"][0]] = f"**{row[grid['best'][0]]}**"
            rows.append([f"{momentum:g}", *row.values()])
        lines += _table(["momentum", *(f"rate {rate:g}" for rate in rates)], rows)
    return lines


def _name(case: Entry) -> str:
    straggler = f", one {case['straggler']:g} times slower" if case["straggler"] > 1 else ""
    far = ", two sites" if case["is_far"] else ""
    batch = f", batches of {case['batch']}"
    workers = "" if case["scheme"] == "serial" else f", {case['workers']} workers"
    return f"`{case['scheme']}`{workers}{batch}{_option(case)}{straggler}{far}"


def _option(case: Entry) -> str:
    """Write H of local SGD, and of top-k how many numbers are sent."""
    every = f", H = {case['every']}" if case["every"] else ""
    return every + (f", k = {case['sent']}" if case["sent"] else "")


def _cell(found: Entry | None, n_seeds: int) -> str:
    """Write milliseconds to the target, and how many get there if not all; else the last loss."""
    if found is None:
        return ""
    if found["is_diverged"]:
        return "diverged"
    if "seconds" not in found:
        return f"({found['loss']:.2g})"
    some = f", {found['n_there']} of {n_seeds}" if found["n_there"] < n_seeds else ""
    return f"{1e3 * found['seconds']:.4g}{some}"


def _spread(numbers: Sequence[float], form: str) -> str:
    """Write the median, and the least and the most."""
    if not numbers:
        return "–"
    middle, low, high = (f"{n:{form}}" for n in (median(numbers), min(numbers), max(numbers)))
    return middle if low == high else f"{middle} ({low} … {high})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


def updated(text: str, found: Entry) -> str:
    """Return the document's text with the tables of these results."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{tables(found)}\n\n{END}{after}"


def main(docs: Path = DOCS, results: Path = RESULTS) -> None:
    found = json.loads(results.read_text(encoding="utf-8"))
    docs.write_text(updated(docs.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
