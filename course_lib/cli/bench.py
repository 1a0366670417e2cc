"""The command line: ``python -m course_lib bench allreduce``."""

import argparse
import json
import platform
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from course_lib.cli.bench_arguments import read_options
from course_lib.collectives import ALLREDUCES
from course_lib.comm.errors import RunError
from course_lib.comm.rates import Rates, keep_rates
from course_lib.console.files import write
from course_lib.console.options import is_first_program
from course_lib.console.outputs import say, tell
from course_lib.console.progress import Progress
from course_lib.costs.bounds import AtMost
from course_lib.costs.catalogue import predicted_s
from course_lib.costs.fit import Line, fit_line
from course_lib.measure.allreduce import (
    ITEM_BYTES,
    Measurement,
    measure_allreduce,
    predicted_in_seconds,
)
from course_lib.measure.messages import SIZES, fit_rates, message_times
from course_lib.words.tables import as_text
from course_lib.words.units import in_bytes, in_seconds

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network

__all__ = ["main"]

SCHEMA_VERSION = 1
_HEAD = ("algorithm", "workers", "size", "median", "bus bandwidth", "predicted")


def main(words: list[str]) -> int:
    """Measure what the words ask for and print a table.

    Parameters
    ----------
    words : list of str
        The command line after ``bench``.

    Returns
    -------
    int
        The exit status: 0, or 1 if a worker failed, or 130 after Ctrl-C.
    """
    chosen = read_options(words)
    is_shown = is_first_program()
    try:
        with Progress(is_shown) as progress:
            found, lines = _measure(chosen, progress)
            rates = _rates(chosen, progress)
    except KeyboardInterrupt:
        if is_shown:
            tell("stopped; nothing is written")
        return 130
    except RunError as error:  # told to every rank
        if is_shown:
            tell(str(error))
        return 1
    status = _report(found, lines, chosen) if is_shown else 0
    return status if rates is None else status | _keep(rates, chosen.backend)


def _measure(
    chosen: argparse.Namespace, progress: Progress
) -> tuple[list[Measurement], dict[int, Line | None]]:
    """Measure messages for each number of workers, then every algorithm with it."""
    measured_ones = {name: name for name in chosen.algorithms} | chosen.own
    n_steps = len(chosen.workers) * (len(measured_ones) + (chosen.network is None))
    progress.expect(n_steps + chosen.keep)
    found, lines = [], {}
    for workers in chosen.workers:
        line = _line_of(chosen.network) if chosen.network else _fitted(chosen, workers, progress)
        lines[workers] = line
        for name, algorithm in measured_ones.items():
            progress.step(f"{name}, {workers} workers")
            measured = measure_allreduce(
                algorithm, chosen.sizes, workers=workers, backend=chosen.backend,
                network=chosen.network, repeats=chosen.repeats,
            )  # fmt: skip
            found += [_with_prediction(one, line) for one in measured]
    return found, lines


def _line_of(network: "Network") -> Line:
    return Line(network.latency_s, network.beta_s_per_byte, worst_ratio=1.0)


def _fitted(chosen: argparse.Namespace, workers: int, progress: Progress) -> Line | None:
    """Measure messages while all ranks send at once; one rank alone has none."""
    progress.step(f"messages, {workers} workers")
    if workers < 2:
        return None
    points = message_times(
        backend=chosen.backend, workers=workers, together=True, repeats=chosen.repeats
    )
    return fit_line(points) if points else None


def _rates(chosen: argparse.Namespace, progress: Progress) -> Rates | None:
    """Measure what is to be kept, if something is, while all ranks send at once."""
    if not chosen.keep:
        return None
    workers = max(chosen.workers)
    progress.step(f"messages that are kept or added, {workers} workers")
    return fit_rates(backend=chosen.backend, workers=workers, repeats=chosen.repeats)


def _keep(rates: Rates, backend: str) -> int:
    """Keep what was measured and say it; return the status: 1 if it cannot be written."""
    try:
        file = keep_rates(backend, rates)
    except (OSError, RuntimeError) as error:
        tell(f"what messages cost could not be kept: {error}")
        return 1
    say(
        f"allreduce chooses from now on by alpha = {in_seconds(rates.alpha_s)}, beta = "
        f"{1e9 * rates.beta_s_per_byte:.3g} ns/byte and gamma = "
        f"{1e9 * rates.gamma_s_per_byte:.3g} ns for each byte added: {file}"
    )
    return 0


def _with_prediction(found: Measurement, line: Line | None) -> Measurement:
    if line is None or found.algorithm not in ALLREDUCES:  # the price of one's own is not ours
        return found
    seconds = predicted_s(
        f"allreduce_{found.algorithm}", found.workers, found.n_bytes, line.alpha_s,
        line.beta_s_per_byte, item_bytes=ITEM_BYTES,
    )  # fmt: skip
    return replace(found, predicted_s=seconds)


def _report(
    found: list[Measurement], lines: dict[int, Line | None], chosen: argparse.Namespace
) -> int:
    """Print the table, then write the files; return the exit status: 1 if one is not in place."""
    where = f"{platform.system()}, {chosen.repeats} repeats"
    if chosen.network:
        where = f"network {chosen.network.name}, virtual time"
    say(f"all-reduce of float32, backend {chosen.backend}, {where}")
    say(as_text(_HEAD, [_cells(one) for one in found]))
    for workers, line in lines.items():
        if line is not None:
            say(_basis(workers, line, chosen.network is not None))
    status = 0
    if chosen.json:
        content = {"schema": SCHEMA_VERSION, "measurements": [_as_dict(one) for one in found]}
        text = json.dumps(content, indent=1) + "\n"
        status |= write("what was measured", "written to", chosen.json, text.encode())
    if chosen.plot:
        from course_lib.viz.charts.times import draw_times

        figure = draw_times(_panels(found), title=f"all-reduce, backend {chosen.backend}")
        status |= write("the drawing", "drawn in", chosen.plot, figure.to_png())
    return status


def _basis(workers: int, line: Line, is_given: bool) -> str:
    """Say with which alpha and beta the predictions were made, and where they come from."""
    numbers = f"alpha = {in_seconds(line.alpha_s)}, beta = {1e9 * line.beta_s_per_byte:.3g} ns/byte"
    if is_given:
        return f"predicted with the network's {numbers}"
    return (
        f"predicted with {numbers}: a line through the times of messages of {in_bytes(min(SIZES))} "
        f"to {in_bytes(max(SIZES))} that {workers} workers sent at once; the worst of them is off "
        f"by a factor of {line.worst_ratio:.1f}"
    )


def _cells(found: Measurement) -> tuple[str, ...]:
    return (
        found.algorithm, f"{found.workers:,}", in_bytes(found.n_bytes), in_seconds(found.median_s),
        f"{in_bytes(found.bus_bandwidth_bytes_per_s)}/s", predicted_in_seconds(found.predicted_s),
    )  # fmt: skip


def _as_dict(found: Measurement) -> dict[str, Any]:
    return asdict(found) | {
        "median_s": found.median_s,
        "predicted_is_bound": isinstance(found.predicted_s, AtMost),
        "bus_bandwidth_bytes_per_s": found.bus_bandwidth_bytes_per_s,
    }


def _panels(
    found: list[Measurement],
) -> dict[str, dict[str, dict[str, list[tuple[float, float]]]]]:
    """Sort what was measured into panels, algorithms and kinds of line."""
    panels: dict[str, dict[str, dict[str, list[tuple[float, float]]]]] = {}
    for one in found:
        kinds = {"simulated" if one.backend == "simulated" else "measured": one.median_s}
        if one.predicted_s:
            is_bound = isinstance(one.predicted_s, AtMost)
            kinds["predicted at most" if is_bound else "predicted"] = one.predicted_s
        lines = panels.setdefault(f"{one.workers:,} workers", {}).setdefault(one.algorithm, {})
        for kind, seconds in kinds.items():
            if seconds > 0:  # one rank on the simulator takes no time, which has no logarithm
                lines.setdefault(kind, []).append((one.n_bytes, seconds))
    return panels
