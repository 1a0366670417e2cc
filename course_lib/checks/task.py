"""What a task says about itself: its cases, the right answers, the price, the hints."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from course_lib.checks.comparator import Difference, first_difference
from course_lib.trace.trace import Trace

__all__ = ["ALL_SIZES", "Case", "Given", "Hint", "LocalTask", "Mistake", "Price", "Task", "listed"]

_ONE = re.compile(
    r"(?<![\d,.])1 ((?:random |round )?"
    r"(?:row|layer|example|step|feature|trip|number|parameter|part|shard|span|microsecond))s\b"
)

ALL_SIZES = (4, 1, 2, 3, 5, 7, 8)
"""The numbers of workers that a check tries; 4 first, because its pictures are the clearest."""

Given = Sequence[tuple[Any, ...]]
"""The arguments of one call, by rank, without the communicator."""


class Hint(NamedTuple):
    """A sentence that helps, and a short name that the tests know it by."""

    id: str
    text: str


class Mistake(NamedTuple):
    """What a plausible wrong version returns, by rank, and what to say to it."""

    id: str
    text: str
    values: Sequence[Any]


class Price(NamedTuple):
    """What one call costs.

    Attributes
    ----------
    messages : int
        Messages sent, by all ranks together.
    n_bytes : int
        Bytes sent, by all ranks together.
    busiest_bytes : int
        Bytes that the busiest rank sends or receives, whichever is more.
    seconds : float or None
        Virtual seconds on the simulator's default network; None where time is no matter.
    rounds : int or None
        The longest chain of messages that wait for each other; None where it is no matter.
    """

    messages: int
    n_bytes: int
    busiest_bytes: int
    seconds: float | None = None
    rounds: int | None = None


@dataclass(frozen=True)
class Case:
    """One run of a learner's function.

    Attributes
    ----------
    workers : int
        How many ranks.
    label : str
        What is special about it, for the report.
    seed : int
        0 for the fixed data whose results can be decoded; else the seed of random data.
    calls : int
        How often the function is called in the one run, each time with other data.
    rendezvous : bool
        Whether every send waits for its receive.
    stagger : bool
        Whether ranks begin at random times, so that messages arrive in another order.
    network : object
        The simulator's network, None for its own.
    faults : object
        What goes wrong on it, None for nothing.
    alone : bool
        Whether the function is called by nobody in particular: it needs no workers.
    settings : mapping
        What else the task wants to know: lengths, dtypes, numbers of rows.
    """

    workers: int
    label: str
    seed: int = 0
    calls: int = 2
    rendezvous: bool = False
    stagger: bool = False
    network: Any = None
    faults: Any = None
    alone: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    def rng(self, rank: int, call: int) -> np.random.Generator:
        """Make the random generator for one call of one rank."""
        return np.random.default_rng([self.seed, self.workers, rank, call])

    def __str__(self) -> str:
        """Describe the case in one line."""
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        workers = "" if self.alone else workers
        parts = [workers, self.label, "every send waits for its receive" * self.rendezvous]
        return _ONE.sub(r"1 \1", ", ".join(part for part in parts if part))


def listed(names: Sequence[str]) -> str:
    """Write names one after the other: ``send, recv and sendrecv``; ``rank and size`` for none."""
    *others, last = names or ("rank", "size")
    return f"{', '.join(others)} and {last}" if others else last


class Task(ABC):
    """One exercise, as its check sees it.

    Attributes
    ----------
    name, title : str
        The name of the function to write, and its goal.
    talks : bool
        Whether a solution sends messages at all. Where ``price`` has some, none is a failure.
    carried_out : bool
        Whether the check itself carries out what the function returns, and sends the messages.
    fresh : bool
        Whether the result must not share memory with an argument.
    takes : tuple of str
        The names of the arguments of the learner's function, without the communicator.
    verbs : tuple of str
        The methods of the communicator that a solution may use to reach others, none of them where
        it does not talk; all where it may call collectives.
    may_use_collectives : bool
        Whether a solution may call the library's collectives.
    forbidden : tuple of str
        Modules of the library that the learner's function may not use.
    forbidden_functions : tuple of str
        Other functions that it may not use, with their module: ``"numpy.array_split"``.
    enough : str
        What a solution can do with instead.
    nested_run_hint : str
        What to say to a function that calls ``run``.
    deadlock_hint : str
        What to say when the ranks wait for each other.
    units : mapping of str to str
        What the numbers of the result are measured in, by their keys; ``""`` is the key of a number
        by itself, or in a list.
    tells_the_cure : bool
        Whether a deadlock's report says how to break the cycle; not where that is the task.
    price_hints : mapping of str to str
        What to say instead of the general sentence when the budget is exceeded, by the hint's id.
    rounding_terms : int
        How many rounded operations lie on the way to one number of the result.
    empty_results : bool
        Whether a right result may have no elements.
    shows_arguments : bool
        Whether a report of a failing case has its arguments, if they are short.
    layout : {"ring", "star", "line"}
        Where the workers stand when a failing run is played.
    roles : mapping of int to str
        What some ranks are besides workers.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    talks: ClassVar[bool] = True
    carried_out: ClassVar[bool] = False
    fresh: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ()
    verbs: ClassVar[tuple[str, ...]] = ("send", "recv", "recv_any", "sendrecv")
    may_use_collectives: ClassVar[bool] = False
    forbidden: ClassVar[tuple[str, ...]] = ("course_lib.collectives", "course_lib.schemes")
    forbidden_functions: ClassVar[tuple[str, ...]] = ()
    enough: ClassVar[str] = "send and receive are enough"
    nested_run_hint: ClassVar[str] = (
        "the check starts the workers, and calls this function on each of them: leave out run"
    )
    deadlock_hint: ClassVar[str] = (
        "write down, for every rank, its first send or recv: somebody has to send first while "
        "somebody else receives"
    )
    units: ClassVar[Mapping[str, str]] = {}
    tells_the_cure: ClassVar[bool] = True
    price_hints: ClassVar[Mapping[str, str]] = {}
    rounding_terms: ClassVar[int] = 8
    empty_results: ClassVar[bool] = False
    shows_arguments: ClassVar[bool] = False
    layout: ClassVar[str] = "ring"
    roles: ClassVar[Mapping[int, str]] = {}

    @abstractmethod
    def cases(self, secret: int) -> Iterator[Case]:
        """Yield the cases, the most readable first; ``secret`` seeds the random ones."""

    def all_cases(self, secret: int) -> list[Case]:
        """List the cases as they are run: whoever needs no workers is called twice in each.

        For it may keep something from call to call, as a default ``found=[]`` does, and then only
        the first result is right.
        """
        is_local = isinstance(self, LocalTask)
        return [
            replace(case, calls=2) if case.calls == 1 and (case.alone or is_local) else case
            for case in self.cases(secret)
        ]

    @abstractmethod
    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make one rank's arguments (after the communicator), the same each time it is asked."""

    @abstractmethod
    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Compute the right results by rank, in plain NumPy."""

    @abstractmethod
    def price(self, case: Case) -> Price:
        """Say what the reference solution costs."""

    def budget(self, case: Case) -> Price:
        """Say what a solution may cost."""
        return self.price(case)

    def least(self, case: Case) -> Price | None:
        """Say what a solution costs at least, where it is a measurement; else None."""
        return None

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Call the learner's function on one rank."""
        return fn(comm, *arguments)

    def scale(self, case: Case, arguments: Given) -> Any:
        """Say how large the numbers are that were added up; None for the result's own size."""
        return None

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare the results of all ranks with the right ones."""
        return first_difference(
            self.expected(case, arguments),
            got,
            n_terms=self.rounding_terms,
            scale=self.scale(case, arguments),
            may_be_empty=self.empty_results,
        )

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Yield what known wrong versions would return, the likeliest first."""
        yield from ()

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say what may be behind a wrong result, beyond the known mistakes."""
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Say what may be behind a run without results: the kind of error, and its text."""
        return None

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Say what is wrong with the way that the messages took although the results are right."""
        return None


class LocalTask(Task):
    """A function that needs no communicator: it is called with its arguments alone, and is free."""

    talks = False
    nested_run_hint = "no workers are needed: compute the answer from the arguments"

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Call the learner's function."""
        return fn(*arguments)

    def price(self, case: Case) -> Price:
        """Cost nothing: no messages."""
        return Price(0, 0, 0)
