"""The states of a training as bytes: an ``.npz`` file of plain arrays, without pickle.

What is read may come from anybody, so nothing in it is believed: a member has a name that we write,
lies there uncompressed, and is as long as its header says. So reading takes at most ten times the
memory of the bytes themselves, whatever they are: three times for what ``pack_states`` wrote, more
where somebody has put in nothing but names.
"""

import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_BESIDE", "MOST_KEPT", "State", "check_states", "pack_states", "unpack_states"]

_KEPT = "[a-z][a-z0-9_]{0,39}"
_NAMES = re.compile(rf"(w|rows|epoch|rates|\d+\.count|\d+\.\d+\.{_KEPT})\.npy")
MOST_KEPT = 6
"""How many arrays as long as the parameters an optimizer may keep."""
MOST_BESIDE = 2
"""How many as long as those a rank may keep beside what its optimizers have (``Plan.keep``)."""
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?s:..)\{'descr': '([<>][fi][48])', 'fortran_order': False, "
    rb"'shape': \(([0-9, ]*)\), \} *\n"
)
_LEAST_MEMBER_BYTES = 150  # our headers take more; the directory of a zip file costs memory, too


class State(NamedTuple):
    """What one optimizer needs to go on.

    Attributes
    ----------
    w : numpy.ndarray
        The parameters that it steps.
    kept : mapping of str to numpy.ndarray
        Its ``state``: arrays as long as ``w``, or numbers, by name.
    n_steps : int
        How many steps it has taken: where it is in the warm-up and the schedule.
    """

    w: NDArray[Any]
    kept: Mapping[str, NDArray[Any]]
    n_steps: int


def pack_states(states: Sequence[Sequence[State]], **more: NDArray[Any]) -> bytes:
    """Write states as the bytes of an ``.npz`` file, and more arrays by name, w for one."""
    arrays = dict(more)
    for rank, own in enumerate(states):
        arrays[f"{rank}.count"] = np.array(len(own))
        for index, state in enumerate(own):
            arrays[f"{rank}.{index}.w"] = state.w
            arrays[f"{rank}.{index}.n_steps"] = np.array(state.n_steps)
            for name, array in state.kept.items():
                if name in ("w", "n_steps") or not re.fullmatch(_KEPT, name):
                    raise ValueError(f"an optimizer's state cannot be kept as {name!r}")
                arrays[f"{rank}.{index}.{name}"] = array
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpack_states(packed: bytes) -> tuple[list[list[State]], dict[str, NDArray[Any]]]:
    """Read what ``pack_states`` wrote: the states of each rank, and what was packed by name.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    arrays = _arrays(packed)
    states: list[list[State]] = []
    while f"{len(states)}.count" in arrays:
        name = f"{len(states)}."
        count = _whole(arrays, f"{name}count")
        states.append([_state(arrays, f"{name}{index}.") for index in range(count)])
    if stray := [name for name in arrays if "." in name]:
        raise ValueError(f"its part {stray[0]!r} belongs to no rank")
    return states, arrays


def _state(arrays: dict[str, NDArray[Any]], name: str) -> State:
    """Take one state out of the arrays."""
    n_steps = _whole(arrays, f"{name}n_steps")
    w = arrays.pop(f"{name}w", None)
    own = sorted(other for other in arrays if other.startswith(name))
    kept = {other.removeprefix(name): arrays.pop(other) for other in own}
    if w is None or w.ndim != 1 or w.dtype.kind != "f":
        raise ValueError(f"its part '{name}w' must be a vector of floats")
    state = State(w, kept, n_steps)
    _check(state, name)
    return state


def check_states(states: Sequence[Sequence[State]]) -> None:
    """Refuse what optimizers keep, if it could not be read again.

    Parameters
    ----------
    states : sequence of sequence of State
        For each rank, those of its optimizers.

    Raises
    ------
    ValueError
        If a part is neither a number nor as long as what is stepped, or there are too many.
    """
    for rank, own in enumerate(states):
        for index, state in enumerate(own):
            _check(state, f"{rank}.{index}.")


def _check(state: State, name: str) -> None:
    for other, array in state.kept.items():
        kinds = "f" if array.shape else "fi"
        if array.shape not in (state.w.shape, ()) or array.dtype.kind not in kinds:
            raise ValueError(f"its part '{name}{other}' must be {state.w.size} floats, or a number")
    if sum(array.shape != () for array in state.kept.values()) > MOST_KEPT:
        raise ValueError(f"its part '{name}w' comes with more than {MOST_KEPT} others")


def _whole(arrays: dict[str, NDArray[Any]], name: str) -> int:
    found = arrays.pop(name, None)
    if found is None or found.shape != () or found.dtype.kind != "i" or found < 0:
        raise ValueError(f"its part {name!r} must be a whole number of 0 or more")
    return int(found)


def _arrays(packed: bytes) -> dict[str, NDArray[Any]]:
    """Read the members by name, each only once it is known to be no longer than the bytes given."""
    if packed.count(b"PK\x01\x02") * _LEAST_MEMBER_BYTES > len(packed):
        raise ValueError("it has more parts than there is room for")
    try:
        return _arrays_in(packed)
    except (ValueError, MemoryError):
        raise
    except Exception as error:  # zipfile has many: BadZipFile, EOFError, NotImplementedError, ...
        raise ValueError(f"it is no archive: {error or type(error).__name__}") from error


def _arrays_in(packed: bytes) -> dict[str, NDArray[Any]]:
    with ZipFile(io.BytesIO(packed)) as file:
        members = [(_name_of(member), member) for member in file.infolist()]
        if len(dict(members)) < len(members):
            raise ValueError("one of its parts is there twice")
        if sum(member.file_size for _, member in members) > len(packed):
            raise ValueError("its parts are longer than the file")
        return {name: _array(name, file.read(member)) for name, member in members}


def _name_of(member: ZipInfo) -> str:
    if not _NAMES.fullmatch(member.filename):
        raise ValueError(f"it has a part {member.filename[:80]!r}, which no checkpoint has")
    if member.compress_type != ZIP_STORED or member.flag_bits & 1:
        raise ValueError(f"its part {member.filename!r} is compressed or encrypted")
    return member.filename.removesuffix(".npy")


def _array(name: str, content: bytes) -> NDArray[Any]:
    """Read the bytes of an ``.npy`` file as ``numpy.save`` writes them for numbers."""
    header = _HEADER.match(content)
    if header is None:
        raise ValueError(f"its part {name!r} is no array of numbers, as allow_pickle=False writes")
    dtype = np.dtype(header[1].decode())
    shape = tuple(map(int, re.findall(rb"\d+", header[2])))
    if math.prod(shape) * dtype.itemsize != len(content) - header.end():
        raise ValueError(f"its part {name!r} is not as long as it says")
    flat = np.frombuffer(content, dtype, offset=header.end())
    return flat.reshape(shape).astype(dtype.newbyteorder("="))  # a copy, that can be written
