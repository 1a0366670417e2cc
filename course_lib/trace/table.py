"""Events of one kind, kept by columns.

A run of a thousand ranks has millions of messages. As one object each they fill gigabytes; as
columns of numbers they take a few dozen bytes each, and an event is made when somebody looks at it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter, eq
from typing import Any, TypeVar, overload

from numpy.typing import NDArray

__all__ = ["Table", "column"]

Event = TypeVar("Event", bound=tuple[Any, ...])

_BLOCK = 4096  # events that are made together


class Table(Sequence[Event]):
    """A list of events that cannot be changed, and equals any list of the same events.

    Parameters
    ----------
    kind : type of NamedTuple
        What an event is.
    columns : mapping of str to numpy.ndarray
        The values of each field, all of one length; of dtype object where they are no numbers.
    """

    def __init__(self, kind: Any, columns: Mapping[str, NDArray[Any]]) -> None:
        self._kind = kind
        self._columns = {name: columns[name] for name in kind._fields}
        (self._length,) = {len(values) for values in columns.values()}

    def column(self, name: str) -> list[Any]:
        """Return one field of all events.

        Parameters
        ----------
        name : str
            The field.

        Returns
        -------
        list
            Its values, as Python's own numbers.
        """
        values: list[Any] = self._columns[name].tolist()
        return values

    def __len__(self) -> int:
        """Return how many events there are."""
        return self._length

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...

    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        """Return one event, or a list of them."""
        if isinstance(index, slice):
            return self._events(index)
        event: Event = self._kind._make(values.item(index) for values in self._columns.values())
        return event

    def __iter__(self) -> Iterator[Event]:
        """Make the events, some at a time."""
        starts = range(0, self._length, _BLOCK)
        return chain.from_iterable(self._events(slice(start, start + _BLOCK)) for start in starts)

    def _events(self, where: slice) -> list[Event]:
        fields = [values[where].tolist() for values in self._columns.values()]
        return list(map(self._kind._make, zip(*fields, strict=True)))

    def __eq__(self, other: object) -> bool:
        """Compare event by event, also with a list."""
        if not isinstance(other, Table | list):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Write it as the list that it stands for."""
        return repr(list(self))


def column(events: Sequence[Any], name: str) -> list[Any]:
    """Return one field of all events, without making the events where there is a table of them.

    Parameters
    ----------
    events : sequence of NamedTuple
        A table, or a list.
    name : str
        The field.

    Returns
    -------
    list
        Its values.
    """
    if isinstance(events, Table):
        return events.column(name)
    return list(map(attrgetter(name), events))
