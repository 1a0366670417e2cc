"""How the learning rate decays: functions of the step, counted from the end of the warm-up."""

import math
from dataclasses import dataclass

from course_lib.words.whole import as_int

__all__ = ["Cosine", "StepDecay"]


@dataclass(frozen=True)
class Cosine:
    """Fall from 1 as the cosine does, slowly, then fast, then slowly again.

    Attributes
    ----------
    steps : int
        After how many steps the least is reached, where it stays.
    least : float, default: 0.0
        The last factor.

    References
    ----------
    I. Loshchilov and F. Hutter, "SGDR: Stochastic gradient descent with warm restarts", ICLR 2017,
    equation 5.

    Examples
    --------
    >>> [round(Cosine(steps=4)(step), 3) for step in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """

    steps: int
    least: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self.steps, "steps", self.least, "least")

    def __call__(self, step: int) -> float:
        """Return what the learning rate is multiplied by in a step."""
        turned = math.pi * min(step, self.steps) / self.steps
        return self.least + (1 - self.least) * (1 + math.cos(turned)) / 2


@dataclass(frozen=True)
class StepDecay:
    """Fall at once, after every so many steps.

    Attributes
    ----------
    every : int
        How many steps lie between two falls.
    factor : float, default: 0.1
        What is left after each.

    Examples
    --------
    >>> [round(StepDecay(every=2, factor=0.5)(step), 3) for step in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    every: int
    factor: float = 0.1

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self.every, "every", self.factor, "factor")

    def __call__(self, step: int) -> float:
        """Return what the learning rate is multiplied by in a step."""
        return self.factor ** (step // self.every)


def _check(steps: int, steps_name: str, part: float, part_name: str) -> None:
    if as_int(steps) is None:
        raise TypeError(f"{steps_name} must be an int, got {steps!r}")
    if steps < 1:
        raise ValueError(f"{steps_name} must be 1 or more, got {steps}")
    if not 0 <= part <= 1:
        raise ValueError(f"{part_name} must be from 0 to 1, got {part}")
