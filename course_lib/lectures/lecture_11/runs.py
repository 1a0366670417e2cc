"""Runs of the race: each scheme at its own best rate, under one clock; who was there, and when."""

from collections.abc import Sequence
from dataclasses import replace

from course_lib.comm.result import Result
from course_lib.lectures.lecture_11.clocks import GBIT, LATENCY_S, dry, ended, network_with
from course_lib.lectures.lecture_11.kept import NAMES, Best, best, rules
from course_lib.lectures.lecture_11.racing import launched
from course_lib.trace.events import Note
from course_lib.trace.trace import Trace
from course_lib.viz import Table, table
from course_lib.words.units import three_digits

__all__ = ["RACED", "first_gradients", "near_runs", "per_epoch", "price_sheet",
           "reached", "run_again", "three_clocks"]  # fmt: skip

RACED = ("serial", "data_parallel", "backup_workers", "bounded_staleness", "downpour",
         "local_sgd", "compressed")  # fmt: skip
"""Who runs in the lecture; the server makes the updates of the all-reduce, a little later."""


def near_runs(
    straggler: float, workers: int = 4, epochs: int = 9, seed: int = 5,
    schemes: Sequence[str] = RACED,
) -> dict[str, Result]:  # fmt: skip
    """Train by each scheme at its own best rate and momentum, on the network of the race.

    Parameters
    ----------
    straggler : {1.0, 3.0, 10.0}
        How many times longer the last worker computes.
    workers : {4, 8}, default: 4
        How many.
    epochs : int, default: 9
        When a training ends.
    seed : int, default: 5
        Of all of them. Of the ten, its times are nearest to the medians.
    schemes : sequence of str, default: RACED
        Who takes part.

    Returns
    -------
    dict of str to Result
        By what ``NAMES`` calls them; rank 0 notes the ``"loss"`` over all images.
    """
    return {
        NAMES[scheme]: run_again(best(scheme, workers, straggler), seed, epochs)
        for scheme in schemes
    }


def run_again(found: Best, seed: int, epochs: int = 12) -> Result:
    """Train as for a kept result.

    Parameters
    ----------
    found : Best
        Who, and at which rate and momentum.
    seed : int
        Which of the ten seeds, 1 to 10.
    epochs : int, default: 12
        When it ends.

    Returns
    -------
    Result
        Of the run.
    """
    shorter = replace(rules(), epochs=epochs, far_epochs=epochs)
    return launched(found.case, found.rate, found.momentum, seed, shorter)


def reached(made: Result, target: float) -> Note:
    """Find when a run of the race was at the target.

    Parameters
    ----------
    made : Result
        Of ``near_runs``.
    target : float
        The loss.

    Returns
    -------
    Note
        The first one that is low enough.

    Raises
    ------
    ValueError
        If there is none.
    """
    for note in made.trace.notes_named("loss"):
        if note.value <= target:
            return note
    raise ValueError(f"target must be a loss that the run gets down to, got {target:g}")


def three_clocks(schemes: Sequence[str], straggler: float = 10.0) -> dict[str, dict[str, float]]:
    """Stop the time of six updates at three moments.

    Parameters
    ----------
    schemes : sequence of str
        Of four workers and a server.
    straggler : {1.0, 3.0, 10.0}, default: 10.0
        How many times longer the last one computes.

    Returns
    -------
    dict of dict of str to float
        By what ``NAMES`` calls a scheme the seconds until the last update, until the first rank is
        done, and until the last one is.
    """
    found = {}
    for scheme in schemes:
        case = best(scheme, 4, straggler).case
        trace = dry(case, 6, network_with(LATENCY_S, GBIT, straggler, case.ranks))
        ends = ended(trace)
        found[NAMES[scheme]] = {
            "the model is there": max(s.end_s for s in trace.computes if s.label == "update"),
            "the first rank is done": min(ends), "the last rank is done": max(ends),
        }  # fmt: skip
    return found


def per_epoch(workers: int = 4, schemes: Sequence[str] = RACED) -> dict[str, float]:
    """Count each scheme's updates in an epoch.

    Parameters
    ----------
    workers : {4, 8}, default: 4
        How many.
    schemes : sequence of str, default: RACED
        Who takes part.

    Returns
    -------
    dict of str to float
        By what ``NAMES`` calls them.
    """
    cases = {NAMES[scheme]: best(scheme, workers).case for scheme in schemes}
    return {name: float(case.updates_per_epoch(rules())) for name, case in cases.items()}


def first_gradients(straggler: float, gradients: int = 24, workers: int = 4) -> dict[str, Trace]:
    """Run three schemes dry, over so many batches of one worker.

    Parameters
    ----------
    straggler : {1.0, 3.0, 10.0}
        How many times longer the last worker computes.
    gradients : int, default: 24
        How many are asked for: P for each update of those who wait. Who waits for all but one goes
        on without some of them.
    workers : {4, 8}, default: 4
        How many.

    Returns
    -------
    dict of str to Trace
        Who waits for all, for all but one, and for nobody; all with a server on rank 0.
    """
    traces = {}
    for scheme in ("parameter_server", "backup_workers", "downpour"):
        case = best(scheme, workers, straggler).case
        network = network_with(LATENCY_S, GBIT, straggler, case.ranks)
        n_updates = gradients if scheme == "downpour" else gradients // workers
        traces[NAMES[scheme]] = dry(case, n_updates, network)
    return traces


def price_sheet(workers: int = 4, straggler: float = 1.0) -> Table:
    """Lay out what each scheme has cost until the target, over ten seeds.

    Parameters
    ----------
    workers : {4, 8}, default: 4
        How many.
    straggler : {1.0, 3.0, 10.0}, default: 1.0
        How many times longer the last worker computes.

    Returns
    -------
    Table
        Medians; of the time the lowest and the highest, too.
    """
    rows = {}
    for scheme, name in NAMES.items():
        found = best(scheme, workers, straggler)
        ms = sorted(1e3 * seed["seconds"] for seed in found.seeds if "seconds" in seed)
        there = 2 * len(ms) > len(found.seeds)
        rows[name] = {
            "seeds there": f"{len(ms)} of {len(found.seeds)}",
            "updates": f"{found.median('updates'):.0f}" if there else "–",
            "epochs": f"{found.median('epochs'):.1f}" if there else "–",
            "ms": three_digits(1e3 * found.median("seconds")) if there else "–",
            "ms, lowest … highest": f"{three_digits(ms[0])} … {three_digits(ms[-1])}"
            if there
            else "–",
            "MB": three_digits(found.median("bytes") / 1e6) if there else "–",
        }
    return table(rows)
