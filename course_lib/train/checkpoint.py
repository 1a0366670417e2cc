"""Checkpoints: what a training needs to go on, in files that a crash cannot leave half written.

A folder holds ``epoch_N-HASH.npz`` (plain arrays, read without pickle) and ``checkpoint.json``,
which names it, its SHA-256 and the options it was made with. Both are written beside their place
and then put there at once; the JSON comes last. So at any moment it names arrays that are whole.
The arrays of the checkpoint before stay until the next one: who has just read a name finds the
file. A name holds the first digits of the content's hash, so that two contents have two names.

A checkpoint may come from anybody. What is not as ``save`` writes it is a ``CheckpointError`` that
names the file; and arrays that are larger than the model and the ranks can need are not read: at
most ``8 n (1 + 2 P)`` bytes for n parameters on P ranks (7 P with another optimizer than SGD), 40
for each epoch, 64 KiB for each rank.
Of what is read, ``unpack_states`` says how much memory it takes.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.console.files import NEW, are_one_file, put, read_plain
from course_lib.train.claim import LOCK, check_claim
from course_lib.train.errors import CheckpointError
from course_lib.train.row import Row
from course_lib.train.states import MOST_KEPT, State, pack_states, unpack_states

__all__ = [
    "INDEX",
    "MOST_EPOCHS",
    "Checkpoint",
    "is_of_checkpoint",
    "load",
    "read_index",
    "save",
]

SCHEMA_VERSION = 2
_READABLE = (1, 2)  # the first did not say of a row which clock its seconds are from
INDEX = "checkpoint.json"
MOST_EPOCHS = 1_000_000
"""A checkpoint has a row for each epoch; so many, and no more, are read."""

_ARRAYS = re.compile(r"epoch_\d+(-[0-9a-f]+)?\.npz")
_OURS = re.compile(rf"epoch_\d+-[0-9a-f]{{12}}\.npz|.+\.[0-9a-f]{{8}}{re.escape(NEW)}")
"""What ``save`` itself leaves behind: other files, also other ``.npz``, are somebody else's."""
_MOST_INDEX_BYTES = 2**16
_ROOM_OF_RANK = 2**16


@dataclass(frozen=True)
class Checkpoint:
    """Everything that is kept.

    Attributes
    ----------
    made_with : dict
        The options that a training must share to go on from here, and the number of parameters.
    w : numpy.ndarray
        The model after the last epoch, put together.
    states : sequence of sequence of State
        For each rank, or for rank 0 alone where it stands for all, those of its optimizers.
    rows : sequence of Row
        What each epoch so far came to; the number of the last is how far the training is.
    """

    made_with: Mapping[str, Any]
    w: NDArray[Any]
    states: Sequence[Sequence[State]]
    rows: Sequence[Row]

    def of_rank(self, rank: int) -> Sequence[State]:
        """Return the states that a rank goes on from."""
        return self.states[0 if len(self.states) == 1 else rank]


def save(folder: Path, checkpoint: Checkpoint, token: str = "") -> None:
    """Write a checkpoint; until it is complete, the one before stays what ``load`` finds.

    Parameters
    ----------
    folder : Path
        Where to; it exists.
    checkpoint : Checkpoint
        What to write.
    token : str, default: ""
        That of the ``Claim`` to the folder; empty if nobody else can be writing there.

    Raises
    ------
    CheckpointError
        If another training has taken the folder.
    OSError
        If the disk is full, or the folder cannot be written to; the one before is still there.
    """
    epoch = checkpoint.rows[-1].epoch
    rows = np.array(checkpoint.rows, dtype=np.float64)  # None becomes NaN
    arrays = pack_states(checkpoint.states, w=checkpoint.w, rows=rows)
    sha256 = hashlib.sha256(arrays).hexdigest()
    file = folder / f"epoch_{epoch}-{sha256[:12]}.npz"
    index = {
        "schema": SCHEMA_VERSION,
        "epoch": epoch,
        "arrays": file.name,
        "sha256": sha256,
        "made_with": dict(checkpoint.made_with),
    }
    text = json.dumps(index | {"sha256_of_this": _digest(index)}, indent=1) + "\n"
    before = _arrays_of(folder)
    check_claim(folder, token)
    put(file, arrays)
    check_claim(folder, token)
    put(folder / INDEX, text.encode())
    check_claim(folder, token)
    for old in folder.iterdir():
        if _OURS.fullmatch(old.name) and old.name not in (file.name, before):
            with suppress(OSError):  # somebody reads it, on Windows; it does no harm
                old.unlink()


def load(folder: Path) -> Checkpoint:
    """Read the checkpoint of a folder and make sure that it is whole.

    Parameters
    ----------
    folder : Path
        What ``save`` was given.

    Returns
    -------
    Checkpoint
        Equal to the one that was saved.

    Raises
    ------
    CheckpointError
        If there is none, or it is damaged, or it has another schema version.
    """
    index = read_index(folder)
    file = folder / index["arrays"]
    try:
        arrays = read_plain(file, _most_bytes(index))
        if hashlib.sha256(arrays).hexdigest() != index["sha256"]:
            raise ValueError(f"its {len(arrays):,} bytes are not those that were written")
        states, more = unpack_states(arrays)
        if set(more) != {"w", "rows"}:
            raise ValueError(f"it has the parts {', '.join(sorted(more)) or 'of no model'}")
        _check_model(index["made_with"], more["w"], states)
        return Checkpoint(index["made_with"], more["w"], states, _rows(more["rows"], index))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} is damaged, or missing: {error}") from error


def is_of_checkpoint(file: Path, folder: Path) -> bool:
    """Say whether a file is one that a training may make in its folder, or the folder itself.

    Parameters
    ----------
    file : Path
        The file; links are followed.
    folder : Path
        The folder; it need not be there.

    Returns
    -------
    bool
        False for other files in that folder.
    """
    if any(are_one_file(file, folder / name) for name in (INDEX, LOCK, "")):
        return True
    target = Path(os.path.realpath(file))
    is_ours = _ARRAYS.fullmatch(target.name) or _OURS.fullmatch(target.name)
    return is_ours is not None and are_one_file(target.parent, folder)


def read_index(folder: Path) -> dict[str, Any]:
    """Read what a checkpoint says of itself, and none of its arrays.

    Parameters
    ----------
    folder : Path
        What ``save`` was given.

    Returns
    -------
    dict
        ``epoch``, ``arrays``, ``sha256`` and ``made_with``, each of the type that was written.

    Raises
    ------
    CheckpointError
        If there is none, or it is damaged, or it has another schema version.
    """
    file = folder / INDEX
    try:
        index = json.loads(read_plain(file, _MOST_INDEX_BYTES))
        if not isinstance(index, dict):
            raise ValueError("it is no checkpoint's")
        schema = index.get("schema")
        if type(schema) is int and schema not in _READABLE:
            known = " and ".join(map(str, _READABLE))
            raise CheckpointError(f"{file} has schema {schema}; this program reads {known}")
        told = index.pop("sha256_of_this", None)
        if not _is_index(index) or told != _digest(index):
            raise ValueError("it is not as it was written")
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint in {folder}") from None
    except CheckpointError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{file} is damaged, or no checkpoint: {error}") from error
    return index


def _is_index(index: dict[str, Any]) -> bool:
    """Check the type and the range of everything in it."""
    types = {"schema": int, "epoch": int, "arrays": str, "sha256": str, "made_with": dict}
    return (
        set(index) == set(types)
        and all(type(index[name]) is kind for name, kind in types.items())
        and 1 <= index["epoch"] <= MOST_EPOCHS
        and _ARRAYS.fullmatch(index["arrays"]) is not None
        and all(map(_is_option, [*index["made_with"], *index["made_with"].values()]))
    )


def _is_option(value: Any) -> bool:
    """Say whether it may be what an option was given."""
    if isinstance(value, str):
        return len(value) <= 100 and value.isprintable()
    return type(value) in (int, float) and abs(value) < 2**63


def _most_bytes(index: dict[str, Any]) -> int | None:
    """Return how long arrays for such a model and so many ranks can be; None if it is not said."""
    n_parameters, workers = (index["made_with"].get(name) for name in ("parameters", "workers"))
    if not (isinstance(n_parameters, int) and isinstance(workers, int)):
        return None
    of_rank = 8 * n_parameters * (1 + (MOST_KEPT if "optimizer" in index["made_with"] else 1))
    of_states, of_rows = 8 * n_parameters + workers * of_rank, 40 * int(index["epoch"])
    return of_states + of_rows + _ROOM_OF_RANK * (1 + workers)


def _check_model(
    made_with: Mapping[str, Any], w: NDArray[Any], states: Sequence[Sequence[State]]
) -> None:
    if w.ndim != 1 or w.dtype.kind != "f" or w.size != made_with.get("parameters", w.size):
        raise ValueError(f"its model has the shape {w.shape}")
    if len(states) not in (1, made_with.get("workers", len(states))):
        raise ValueError(f"it has the states of {len(states)} ranks")


def _rows(found: NDArray[Any], index: dict[str, Any]) -> list[Row]:
    """Read the rows: one for each epoch, in order."""
    n_epochs, n_columns = index["epoch"], len(Row._fields) - (index["schema"] == 1)
    if found.shape != (n_epochs, n_columns) or found.dtype != np.float64:
        raise ValueError(f"its rows must have the shape {n_epochs, n_columns}, not {found.shape}")
    if not np.array_equal(found[:, 0], np.arange(1, n_epochs + 1)):
        raise ValueError("its rows are not those of the epochs from 1 on")
    rows = [Row(int(epoch), *rest) for epoch, *rest in found[:, :4].tolist()]
    if index["schema"] == 1:
        return rows
    return [
        row._replace(is_virtual=None if math.isnan(told) else bool(told))
        for row, told in zip(rows, found[:, 4].tolist(), strict=True)
    ]


def _arrays_of(folder: Path) -> str | None:
    """Return the file that the checkpoint names, if there is one."""
    try:
        name: str = read_index(folder)["arrays"]
    except CheckpointError:
        return None
    return name


def _digest(index: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(index, sort_keys=True).encode()).hexdigest()
