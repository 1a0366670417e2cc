"""Look at everything the course needs, one thing after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from course_lib.doctor import packages, system
from course_lib.doctor.report import Finding, Report

__all__ = ["examine"]


def examine() -> Report:
    """Look at everything the course needs.

    Returns
    -------
    Report
        One finding for each thing; nothing is changed. Takes a second or two, since it really
        starts two workers.
    """
    looks: Sequence[Callable[[], Iterator[Finding]]] = (
        system.python,
        packages.packages,
        system.cores,
        system.memory,
        system.shared_memory,
        system.disk,
        system.start_methods,
        system.workers,
        system.gpu,
        system.chromium,
        system.jupyter_servers,
    )
    return Report(tuple(finding for look in looks for finding in _findings(look)))


def _findings(look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield what a look finds; what it needs itself may be missing, too."""
    try:
        yield from look()
    except ImportError as error:
        topic = look.__name__.replace("_", " ")
        yield Finding(topic, "problem", f"cannot be examined: {error}", packages.AFRESH)
