"""What the formulas are given, checked in one place: a wrong number is refused and not calculated.

``@checked(workers=ranks, alpha_s=duration)`` stands above a formula, so that its body stays one.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from course_lib.words.real import finite, real
from course_lib.words.whole import whole

__all__ = [
    "amount",
    "at_least_one",
    "checked",
    "count",
    "duration",
    "flag",
    "fraction",
    "listed",
    "positive",
    "ranks",
]

Arguments = ParamSpec("Arguments")
Found = TypeVar("Found")
Check = Callable[[str, Any], None]

_MOST_LISTED = 1_000_000  # a price says of each rank what it sends; these take seconds


def checked(**checks: Check) -> Callable[[Callable[Arguments, Found]], Callable[Arguments, Found]]:
    """Have arguments checked by name before a function is called, defaults excepted.

    Parameters
    ----------
    **checks : callable
        For each argument what is called with its name and value, and raises if that is wrong.

    Returns
    -------
    callable
        A decorator.
    """

    def decorate(fn: Callable[Arguments, Found]) -> Callable[Arguments, Found]:
        signature = inspect.signature(fn)

        @functools.wraps(fn)
        def checking(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Found:
            given = signature.bind(*args, **kwargs).arguments
            for name, check in checks.items():
                if name in given:
                    check(name, given[name])
            return fn(*args, **kwargs)

        return checking

    return decorate


def amount(name: str, value: Any) -> None:
    """Refuse what is no finite number of 0 or more."""
    if not (real(name, value) >= 0 and finite(value)):
        raise ValueError(f"{name} must be 0 or more and finite, got {value!r}")


duration = amount
"""The same, of seconds."""


def at_least_one(name: str, value: Any) -> None:
    """Refuse what is no finite number of 1 or more: formulas may be drawn between whole ones."""
    if not (real(name, value) >= 1 and finite(value)):
        raise ValueError(f"{name} must be 1 or more and finite, got {value!r}")


def positive(name: str, value: Any) -> None:
    """Refuse what is no finite number above 0."""
    if not (real(name, value) > 0 and finite(value)):
        raise ValueError(f"{name} must be above 0 and finite, got {value!r}")


def fraction(name: str, value: Any) -> None:
    """Refuse what is no number from 0 to 1."""
    if not 0 <= real(name, value) <= 1:
        raise ValueError(f"{name} must be from 0 to 1, got {value!r}")


def count(name: str, value: Any, least: int = 0) -> None:
    """Refuse what is no whole number of ``least`` or more."""
    whole(name, value, least)


def ranks(name: str, value: Any) -> None:
    """Refuse what is no number of ranks."""
    count(name, value, least=1)


def listed(name: str, value: Any) -> None:
    """Refuse what is no number of ranks, or of more than can be written down one by one."""
    whole(name, value, 1, _MOST_LISTED)


def flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r} ({type(value).__name__})")
