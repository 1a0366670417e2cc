"""The tables that are printed, and the JSON that is written."""

import json
from typing import Any

from benchmarks.machine import describe
from benchmarks.plan import size_name
from benchmarks.rows import Row
from benchmarks.samples import Key, Samples, Spread

__all__ = ["as_json", "print_report", "results"]


def results(
    samples: Samples, summary: list[Row], machine: dict[str, Any], n_rounds: int
) -> dict[str, Any]:
    """Return what is worth keeping of a run; ratios are those of ``print_report``."""
    return {
        "machine": machine,
        "rounds": n_rounds,
        "rows": [row.as_dict() for row in summary],
        "ratios": [
            {"what": first.what, "processes": first.processes}
            | {"of": f"{other.engine} / {first.engine}"}
            | samples.ratio([(other, first)]).as_dict()
            for first, *others in _groups(samples)
            for other in others
        ],
        "seconds": samples.as_list(),
    }


def as_json(found: dict[str, Any]) -> str:
    """Write lists with one entry a line, so that two runs can be compared line by line."""
    parts = []
    for name, value in found.items():
        if isinstance(value, list):
            lines = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            parts.append(f'"{name}": [\n  {lines}\n ]')
        else:
            parts.append(f'"{name}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def print_report(samples: Samples, summary: list[Row], machine: dict[str, Any]) -> None:
    """Print medians over the rounds (lowest … highest), then the rows that sum them up."""
    print(f"\n{describe(machine)}\nmedian over rounds (lowest … highest), × the first of its kind")
    for group in _groups(samples):
        _print_group(samples, group)
    for row in summary:
        print(f"\n{row.what}\n    {row.peer or 'no peer'}: {row.measured} ({row.spread})")
        if row.verdict:
            print(f"    must {row.must:g}, goal {row.goal:g}: {row.verdict}")


def _groups(samples: Samples) -> list[list[Key]]:
    """Return the keys that are compared with each other, ours first as it was measured first."""
    groups: dict[tuple[int, str], list[Key]] = {}
    for key in samples.rounds:
        groups.setdefault((key.processes, key.what), []).append(key)
    return list(groups.values())


def _print_group(samples: Samples, group: list[Key]) -> None:
    first, *others = group
    what = size_name(int(first.what)) if first.what.isdigit() else first.what
    print(f"\n{what}, {first.processes} processes")
    print(f"    {first.engine:<42}{_time(Spread.of(samples.rounds[first]))}")
    for key in others:
        ratio = samples.ratio([(key, first)]).median
        print(f"    {key.engine:<42}{_time(Spread.of(samples.rounds[key])):<30}× {ratio:.3g}")


def _time(found: Spread) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if found.median * scale >= 1 or unit == "µs":
            break
    numbers = [
        f"{value * scale:{'.0f' if value * scale >= 100 else '.3g'}}"
        for value in (found.median, found.low, found.high)
    ]
    return "{} {unit} ({} … {})".format(*numbers, unit=unit)
