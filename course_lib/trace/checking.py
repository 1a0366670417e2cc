"""What must hold of numbers and names that were read, for them to be the events of a trace.

A file may be damaged, or somebody else's. Here, and nowhere later, it is found out: every column of
every table is looked at as a whole, which for 300,000 messages takes less than reading them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from course_lib.trace.events import Collective, Compute, Fault, Message, Note, Wait

__all__ = ["KINDS", "check_head", "check_table"]

KINDS: dict[str, Any] = {
    "messages": Message,
    "computes": Compute,
    "waits": Wait,
    "notes": Note,
    "faults": Fault,
    "collectives": Collective,
}
"""What the events of each table are."""

_MOST_RANKS = 10_000  # as many as a run can have
_MOST = 2**63
_CLOCKS = ("measured", "virtual")

Column = Sequence[Any]


@dataclass(frozen=True)
class _Rule:
    """What each value of a column must be, in words, and how to tell of many at once."""

    words: str
    holds: Callable[[Column, int], bool]  # takes the values and the number of ranks


def _are(values: Column, *types: type) -> bool:
    return set(map(type, values)) <= set(types)


def _ranks(values: Column, size: int) -> bool:
    return _are(values, int) and (not values or (min(values) >= 0 and max(values) < size))


def _counts(values: Column, _: int) -> bool:
    return _ranks(values, _MOST)


def _amounts(values: Column, _: int) -> bool:
    if not _are(values, int, float):
        return False
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:  # a whole number that is larger than any float
        return False
    return bool(np.all((numbers >= 0) & np.isfinite(numbers)))


def _shapes(values: Column, size: int) -> bool:
    return _are(values, list) and _counts(list(chain.from_iterable(values)), size)


def _texts(values: Column, _: int) -> bool:
    return _are(values, str)


def _tags(values: Column, _: int) -> bool:
    return _are(values, int, str, type(None))


def _anything(_: Column, __: int) -> bool:
    return True


def _or_none(rule: _Rule) -> _Rule:
    def holds(values: Column, size: int) -> bool:
        return rule.holds([value for value in values if value is not None], size)

    return _Rule(f"{rule.words}, or null", holds)


_RANK = _Rule("a rank of this run", _ranks)
_COUNT = _Rule("a whole number of 0 or more", _counts)
_AMOUNT = _Rule("a number of 0 or more", _amounts)
_TIME = _Rule("seconds from the start of the run, 0 or more", _amounts)
_TEXT = _Rule("a text", _texts)
_SHAPE = _Rule("a list of whole numbers of 0 or more", _shapes)
_TAG = _Rule("a whole number, a text or null", _tags)
_VALUE = _Rule("anything", _anything)

_RULES = {
    "messages": {
        "src": _RANK, "dst": _RANK, "tag": _TAG, "dtype": _TEXT, "shape": _SHAPE,
        "n_bytes": _COUNT, "posted_s": _TIME, "sent_s": _TIME, "arrived_s": _or_none(_TIME),
        "received_s": _or_none(_TIME), "comm": _TEXT,
    },
    "computes": {
        "rank": _RANK, "label": _TEXT, "flops": _AMOUNT, "start_s": _TIME, "end_s": _TIME,
    },
    "waits": {
        "rank": _RANK, "verb": _TEXT, "peer": _or_none(_RANK), "start_s": _TIME, "end_s": _TIME,
        "comm": _TEXT,
    },
    "notes": {"rank": _RANK, "name": _TEXT, "value": _VALUE, "time_s": _TIME},
    "faults": {"rank": _or_none(_RANK), "kind": _TEXT, "text": _TEXT, "time_s": _TIME},
    "collectives": {
        "rank": _RANK, "name": _TEXT, "number": _COUNT, "entered_s": _TIME, "left_s": _TIME,
        "comm": _TEXT,
    },
}  # fmt: skip
_IN_ORDER = (  # of one rank's clock, so that they cannot be the other way round
    ("messages", "posted_s", "sent_s"),
    ("messages", "arrived_s", "received_s"),
    ("computes", "start_s", "end_s"),
    ("waits", "start_s", "end_s"),
    ("collectives", "entered_s", "left_s"),
)


def check_head(backend: Any, clock: Any, size: Any) -> None:
    """Refuse what no run has.

    Parameters
    ----------
    backend, clock, size : object
        What was read.

    Raises
    ------
    ValueError
        Naming the field, what was expected and what was given.
    """
    if type(backend) is not str:
        raise ValueError(f"backend must be a text, got {_shown(backend)}")
    if clock not in _CLOCKS:
        raise ValueError(f"clock must be one of {_CLOCKS}, got {_shown(clock)}")
    if type(size) is not int or not 1 <= size <= _MOST_RANKS:
        raise ValueError(
            f"size must be a number of ranks from 1 to {_MOST_RANKS:,}, got {_shown(size)}"
        )


def check_table(name: str, table: Any, size: int) -> list[list[Any]]:
    """Return the rows of a table, in each of which every value is what it has to be.

    Parameters
    ----------
    name : str
        One of ``KINDS``.
    table : object
        What was read: a dict of "fields" and "rows".
    size : int
        How many ranks the run had.

    Returns
    -------
    list of list
        The rows, as they were given.

    Raises
    ------
    ValueError
        Naming the table, the row and the column, what was expected and what was given.
    """
    fields = KINDS[name]._fields
    if not isinstance(table, dict) or table.get("fields") != list(fields):
        raise ValueError(f"{name} must have the fields {', '.join(fields)}")
    rows: Any = table.get("rows")
    if type(rows) is not list or not _are(rows, list) or set(map(len, rows)) - {len(fields)}:
        raise ValueError(f"{name} must have rows of {len(fields)} values each")
    for field, values in _columns(fields, rows):
        rule = _RULES[name][field]
        if not rule.holds(values, size):
            row = next(n for n, value in enumerate(values) if not rule.holds([value], size))
            raise ValueError(
                f"{name}, row {row}: {field} must be {rule.words}, got {_shown(values[row])}"
            )
    for where, first, second in _IN_ORDER:
        if where == name:
            _check_order(name, first, second, rows)
    return rows


def _columns(fields: Sequence[str], rows: Column) -> Iterator[tuple[str, Column]]:
    """Yield one column after the other: all at once would take as much memory as the rows."""
    for index, field in enumerate(fields):
        yield field, list(map(itemgetter(index), rows))


def _check_order(name: str, first: str, second: str, rows: Column) -> None:
    both = itemgetter(*(KINDS[name]._fields.index(field) for field in (first, second)))
    for number, (start, end) in enumerate(map(both, rows)):
        if start is not None and end is not None and start > end:
            raise ValueError(
                f"{name}, row {number}: {second} must not be before {first}, got {end} and {start}"
            )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
