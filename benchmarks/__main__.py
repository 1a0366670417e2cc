"""All measurements: ``python -m benchmarks``, or ``make bench``."""

import argparse
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import readme
from benchmarks.algorithms import algorithm_entries, measure_algorithms
from benchmarks.digits import measure_digits
from benchmarks.hogwild import LossesDiffer, measure_hogwild
from benchmarks.kept import Kept
from benchmarks.launch import measure_launch
from benchmarks.machine import machine
from benchmarks.peers import PeerFailed
from benchmarks.pictures import NotMoving, measure_pictures
from benchmarks.pipelines import measure_pipelines
from benchmarks.plan import FULL, QUICK, TOPICS, Plan, Progress
from benchmarks.report import as_json, print_report, results
from benchmarks.rows import rows
from benchmarks.samples import Samples
from benchmarks.simulator import measure_simulator
from benchmarks.split import measure_split
from benchmarks.sums import measurable_engines, measure_busy, measure_sums
from benchmarks.tracing import measure_tracing
from benchmarks.training import measure_training

_GO_ON = "the topics measured so far are kept, and --continue goes on"


def options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute, few sizes and rounds")
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=list(TOPICS), metavar="TOPICS",
        help=f"some of {','.join(TOPICS)}",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, help="how often each measurement is repeated")
    parser.add_argument("--sizes", type=numbers, help="bytes to all-reduce, for example 1024,65536")
    parser.add_argument("--processes", type=numbers, help="for example 2,4")
    parser.add_argument(
        "--continue",
        dest="go_on",
        action="store_true",
        help="leave out the topics that a run of the same plan had measured before it was stopped",
    )
    parser.add_argument(
        "--output", type=Path,
        help="where to write the results; a full run writes benchmarks/results.json",
    )  # fmt: skip
    found = parser.parse_args(words)
    if unknown := set(found.only) - set(TOPICS):
        parser.error(f"--only knows {', '.join(TOPICS)}, not {', '.join(sorted(unknown))}")
    return found


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def chosen_plan(chosen: argparse.Namespace) -> Plan:
    plan = QUICK if chosen.quick else FULL
    wishes = {name: getattr(chosen, name) for name in ("rounds", "sizes", "processes")}
    plan = dataclasses.replace(plan, **{k: wish for k, wish in wishes.items() if wish is not None})
    if chosen.sizes is not None:
        plan = dataclasses.replace(plan, algorithm_sizes=chosen.sizes)
    if chosen.rounds is not None:
        plan = dataclasses.replace(plan, algorithm_rounds=chosen.rounds)
    if "allreduce" not in chosen.only:
        plan = dataclasses.replace(plan, sizes=())
    if "latency" not in chosen.only:
        plan = dataclasses.replace(plan, n_pings=0)
    return plan


def measure_all(plan: Plan, topics: list[str], kept: Kept) -> Samples:
    with Progress() as progress:
        for of_one, measure in _MEASURES.items():
            if set(of_one) & set(topics) and not set(of_one) <= set(kept.done):
                measure(plan, progress, kept.samples)
                kept.add(of_one)
    return kept.samples


def _measure_sums(plan: Plan, progress: Progress, samples: Samples) -> None:
    measure_sums(plan, measurable_engines(progress), progress, samples)


_MEASURES: dict[tuple[str, ...], Callable[[Plan, Progress, Samples], None]] = {
    ("allreduce", "latency"): _measure_sums,
    ("busy",): measure_busy,
    ("tracing",): measure_tracing,
    ("launch",): measure_launch,
    ("algorithms",): measure_algorithms,
    ("simulator",): measure_simulator,
    ("training",): measure_training,
    ("pipelines",): measure_pipelines,
    ("split",): measure_split,
    ("digits",): measure_digits,
    ("hogwild",): measure_hogwild,
    ("pictures",): measure_pictures,
}


def main(words: list[str] | None = None) -> int:
    chosen = options(words)
    plan = chosen_plan(chosen)
    is_full = plan == FULL and set(chosen.only) == set(TOPICS)
    output = chosen.output or (readme.RESULTS if is_full else None)
    kept = Kept(plan)
    if chosen.go_on:
        kept.load()
    try:
        samples = measure_all(plan, chosen.only, kept)
    except KeyboardInterrupt:
        print(f"stopped; {_GO_ON}", file=sys.stderr)
        return 130
    except (PeerFailed, LossesDiffer, NotMoving) as error:
        print(f"stopped; {_GO_ON}: {error}", file=sys.stderr)
        return 1
    summary, here = rows(samples), machine()
    print_report(samples, summary, here)
    kept.remove()
    if output is None:
        print("\nnot written: only a full run replaces benchmarks/results.json")
        return 0
    found = results(samples, summary, here, plan.rounds)
    if entries := algorithm_entries(samples):
        found |= {"algorithm_rounds": plan.algorithm_rounds, "algorithms": entries}
    output.write_text(as_json(found), encoding="utf-8")
    print(f"\nwritten to {output}")
    if output == readme.RESULTS:
        print("python -m benchmarks.readme copies the rows into README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
