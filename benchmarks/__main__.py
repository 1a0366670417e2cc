"""All measurements: ``python -m benchmarks``, or ``make bench``."""

import argparse
import dataclasses
import sys
from pathlib import Path

from benchmarks import readme
from benchmarks.algorithms import algorithm_entries, measure_algorithms
from benchmarks.digits import measure_digits
from benchmarks.hogwild import measure_hogwild
from benchmarks.launch import measure_launch
from benchmarks.machine import machine
from benchmarks.peers import PeerFailed
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


def measure_all(plan: Plan, topics: list[str]) -> Samples:
    samples = Samples()
    with Progress() as progress:
        if {"allreduce", "latency"} & set(topics):
            measure_sums(plan, measurable_engines(progress), progress, samples)
        if "busy" in topics:
            measure_busy(plan, progress, samples)
        if "tracing" in topics:
            measure_tracing(plan, progress, samples)
        if "launch" in topics:
            measure_launch(plan, progress, samples)
        if "algorithms" in topics:
            measure_algorithms(plan, progress, samples)
        if "simulator" in topics:
            measure_simulator(plan, progress, samples)
        if "training" in topics:
            measure_training(plan, progress, samples)
        if "pipelines" in topics:
            measure_pipelines(plan, progress, samples)
        if "split" in topics:
            measure_split(plan, progress, samples)
        if "digits" in topics:
            measure_digits(plan, progress, samples)
        if "hogwild" in topics:
            measure_hogwild(plan, progress, samples)
    return samples


def main(words: list[str] | None = None) -> int:
    chosen = options(words)
    plan = chosen_plan(chosen)
    is_full = plan == FULL and set(chosen.only) == set(TOPICS)
    output = chosen.output or (readme.RESULTS if is_full else None)
    try:
        samples = measure_all(plan, chosen.only)
    except KeyboardInterrupt:
        print("stopped; nothing is written", file=sys.stderr)
        return 130
    except PeerFailed as error:
        print(f"stopped; nothing is written: {error}", file=sys.stderr)
        return 1
    summary, here = rows(samples), machine()
    print_report(samples, summary, here)
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
