"""How long four workers take to read digits, by scheme: start, 10 epochs, and the test.

``python -m benchmarks --only digits`` measures every synchronous scheme.
"""

import time
from collections.abc import Callable
from functools import partial

from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples
from course_lib import run
from course_lib.data.digits import load_digits
from course_lib.models.mlp import mlp
from course_lib.schemes import (
    data_parallel,
    layerwise,
    nn_data_parallel,
    parameter_averaging,
    parameter_server,
    priority,
    sharded_data_parallel,
)
from course_lib.training import Plan as TrainingPlan
from course_lib.training import Training

__all__ = ["PLAN", "SYNCHRONOUS", "WORKERS", "digits_accuracy", "digits_key", "measure_digits"]

WORKERS = 4
SYNCHRONOUS: dict[str, Callable[..., Training]] = {
    "data_parallel": data_parallel,
    "layerwise": layerwise,
    "priority": partial(priority, order=[1, 0]),
    "nn_data_parallel": nn_data_parallel,
    "parameter_averaging": parameter_averaging,
    "parameter_averaging, every 5 steps": partial(parameter_averaging, every=5),
    "parameter_server": parameter_server,
    "sharded_data_parallel": sharded_data_parallel,
}
PLAN = TrainingPlan(learning_rate=0.3, batch_size=64, epochs=10, momentum=0.5)


def digits_key(scheme: str) -> Key:
    return Key("digits, from the start of the workers to the test", WORKERS, scheme)


def digits_accuracy(scheme: str, backend: str = "processes", plan: TrainingPlan = PLAN) -> float:
    """Train on 1,437 images; return which part of 360 others is read correctly."""
    data, model = load_digits(), mlp(64, 32, 10)
    values = run(
        SYNCHRONOUS[scheme], model, data.X_train, data.y_train, plan,
        workers=WORKERS, backend=backend,
    ).values  # fmt: skip
    return float((model.predict(values[0].w, data.X_test) == data.y_test).mean())


def measure_digits(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Train with each scheme in turn; a run that does not learn to read is an error."""
    progress.expect(plan.rounds * len(SYNCHRONOUS))
    for _ in range(plan.rounds):
        for scheme in SYNCHRONOUS:
            progress.step(f"digits: {scheme}")
            start_s = time.perf_counter()
            accuracy = digits_accuracy(scheme)
            samples.add(digits_key(scheme), [time.perf_counter() - start_s])
            if accuracy < 0.95:
                raise RuntimeError(f"{scheme} reads {accuracy:.1%} of the digits, expected 95 %")
