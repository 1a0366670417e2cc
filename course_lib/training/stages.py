"""A model cut into stages: some layers of a chain, that are kept and computed on one rank."""

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from course_lib.models.model import Array
from course_lib.training.balanced import balanced_stages
from course_lib.training.checking import check_plan, check_training
from course_lib.training.plan import Plan
from course_lib.words.split import split_evenly

if TYPE_CHECKING:
    from course_lib.models.chain import Chain

__all__ = ["Cut", "Stage", "check_staged", "cut_by_flops", "cut_into_stages"]

Cut: TypeAlias = Callable[[Any, int], list[range]]
"""``cut_into_stages``, or what is called like it."""


def check_staged(model: Any, X: Any, y: Any, plan: Plan, **functions: Any) -> None:
    """Refuse what cannot be trained, or not where no rank holds the model; before all else.

    Parameters
    ----------
    model : Chain
        What is to be trained.
    X, y : array, shape (m, ...) and (m,)
        The examples and their targets.
    plan : Plan
        How to train.
    **functions
        What else the scheme calls, by the argument's name.

    Raises
    ------
    TypeError, ValueError
        As ``check_training`` does; and if the plan has an ``on_epoch``, which wants the parameters.
    """
    check_training(model, X, y, **functions)
    check_plan(plan, "a model in stages, which no rank holds", "on_epoch")


def cut_into_stages(model: Any, n_stages: int) -> list[range]:
    """Cut a chain of layers into stages whose numbers of layers differ by one at most.

    Parameters
    ----------
    model : Chain
        What is to be cut.
    n_stages : int
        Into how many, 1 or more.

    Returns
    -------
    list of range
        The numbers of each stage's layers.

    Raises
    ------
    TypeError
        If the model is no ``Chain``.
    ValueError
        If it has fewer layers than there are stages.

    Examples
    --------
    >>> from course_lib.models.deep_mlp import deep_mlp
    >>> cut_into_stages(deep_mlp(64, 32, 32, 10), 2)
    [range(0, 1), range(1, 3)]
    """
    n_layers = _checked(model, n_stages)
    return [range(*cut.indices(n_layers)) for cut in split_evenly(n_layers, n_stages)]


def cut_by_flops(model: Any, n_stages: int) -> list[range]:
    """Cut a chain of layers so that the stage with the most operations has as few as can be.

    A pipeline is as slow as its slowest stage: where layers differ, so many of them in each stage
    is not so much work in each.

    Parameters
    ----------
    model : Chain
        What is to be cut.
    n_stages : int
        Into how many, 1 or more.

    Returns
    -------
    list of range
        The numbers of each stage's layers.

    Raises
    ------
    TypeError, ValueError
        As ``cut_into_stages`` raises.

    Examples
    --------
    >>> from course_lib.models.deep_mlp import deep_mlp
    >>> cut_by_flops(deep_mlp(64, 32, 32, 10), 2), cut_by_flops(deep_mlp(8, 8, 90, 10), 2)
    ([range(0, 1), range(1, 3)], [range(0, 2), range(2, 3)])
    """
    _checked(model, n_stages)
    flops = [sum(part.flops(1)) for part in model.parts]
    flops[0] -= model.parts[0].flops(1).input_gradient  # which nobody waits for
    ends = accumulate(balanced_stages(flops, n_stages), initial=0)
    return [range(*two) for two in pairwise(ends)]


def _checked(model: Any, n_stages: int) -> int:
    """Return how many layers there are to cut."""
    from course_lib.models.chain import Chain  # with torch, which takes seconds to load

    if not isinstance(model, Chain):
        raise TypeError(
            "model must be a Chain, whose layers can live on different ranks, got "
            f"{type(model).__name__}; deep_mlp(64, 32, 32, 10) of course_lib.models.deep_mlp is one"
            ", and docs/own_model.md says how one is made of torch modules"
        )
    n_layers = len(model.parts)
    if n_layers < n_stages:
        raise ValueError(
            f"model must have a layer for each of {n_stages} stages, got {n_layers} layers"
        )
    return n_layers


class Stage:
    """Some layers of a chain: their parameters, their gradient, and the activations they hold.

    Nothing of the other layers is ever made. Going back comes in two halves, which may lie apart:
    the gradient of the inputs, for the stage before, and then that of the parameters.

    Parameters
    ----------
    model : Chain
        Whose layers.
    numbers : range
        Which of them.
    seed : int, default: 0
        Of their first parameters.

    Attributes
    ----------
    w : numpy.ndarray, shape (n_parameters of these layers,)
        Their parameters.
    grad : numpy.ndarray, shape of ``w``
        The sum of what ``weight_gradient`` has found.
    """

    def __init__(self, model: "Chain", numbers: range, seed: int = 0) -> None:
        self.w: NDArray[Any] = np.concatenate([model.initial_of(k, seed) for k in numbers])
        self.grad = np.zeros_like(self.w)
        self._parts = [model.parts[k] for k in numbers]
        ends = accumulate((part.n_parameters for part in self._parts), initial=0)
        self._places = [slice(*two) for two in pairwise(ends)]
        self._is_first = numbers.start == 0
        self._saved: dict[int, list[Any]] = {}  # of each micro-batch, from its F to its W
        self._slopes: dict[int, list[Array]] = {}  # from its I to its W

    @property
    def n_held(self) -> int:
        """Of how many micro-batches it holds activations."""
        return len(self._saved)

    def forward(self, x: Array, microbatch: int = 0) -> Array:
        """Go forward through the layers, and hold what going back will need.

        Parameters
        ----------
        x : numpy.ndarray, shape (m, ...)
            What the stage before has made of m examples; of the first, the examples.
        microbatch : int, default: 0
            Its number.

        Returns
        -------
        numpy.ndarray, shape (m, ...)
            What the last of the layers makes of them.
        """
        saved = self._saved[microbatch] = []
        for part, place in zip(self._parts, self._places, strict=True):
            x, activations = part.forward(self.w[place], x)
            saved.append(activations)
        return x

    def input_gradient(self, slope: Array, microbatch: int = 0) -> Array:
        """Go back to the inputs, and hold what the parameters' gradient will need.

        Parameters
        ----------
        slope : numpy.ndarray, shape of what ``forward`` returned
            That of the loss in it.
        microbatch : int, default: 0
            Its number.

        Returns
        -------
        numpy.ndarray or None, shape of what ``forward`` was given
            The slope of the loss in it; None from the first stage, before which there is nobody.
        """
        saved = self._saved[microbatch]
        slopes = self._slopes[microbatch] = []
        for index in reversed(range(len(self._parts))):
            slopes.append(slope)
            if self._is_first and index == 0:
                return None
            place = self._places[index]
            slope = self._parts[index].input_gradient(self.w[place], saved[index], slope)
        return slope

    def weight_gradient(self, microbatch: int = 0) -> None:
        """Add a micro-batch's gradient to the sum, and let its activations go."""
        saved, slopes = self._saved.pop(microbatch), self._slopes.pop(microbatch)
        for part, place in zip(self._parts, self._places, strict=True):
            self.grad[place] += part.weight_gradient(saved.pop(0), slopes.pop())

    def flops(self, kind: str, n_examples: int) -> float:
        """Count the floating-point operations of an action for so many examples.

        Parameters
        ----------
        kind : {"F", "I", "W", "B"}
            Forward, back to the inputs, back to the parameters, or both ways back.
        n_examples : int
            How many.

        Returns
        -------
        float
            Those of all layers; the first of the model is spared the gradient of its inputs.
        """
        counts = [part.flops(n_examples) for part in self._parts]
        spared = counts[0].input_gradient if self._is_first else 0.0
        found = {
            "F": sum(count.forward for count in counts),
            "I": sum(count.input_gradient for count in counts) - spared,
            "W": sum(count.weight_gradient for count in counts),
        }
        return found["I"] + found["W"] if kind == "B" else found[kind]
