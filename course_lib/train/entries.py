"""What a scheme of the catalogue is, and an option that only some take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from course_lib.console.options import number, whole
from course_lib.models.model import Array
from course_lib.training import Plan, Training

__all__ = ["Option", "Scheme"]


@dataclass(frozen=True)
class Option:
    """A word on the command line that only some schemes take.

    Attributes
    ----------
    usual : str or None
        What it is where it is left out; None where the scheme's ``fits`` finds it by the model.
    help : str
        What it means, for ``--help``.
    choices : mapping or None
        What the scheme is given for each text that is allowed; None takes whole numbers.
    least : int, default: 1
        The smallest number.
    is_whole : bool, default: True
        Whether numbers are whole ones; of others the scheme's ``fits`` knows which are allowed.
    only_with : tuple of str, default: ()
        Another option and its value, without which this one says nothing.
    """

    usual: str | None
    help: str
    choices: Mapping[str, Any] | None = None
    least: int = 1
    is_whole: bool = True
    only_with: tuple[str, ...] = ()

    def read(self, option: str, text: str | None) -> str | float | None:
        """Return what checkpoints remember of a text, or raise a sentence about the option."""
        text = self.usual if text is None else text
        if text is None:
            return None
        if self.choices is None:
            return whole(option, text, self.least) if self.is_whole else number(option, text)
        if text not in self.choices:
            raise ValueError(f"{option} knows {', '.join(self.choices)}; not {text!r}")
        return text

    def meaning(self, value: Any) -> Any:
        """Return what the scheme is given for what ``read`` returned."""
        return value if self.choices is None else self.choices[value]


@dataclass(frozen=True)
class Scheme:
    """A scheme and what the command line has to know of it.

    Attributes
    ----------
    train : callable
        Called with a communicator, a model, X, y, a plan, and by name ``optimizer`` and the
        options; returns a ``Training``. It calls ``optimizer`` once for each array that it steps,
        and when it asks ``plan.shares`` for the first step of another epoch, all steps are taken.
    options : tuple of str
        Names in ``OPTIONS``.
    whole : callable or None
        Puts the model together from all ranks' states, or where ranks do not settle from those of
        rank 0, and by name the model and the options. None: those of rank 0 stand for all.
    outputs : callable or None
        Where no rank holds the model: called with the communicator, the model, and by name the
        options, returns ``outputs.Outputs``. None, or it returns None: a rank has it whole.
    servers : int, default: 0
        How many ranks only serve, where no option says so.
    most_workers : int or None
        If there is a limit of its own.
    models : tuple of str or None
        Names in ``MODELS`` of those it can train; None for all.
    check : callable or None
        Called before anything starts with a model, the number of workers, the examples of a batch
        and by name the options; raises ValueError where it cannot be split so. None: any can.
    without : tuple of str
        Fields of a plan that it cannot carry out.
    without_with : mapping of (str, str) to tuple of str
        Others that it cannot, by the option and its value with which that is so.
    fits : callable or None
        Called before anything starts with a model, the number of workers and by name the options;
        returns the options by name, or raises a ValueError that names one which does not fit.
    usual : mapping of str to str
        Its options where they are left out, if not those of ``OPTIONS``.
    optimizer : str or None
        What takes its steps where nobody says so, by its name on the command line.
    usual_plan : callable or None
        Makes of a model's usual plan what is usual with this scheme, where ``--momentum`` is left
        out; None leaves it.
    settles : bool, default: True
        Whether all ranks end an epoch together, with all its steps taken. If not, what rank 0 has
        when it has taken as many is the model after that epoch, and all that a checkpoint keeps:
        who goes on from it lets the others begin anew, and what was on its way is lost.
    edge : str or None
        Which of ``training.divergence.EDGES`` is the largest stable rate's, where that is known.
    """

    train: Callable[..., Training]
    options: tuple[str, ...] = ()
    whole: Callable[..., Array] | None = None
    outputs: Callable[..., Any] | None = None
    servers: int = 0
    most_workers: int | None = None
    models: tuple[str, ...] | None = None
    check: Callable[..., None] | None = None
    without: tuple[str, ...] = ()
    without_with: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    fits: Callable[..., dict[str, Any]] | None = None
    usual: Mapping[str, str] = field(default_factory=dict)
    optimizer: str | None = None
    usual_plan: Callable[[Plan], Plan] | None = None
    settles: bool = True
    edge: str | None = None
