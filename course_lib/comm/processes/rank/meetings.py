"""How real workers meet in a verb that all of them call: the first hears all, and tells all."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.errors import PeerFinishedError, RunError
from course_lib.comm.meetings import SHARED, again, other_requests, other_verbs, written
from course_lib.comm.processes.memory.shared_arrays import Arena

if TYPE_CHECKING:
    from course_lib.comm.processes.rank.communicator import ProcessCommunicator

__all__ = ["meet", "place_of_array"]

Rows = list[NDArray[Any]]


def meet(
    comm: "ProcessCommunicator", verb: str, mine: NDArray[Any], conclude: Callable[[Rows], Any]
) -> NDArray[Any]:
    """Give every rank what the first makes of what all bring; it does not count as messages.

    Parameters
    ----------
    comm : ProcessCommunicator
        Whose ranks meet.
    verb : str
        What all of them must have called.
    mine : numpy.ndarray
        What this rank brings.
    conclude : callable
        Makes the answer, an array, of the list of what all have brought.

    Returns
    -------
    numpy.ndarray
        The answer.

    Raises
    ------
    RunError
        If they have not called the same, or if ``conclude`` raises one: the same on every rank.
    """
    first, *others = comm._members
    if comm.rank != 0:
        comm._quietly_send(verb, mine, first)
        told, answer = comm._quietly_receive(verb, first, (first,))
        if told != verb:
            raise again(told, json.loads(answer.tobytes()))
        return answer
    error: RunError | None = None
    told, answer = verb, mine
    try:
        answer = conclude(_gather(comm, verb, mine))
    except SHARED as refusal:
        error = refusal
        told, rest = written(error)
        answer = _bytes(rest)
    for peer in others:
        with suppress(PeerFinishedError):
            comm._quietly_send(verb, answer, peer, told)
    if error is not None:
        raise error
    return answer


def _gather(comm: "ProcessCommunicator", verb: str, mine: NDArray[Any]) -> Rows:
    """Return what all bring, by rank, if all have called the same."""
    others = comm._members[1:]
    verbs, rows = {0: verb}, [mine]
    for rank, peer in enumerate(others, start=1):
        verbs[rank], row = comm._quietly_receive(verb, peer, others[rank - 1 :])
        rows.append(row)
    if error := other_verbs(verbs, comm._members, comm.name):
        raise error
    return rows


def place_of_array(
    comm: "ProcessCommunicator", arena: Arena, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> int:
    """Let the first rank make room for an array that all ask for; return where it begins."""

    def reserve(requests: Rows) -> NDArray[Any]:
        asked = {}
        for rank, request in enumerate(requests):
            kind, lengths = json.loads(request.tobytes())
            asked[rank] = (tuple(lengths), np.dtype(kind))
        if error := other_requests(asked, comm._members, comm.name):
            raise error
        n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
        return np.array([arena.reserve(n_bytes, "shared_array")])

    return int(meet(comm, "shared_array", _bytes([dtype.str, shape]), reserve)[0])


def _bytes(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
