"""How large a batch: the noise of the gradient, the steps to a loss, the time of a step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.models import landscape
from course_lib.models.model import Batch, Model
from course_lib.schemes.serial import walk
from course_lib.training import Plan
from course_lib.viz import Chart, chart

__all__ = [
    "StepTime",
    "best_steps",
    "fit_step_time",
    "noise_scales",
    "on_a_machine",
    "step_seconds",
    "time_chart",
    "trainings",
]

Vector = NDArray[np.float64]


class StepTime(NamedTuple):
    """The time of a step: ``fixed_s`` and ``example_s`` for each example of the batch."""

    fixed_s: float
    example_s: float

    def of(self, batch_size: float) -> float:
        """Return the seconds of a step with so many examples."""
        return self.fixed_s + self.example_s * batch_size

    def best_batch(self, noise_scale: float) -> float:
        """Return the batch size with the shortest training, where steps grow as 1 + noise / B."""
        return float(np.sqrt(self.fixed_s * noise_scale / self.example_s))


def trainings(
    model: Model, data: Batch, plan: Plan, n_steps: int, n_times: int = 24
) -> NDArray[np.float64]:
    """Train several times from the same start, every time with other batches.

    Parameters
    ----------
    model : Model
        What is trained.
    data : tuple of arrays
        All examples and targets.
    plan : Plan
        The learning rate and the batch size; the seed is that of the start and the first order.
    n_steps : int
        How many steps each takes.
    n_times : int, default: 24
        How many trainings.

    Returns
    -------
    numpy.ndarray, shape (n_times, n_steps + 1, n_parameters)
        The parameters before the first step and after each.
    """
    X, y = data
    rng = np.random.default_rng(plan.seed)
    paths = np.empty((n_times, n_steps + 1, model.n_parameters))
    paths[:, 0] = model.initial(plan.seed)
    for path in paths:
        for step in range(n_steps):
            drawn = rng.choice(len(y), size=min(plan.batch_size, len(y)), replace=False)
            gradient = model.gradient(path[step], (X[drawn], y[drawn]))[1]
            path[step + 1] = path[step] - plan.learning_rate * gradient
    return paths


def noise_scales(
    model: Model, data: Batch, plan: Plan, looks: Iterable[int], n_examples: int = 200
) -> dict[int, float]:
    """Measure during a training at which batch size noise and gradient are equally long.

    Parameters
    ----------
    model : Model
        What is trained.
    data : tuple of arrays
        Examples and targets.
    plan : Plan
        How.
    looks : iterable of int
        After which steps to look.
    n_examples : int, default: 200
        From how many single gradients the noise is estimated, the first ones.

    Returns
    -------
    dict of int to float
        By step: the mean squared distance of an example's gradient from the mean gradient, over the
        squared length of that.

    References
    ----------
    S. McCandlish, J. Kaplan, D. Amodei and the OpenAI Dota Team, "An empirical model of large-batch
    training", arXiv:1812.06162, 2018, section 2.2.
    """
    wanted, found = set(looks), {}
    some = data[0][:n_examples], data[1][:n_examples]
    for step, (_, w) in enumerate(walk(model, *data, plan), start=1):
        if step in wanted:
            _, spread = landscape.gradient_spread(model, w, some)
            found[step] = float(spread / np.sum(model.gradient(w, data)[1] ** 2))
    return found


def best_steps(
    model: Model, data: Batch, batch_size: int, target: float, seeds: Sequence[int] = (0, 1, 2)
) -> tuple[float, float]:
    """Count the steps to a loss at the best of five learning rates, the median of the seeds.

    The rate in the middle is 0.14 sqrt(B), but at most 0.8; they are a factor of 1.4 apart.

    Parameters
    ----------
    model : Model
        What is trained.
    data : tuple of arrays
        Examples and targets.
    batch_size : int
        Of every step.
    target : float
        The loss to reach, over all examples.
    seeds : sequence of int, default: (0, 1, 2)
        Of the first parameters and the order of examples.

    Returns
    -------
    steps : float
        The fewest; infinitely many if no rate reaches the target in 1,500.
    rate : float
        At which rate.
    """
    middle = min(0.14 * float(np.sqrt(batch_size)), 0.8)
    best = (np.inf, middle)
    for factor in (1.0, 1.4, 0.7, 2.0, 0.5):
        plan = Plan(factor * middle, batch_size, epochs=1500)
        counts: list[float] = []
        for seed in seeds:
            counts.append(_steps_to(model, data, replace(plan, seed=seed), target, best[0]))
            if 2 * counts.count(np.inf) > len(seeds):  # so is the median
                break
        best = min(best, (float(np.median(counts)), plan.learning_rate))
    return best


def _steps_to(model: Model, data: Batch, plan: Plan, target: float, give_up: float) -> float:
    """Count steps to a loss; infinitely many where it diverges, or others need fewer."""
    look = max(1, 16 // plan.batch_size)
    for step, (loss, w) in enumerate(walk(model, *data, plan), start=1):
        if step > min(give_up, 1500) or not loss < 100:
            return np.inf
        if step % look == 0 and model.loss(w, data) < target:
            return float(step)
    return np.inf


def step_seconds(comm: Communicator, model: Model, data: Batch, sizes: Sequence[int]) -> Vector:
    """Measure the time of a gradient for each batch size: the fastest of 30.

    Parameters
    ----------
    comm : Communicator
        Of the rank that measures.
    model : Model
        Whose gradient.
    data : tuple of arrays
        Examples and targets, as many as the largest batch has.
    sizes : sequence of int
        The batch sizes.

    Returns
    -------
    numpy.ndarray, shape (len(sizes),)
        Seconds.
    """
    X, y = data
    w, fastest = model.initial(), []
    for size in sizes:
        started = [comm.clock()]
        for _ in range(30):
            model.gradient(w, (X[:size], y[:size]))
            started.append(comm.clock())
        fastest.append(np.diff(started).min())
    return np.array(fastest)


def fit_step_time(sizes: Sequence[int], seconds: Sequence[float]) -> StepTime:
    """Fit a line through the times of a step, with relative errors alike.

    Parameters
    ----------
    sizes : sequence of int
        Batch sizes, two or more.
    seconds : sequence of float
        What a step of each takes.

    Returns
    -------
    StepTime
        The line; neither number is below a nanosecond.
    """
    slope, fixed = np.polyfit(sizes, seconds, 1, w=1 / np.asarray(seconds))
    return StepTime(max(float(fixed), 1e-9), max(float(slope), 1e-9))


def on_a_machine(
    comm: Communicator, model: Model, data: Batch, plan: Plan, step: StepTime, target: float
) -> int:
    """Train in virtual time on a machine whose step takes so long, until a loss is reached.

    Parameters
    ----------
    comm : Communicator
        Simulated, of one rank.
    model : Model
        What is trained.
    data : tuple of arrays
        Examples and targets.
    plan : Plan
        How; its epochs are the most.
    step : StepTime
        What a step takes. Computing the loss over all examples, which is noted, takes no time.
    target : float
        The loss at which to end.

    Returns
    -------
    int
        How many steps were taken.
    """
    n_steps = 0
    comm.note("loss_partial", model.loss(model.initial(plan.seed), data))
    for _, w in walk(model, *data, plan):
        with comm.compute("step", flops=step.of(plan.batch_size) * 1e10):
            n_steps += 1
        loss = model.loss(w, data)
        comm.note("loss_partial", loss)
        if loss < target:
            break
    return n_steps


def time_chart(
    steps: Mapping[int, float], machines: Mapping[str, StepTime], noise_scale: float
) -> Chart:
    """Draw the time to a loss over the batch size, and where the bottom is predicted.

    Parameters
    ----------
    steps : mapping of int to float
        Steps to the loss by batch size.
    machines : mapping of str to StepTime
        The time of a step, one curve each.
    noise_scale : float
        The batch size at which noise and gradient are equally long.

    Returns
    -------
    Chart
        Times as multiples of the curve's shortest; below them the last machine's prediction.
    """
    curves, said = {}, []
    for name, step in machines.items():
        seconds = {size: n * step.of(size) for size, n in steps.items()}
        shortest = min(seconds.values())
        curves[name] = [(float(size), took / shortest) for size, took in seconds.items()]
        best = step.best_batch(noise_scale)
        said.append(f"{name}: a = {1e6 * step.fixed_s:,.3g} µs, b = {1e6 * step.example_s:.3g} µs, "
                    f"predicted {best:,.0f}, shortest of the six at "
                    f"{min(seconds, key=seconds.__getitem__):,}")  # fmt: skip
    mark = (min(max(best, 1.0), 1437.0), 0.75)  # of the last machine, below the curves
    return chart(
        curves, points={f"predicted: {best:,.0f}": mark}, x_log=True, y_log=True,
        x_range=(1, 1600), y_range=(0.6, 60), x_ticks=[1, 4, 16, 64, 256, 1437],
        x_label="batch B, in images (log)", y_label="time, shortest = 1 (log)",
        said="; ".join(said),
    )  # fmt: skip
