"""The whole quarrel: a grid on five seeds for each case, then its best on ten others."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.quarrel.grid import MOMENTA, RATES, Grid, middle, searched
from benchmarks.quarrel.kept import Kept
from course_lib import networks
from course_lib.costs import TwoSites
from course_lib.lectures.lecture_11.cases import EVERY, Case, Rules, tuned_as
from course_lib.lectures.lecture_11.racing import FAR, MODEL, SCHEMES, Found, data, trained

__all__ = ["Asked", "cases", "least_runs", "measured", "on_grid", "predicted", "tuned_as"]


@dataclass(frozen=True)
class Asked:
    """What is to be measured; a test asks for less."""

    rules: Rules = field(default_factory=Rules)
    schemes: tuple[str, ...] = tuple(SCHEMES)
    workers: tuple[int, ...] = (4, 8)
    stragglers: tuple[float, ...] = (1.0, 10.0)
    also: tuple[tuple[int, float], ...] = ((4, 3.0),)  # workers and straggler of one more race
    between: tuple[float, ...] = (
        1.5,
        2.0,
        2.5,
        5.0,
        7.0,
    )  # stragglers of races that Downpour runs alone
    sent: tuple[int, ...] = (241, 24)  # a tenth of a gradient, and a hundredth
    far_every: tuple[int, ...] = (1, 8, 64, 500)
    far_workers: tuple[int, ...] = (4, 8)
    grid_seeds: tuple[int, ...] = (0, 11, 12, 13, 14)
    seeds: tuple[int, ...] = tuple(range(1, 11))
    rates: tuple[float, ...] = RATES
    momenta: tuple[float, ...] = MOMENTA
    most_widenings: int = 6


def cases(asked: Asked) -> list[Case]:
    """Name everybody who takes part, on one network and then over two sites."""
    found = []
    if "serial" in asked.schemes:
        found.append(Case("serial", 1, asked.rules.batch_of("serial", 1)))
    places = [(workers, by) for workers in asked.workers for by in asked.stragglers]
    for workers, straggler in sorted({*places, *asked.also}):
        for scheme in (name for name in asked.schemes if name != "serial"):
            batch = asked.rules.batch_of(scheme, workers)
            every = EVERY if scheme == "local_sgd" else 0
            sent = asked.sent if straggler == 1 else asked.sent[-1:]
            for k in sent if scheme == "compressed" else (0,):
                found.append(Case(scheme, workers, batch, straggler, every, sent=k))
    if "downpour" in asked.schemes:  # its updates change with the straggler, the others' do not
        batch = asked.rules.batch_of("downpour", asked.workers[0])
        found += [Case("downpour", asked.workers[0], batch, by) for by in asked.between]
    far = [
        Case("local_sgd", n, asked.rules.batch_of("local_sgd", n), 1.0, H, is_far=True)
        for n in asked.far_workers for H in asked.far_every
    ]  # fmt: skip
    return found + [case for case in far if case.every <= case.n_updates(asked.rules)]


def least_runs(asked: Asked) -> int:
    """Count the runs if no grid has to grow, and at no point most seeds get to the target."""
    every = cases(asked)
    n_points = len({tuned_as(case) for case in every}) * len(asked.rates) * len(asked.momenta)
    return n_points * (len(asked.grid_seeds) // 2 + 1) + len(every) * len(asked.seeds)


def measured(asked: Asked, kept: Kept, step: Callable[[str], object]) -> dict[str, Any]:
    """Run what is asked for and not kept yet; return all of it, for JSON."""
    every = cases(asked)
    grids: dict[Case, Grid] = {}
    for case in dict.fromkeys(tuned_as(case) for case in every):
        grids[case] = searched(
            lambda rate, momentum, case=case: on_grid(
                lambda seed: one(case, rate, momentum, seed, asked.rules, False, kept, step),
                asked.grid_seeds,
            ),
            asked.rates, asked.momenta, asked.most_widenings,
        )  # fmt: skip
    runs = []
    for case in every:
        rate, momentum = grids[tuned_as(case)].best
        found = [
            one(case, rate, momentum, seed, asked.rules, True, kept, step) for seed in asked.seeds
        ]
        entry = {"case": asdict(case), "rate": rate, "momentum": momentum, "seeds": found}
        runs.append(entry | ({"predicted": predicted(case, found, asked)} if case.is_far else {}))
    return {
        "rules": asdict(asked.rules),
        "seeds": {"grid": list(asked.grid_seeds), "runs": list(asked.seeds)},
        "grids": [
            {
                "case": asdict(case),
                "best": list(grid.best),
                "is_inside": grid.is_inside,
                "points": [
                    {"rate": rate, "momentum": momentum, **found}
                    for (rate, momentum), found in sorted(grid.points.items())
                ],
            }
            for case, grid in grids.items()
        ],
        "runs": runs,
    }


def on_grid(train: Callable[[int], Found], seeds: Sequence[int]) -> Found:
    """Train with each seed until it is known whether most get to the target; return the middle one.

    ``n_there`` of it says with how many seeds the target was reached.
    """
    most, found = len(seeds) // 2 + 1, []
    for seed in seeds:
        found.append(train(seed))
        n_there = sum("seconds" in of for of in found)
        if len(found) - n_there == most:
            break
    return middle(found, len(seeds)) | {"n_there": n_there}


def one(
    case: Case, rate: float, momentum: float, seed: int, rules: Rules, is_whole: bool, kept: Kept,
    step: Callable[[str], object],
) -> Found:  # fmt: skip
    """Return one training's findings, kept or new."""
    straggler = f", straggler {case.straggler:g}" if case.straggler > 1 else ""
    far = f", two sites, H = {case.every}" if case.is_far else ""
    sent = f", k = {case.sent}" if case.sent else ""
    where = f"{case.scheme}{sent}, {case.workers} workers{straggler}{far}"
    step(f"{where}: rate {rate:g}, momentum {momentum:g}, seed {seed}")
    run = {
        "case": asdict(case), "rate": rate, "momentum": momentum, "seed": seed,
        "is_whole": is_whole, "rules": asdict(rules),
    }  # fmt: skip
    return kept.get(run, lambda: trained(case, rate, momentum, seed, rules, is_whole))


def predicted(case: Case, found: Sequence[Found], asked: Asked) -> list[Found | None]:
    """Predict seconds and bytes of as many updates as each seed took to the target."""
    rules = asked.rules
    X, y = data(rules.n_images)[:2]
    speed = rules.flops_per_s
    sizes = [case.batch] * (rules.n_images // case.batch)
    sizes += [rules.n_images % case.batch] * (len(sizes) < case.updates_per_epoch(rules))
    slowest = [math.ceil(size / case.workers) for size in sizes]  # the largest share of a batch
    flops = sum(MODEL.flops((X[:n], y[:n])) + 2.0 * MODEL.n_parameters for n in slowest)
    network = networks.ethernet_10g
    told = TwoSites(
        case.workers // 2,
        network.latency_s, network.beta_s_per_byte, FAR.latency_s, FAR.beta_s_per_byte,
    )  # fmt: skip
    n_bytes = 8 * MODEL.n_parameters
    return [
        {
            "seconds": float(
                told.training_s(of["updates"], case.every, flops / len(sizes) / speed, n_bytes)
            ),
            "bytes": told.bytes_in_all(of["updates"], case.every, n_bytes),
        }
        if "updates" in of
        else None
        for of in found
    ]
