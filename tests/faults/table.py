"""The table of faults: what may go wrong in a run, what must be said then, and how soon.

A row is a function that commits a fault, or each of its variants, and checks what is said about it.
``test_matrix.py`` calls it with every way of starting processes, then looks for what is left
behind, starts the next run, and compares the time from the fault to its report with the limit.
"""

import sys
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import cloudpickle
import pytest

from course_lib import run
from course_lib.comm.job import USUAL_METHOD
from tests.start_methods import START_METHODS

__all__ = ["ROWS", "Case", "Fault", "Row", "row"]

Check = Callable[["Case"], None]
_NO_VARIANTS: Mapping[str, Any] = MappingProxyType({"": None})


@dataclass(frozen=True)
class Row:
    """One fault.

    Attributes
    ----------
    number : int
        Its number in the table; several rows may share one.
    says : str
        The fault in a few words.
    check : callable
        Commits it and checks what is said.
    limit_s : float or None
        How soon it is to be reported; None where there is nothing to report.
    variants : mapping
        Names and values of ``case.variant``.
    workers, least : int
        With how many ranks it is usually committed, and how many it needs.
    posix : bool
        Whether it needs signals, process groups or other things that Windows has not.
    alone : bool
        Whether the number of workers and the faulty rank mean nothing to it.
    spawned : collection of str or None
        Which variants are played with the slow ways of starting processes, too. None, and these are
        all, unless it happens among ranks at work, however they were started: then it is one where
        a number of the table has no other, and the soak plays the rest.
    rare : collection of str
        Which variants the soak alone plays: large ones of what a smaller variant shows, too.
    """

    number: int
    says: str
    check: Check
    limit_s: float | None
    variants: Mapping[str, Any]
    workers: int
    least: int
    posix: bool
    alone: bool
    spawned: Collection[str] | None
    rare: Collection[str]

    def is_played(self, variant: str, start_method: str) -> bool:
        """Tell whether the test command plays a variant with this way of starting processes."""
        usual = start_method in (START_METHODS[0], USUAL_METHOD)
        often = usual or self.spawned is None or variant in self.spawned
        return often and variant not in self.rare


ROWS: list[Row] = []


def row(
    number: int,
    says: str,
    *,
    limit_s: float | None = None,
    variants: Mapping[str, Any] = _NO_VARIANTS,
    workers: int = 2,
    least: int = 1,
    posix: bool = False,
    alone: bool = False,
    spawned: Collection[str] | None = None,
    rare: Collection[str] = (),
) -> Callable[[Check], Check]:
    """Put a function into the table; see ``Row``."""

    def register(check: Check) -> Check:
        # Else every worker would import the module of the row, and pytest with it.
        for module in (__name__, check.__module__):
            cloudpickle.register_pickle_by_value(sys.modules[module])
        assert {*(spawned or ()), *rare} <= set(variants), "no such variant"
        least_ranks = max(least, 1)
        ROWS.append(
            Row(
                number, says, check, limit_s, variants, workers, least_ranks, posix, alone,
                spawned, rare,
            )
        )  # fmt: skip
        return check

    return register


@dataclass(frozen=True)
class Fault:
    """Where a worker, or the test, notes the moment of the fault, just before it commits it.

    The first note counts. ``time.perf_counter`` is one clock for all processes of a computer.
    """

    path: str

    def __call__(self, after_s: float = 0.0) -> None:
        """Note that the fault happens now, or (a time limit that will pass) in ``after_s``."""
        with suppress(FileExistsError), Path(self.path).open("x") as file:
            file.write(repr(time.perf_counter() + after_s))


@dataclass
class Case:
    """A row that is being played: how, by how many, and what its times were.

    Attributes
    ----------
    start_method : str
        How processes are started.
    workers, bad_rank : int
        How many ranks there are, and which of them commits the fault.
    variant : Any
        The value of the variant.
    folder : Path
        An empty folder.
    times_s : list of float
        From each fault to its report.
    """

    start_method: str
    workers: int
    bad_rank: int
    variant: Any
    folder: Path
    times_s: list[float] = field(default_factory=list)

    @property
    def fault(self) -> Fault:
        """What a worker calls just before it commits the fault."""
        return Fault(str(self.folder / "the moment of the fault"))

    def run(self, fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Run ``fn`` on the workers of this case."""
        options.setdefault("workers", self.workers)
        return run(fn, *args, start_method=self.start_method, **options)

    def failing(
        self,
        error: type[BaseException] | tuple[type[BaseException], ...],
        fn: Callable[..., Any],
        *args: Any,
        **options: Any,
    ) -> Any:
        """Run ``fn``, expect the error, note how long it took to be reported, and return it."""
        begun_s = time.perf_counter()
        with pytest.raises(error) as raised:
            self.run(fn, *args, **options)
        self.reported(begun_s)
        assert type(raised.value) in (error if isinstance(error, tuple) else (error,))
        return raised.value

    def reported(self, begun_s: float | None = None) -> None:
        """Note how long it took from the fault (where none was noted, from ``begun_s``) to now."""
        now_s = time.perf_counter()
        moment = Path(self.fault.path)
        if moment.exists():
            begun_s = float(moment.read_text())
            moment.unlink()
        assert begun_s is not None, "nobody noted the moment of the fault"
        self.times_s.append(now_s - begun_s)

    def forget(self) -> None:
        """Forget the moment of a fault that came too late to be reported."""
        Path(self.fault.path).unlink(missing_ok=True)
