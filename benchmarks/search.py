"""ASHA against random search and synchronous halving: ``python -m benchmarks.search``.

In virtual time on 8 simulated workers, perceptrons on digits. Random search trains so many
configurations to the end. ASHA goes on drawing new ones as long as it is looked at, which is half
of that time: it is to have found one by then that is as good, within 1 % of the best accuracy on
images held out. Halving has random search's configurations. A training is carried out once and its
losses are kept: all compare the same trainings, and an interrupted measurement goes on.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine
from benchmarks.plan import Progress
from benchmarks.quarrel.kept import Kept
from course_lib import networks, run
from course_lib.comm.communicator import Communicator
from course_lib.comm.result import Result
from course_lib.data.digits import load_digits
from course_lib.models.mlp import mlp
from course_lib.schemes import train
from course_lib.search import Asha, RandomSearch, Strategy, SuccessiveHalving, search
from course_lib.search.perceptrons import perceptron_space
from course_lib.training import Plan

__all__ = ["Asked", "compared", "main", "measured"]

RESULTS = Path(__file__).with_name("search.json")
RUNS = RESULTS.with_name("search_runs.jsonl")
HELD = 5
"""One example in so many of those to train on is held out; its errors are a trial's loss."""


@dataclass(frozen=True)
class Asked:
    """What is measured."""

    seeds: int = 20
    trials: int = 64
    least: int = 1
    most: int = 27
    eta: int = 3
    workers: int = 8
    drawn: int = 256
    near: float = 0.01

    @property
    def resources(self) -> list[int]:
        """After how many epochs a trial is looked at."""
        found = [self.most]
        while found[0] // self.eta >= self.least:
            found.insert(0, found[0] // self.eta)
        return found


def trial(drawn: dict[str, Any], look_after: Sequence[int]) -> dict[str, Any]:
    """Train one configuration; return how good it is after some epochs, and what one costs."""
    digits = load_digits()
    is_held = np.arange(len(digits.y_train)) % HELD == 0
    X, y = digits.X_train[~is_held], digits.y_train[~is_held]
    X_held, y_held = digits.X_train[is_held], digits.y_train[is_held]
    model = mlp(X.shape[1], *[drawn["width"]] * drawn["depth"], 10)
    found: dict[str, tuple[float, float]] = {}

    def look(epoch: int, w: Any) -> None:
        if epoch in look_after:
            accuracy = float((model.predict(w, X_held) == y_held).mean())
            found[str(epoch)] = float(model.loss(w, (X_held, y_held))), accuracy

    rate, momentum, epochs = drawn["learning_rate"], drawn["momentum"], max(look_after)
    train(model, X, y, Plan(rate, epochs=epochs, momentum=momentum, on_epoch=look))
    return {"found": found, "flops_per_epoch": float(model.flops((X, y)))}


class Trials:
    """The trainings of one seed, each carried out when it is asked for first."""

    def __init__(self, asked: Asked, seed: int, kept: Kept) -> None:
        self.asked, self.seed, self.kept = asked, seed, kept
        self.space = perceptron_space(seed)
        self.numbers = {json.dumps(self.space.draw(n)): n for n in range(asked.drawn)}

    def get(self, drawn: dict[str, Any], epochs: int) -> dict[str, Any]:
        """Return a training of so many epochs, or of more."""
        number, asked = self.numbers[json.dumps(drawn)], self.asked
        look_after = asked.resources if number < asked.trials else [epochs]
        key = {"seed": self.seed, "trial": number, "epochs": look_after}
        return self.kept.get(key, partial(trial, drawn, look_after))


def look_up(comm: Communicator, drawn: dict[str, Any], epochs: int) -> float:
    """Take the virtual time of a training; return its loss."""
    assert TRIALS is not None
    one = TRIALS.get(drawn, epochs)
    with comm.compute("train", flops=epochs * one["flops_per_epoch"]):
        pass
    loss, accuracy = one["found"][str(epochs)]
    comm.note("accuracy", [epochs, loss, accuracy])
    return float(loss)


TRIALS: Trials | None = None
"""Of the seed under way: a rank's arguments are copies, and what is kept is one file."""


def searched(asked: Asked, seed: int, strategy: Strategy) -> Result:
    """Search on simulated workers, beside a rank that hands out."""
    return run(
        search, strategy, perceptron_space(seed), look_up, workers=1 + asked.workers,
        backend="simulated", network=networks.ethernet_10g, time_limit_s=7200.0,
    )  # fmt: skip


def utilisation(result: Result, until_s: float) -> float:
    """Return for which part of the time up to a moment workers computed."""
    spans = [(span.start_s, min(span.end_s, until_s)) for span in result.trace.computes]
    computing = sum(max(end_s - start_s, 0.0) for start_s, end_s in spans)
    return float(computing / ((len(result.values) - 1) * until_s))


def first_s(result: Result, is_good: Callable[[float, float], bool]) -> float | None:
    """Return when a loss and an accuracy are known that are good; None if that is never."""
    times = [n.time_s for n in result.trace.notes_named("accuracy") if is_good(*n.value[1:])]
    return min(times, default=None)


def compared(asked: Asked, seed: int, kept: Kept) -> dict[str, Any]:
    """Run the three searches of one seed, and hold them against random search."""
    global TRIALS
    TRIALS = Trials(asked, seed, kept)
    rungs = asked.least, asked.most, asked.eta
    random = searched(asked, seed, RandomSearch(asked.trials, asked.most))
    found = [note.value for note in random.trace.notes_named("accuracy")]
    best_loss = min(loss for _, loss, _ in found)
    best_accuracy = max(accuracy for _, _, accuracy in found)
    row: dict[str, Any] = {"seed": seed, "best_loss": best_loss, "best_accuracy": best_accuracy}
    row["random_virtual_s"] = random_s = random.elapsed_s
    results = {
        "random": (random, random_s),
        "halving": (searched(asked, seed, SuccessiveHalving(asked.trials, *rungs)), random_s),
        "asha": (searched(asked, seed, Asha(asked.drawn, *rungs)), random_s / 2),
    }
    for name, (result, looked_at_s) in results.items():
        near_s = first_s(result, lambda _, accuracy: accuracy >= best_accuracy * (1 - asked.near))
        loss_s = first_s(result, lambda loss, _: loss <= best_loss * (1 + asked.near))
        row[name] = {
            "ends_after": result.elapsed_s / random_s,
            "utilisation": utilisation(result, min(result.elapsed_s, looked_at_s)),
            "near_after": None if near_s is None else near_s / random_s,
            "near_by_loss_after": None if loss_s is None else loss_s / random_s,
        }
    return row


def spread(values: Sequence[float | None]) -> dict[str, float | int | None]:
    """Return the median, the ends, and how often there was none, which counts as never."""
    found = sorted(float("inf") if value is None else value for value in values)
    middle = statistics.median(found)
    ends = [None if value == float("inf") else value for value in (middle, found[0], found[-1])]
    return dict(zip(("median", "low", "high"), ends, strict=True)) | {
        "never": sum(value is None for value in values)
    }


def measured(asked: Asked, kept: Kept, tell: Callable[[str], None]) -> dict[str, Any]:
    """Search with each seed, and sum up; times are parts of random search's."""
    rows = []
    for seed in range(asked.seeds):
        rows.append(compared(asked, seed, kept))
        tell(f"seed {seed}")
    sums = {
        name: {of: spread([row[name][of] for row in rows]) for of in rows[0][name]}
        for name in ("random", "halving", "asha")
    }
    return {"asked": asdict(asked), "sums": sums, "rows": rows}


def main(words: list[str] | None = None, asked: Asked | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--runs", type=Path, default=RUNS, help="where finished runs are kept")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where to write the results")
    chosen = parser.parse_args(words)
    kept, asked = Kept(chosen.runs), asked or Asked()
    try:
        with Progress() as progress:
            progress.expect(asked.seeds)
            found = measured(asked, kept, progress.step)
    except KeyboardInterrupt:
        print(f"stopped; what is finished is in {chosen.runs}: call again", file=sys.stderr)
        return 130
    found |= {"machine": machine(), "cpu_s": round(kept.cpu_s)}
    chosen.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for name, sums in found["sums"].items():
        print(name, {of: sums[of]["median"] for of in sums})
    print(f"written to {chosen.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
