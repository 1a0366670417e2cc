"""How real workers meet in a verb that all of them call: the first hears all, and tells all."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.errors import RunError
from course_lib.comm.meetings import again, other_requests, other_verbs
from course_lib.comm.processes.arena import Arena

if TYPE_CHECKING:
    from course_lib.comm.processes.communicator import ProcessCommunicator

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
            raise again(told, *json.loads(answer.tobytes()))
        return answer
    verbs, rows = {0: verb}, [mine]
    for rank, peer in enumerate(others, start=1):
        verbs[rank], row = comm._quietly_receive(verb, peer, others[rank - 1 :])
        rows.append(row)
    told, answer = verb, mine
    error: RunError | None = other_verbs(verbs, comm._members, comm.name)
    if error is None:
        try:
            answer = conclude(rows)
        except RunError as refusal:
            error = refusal
    if error is not None:
        told, answer = type(error).__name__, _bytes([str(error.args[0]), error.rank])
    for peer in others:
        comm._quietly_send(verb, answer, peer, told)
    if error is not None:
        raise error
    return answer


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
