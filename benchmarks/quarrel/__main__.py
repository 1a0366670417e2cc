"""Measure the quarrel: ``python -m benchmarks.quarrel``; some minutes, and it goes on if stopped.

``python -m benchmarks.quarrel.table`` copies the tables into docs/quarrel.md.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.plan import Progress
from benchmarks.quarrel.kept import Kept
from benchmarks.quarrel.measure import Asked, least_runs, measured
from benchmarks.quarrel.table import RESULTS

RUNS = RESULTS.with_name("quarrel_runs.jsonl")


def main(words: list[str] | None = None, asked: Asked | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quarrel", description=__doc__)
    parser.add_argument("--runs", type=Path, default=RUNS, help="where finished runs are kept")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where to write the results")
    chosen = parser.parse_args(words)
    kept, asked = Kept(chosen.runs), asked or Asked()
    n_before = len(kept)
    try:
        with Progress() as progress:
            progress.expect(least_runs(asked))
            found = measured(asked, kept, progress.step)
    except KeyboardInterrupt:
        print(f"stopped; what is finished is in {chosen.runs}: call again", file=sys.stderr)
        return 130
    found |= {"machine": machine(), "n_runs": len(kept), "cpu_s": round(kept.cpu_s)}
    chosen.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{len(kept) - n_before} new runs; written to {chosen.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
