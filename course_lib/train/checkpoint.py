"""Checkpoints: what a training needs to go on, in files that a crash cannot leave half written.

A folder holds ``epoch_N-HASH.npz`` (plain arrays, read without pickle) and ``checkpoint.json``,
which names it, its SHA-256 and the options it was made with. Both are written beside their place
and then put there at once; the JSON comes last. So at any moment it names arrays that are whole.
The arrays of the checkpoint before stay until the next one: who has just read a name finds the
file. A name holds the first digits of the content's hash, so that two contents have two names.
Arrays that no index names, as a program leaves that is killed before it writes the index, go with
the next checkpoint, if the folder is claimed, and if they are what their name says. No other file
is removed than these, arrays that a valid index has named, and halves of our own files.

A checkpoint may come from anybody. What is not as ``save`` writes it is a ``CheckpointError`` that
names the file; and arrays that are larger than the model and the ranks can need are not read: at
most ``8 n (1 + 4 P)`` bytes for n parameters on P ranks (9 P with another optimizer than SGD), 40
for each epoch, 64 KiB for each rank.
Of what is read, ``unpack_states`` says how much memory it takes.
"""

import errno
import hashlib
import math
import os
import re
import shutil
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.console.files import are_one_file
from course_lib.train.claim import LOCK, check_claim
from course_lib.train.errors import CheckpointError
from course_lib.train.index import ARRAYS, HASHED, INDEX, MOST_EPOCHS, pack_index, read_index
from course_lib.train.row import Row
from course_lib.train.states import (
    MOST_BESIDE,
    MOST_KEPT,
    State,
    check_states,
    pack_states,
    unpack_states,
)
from course_lib.words.plain_file import NEW, put, read_plain

__all__ = [
    "INDEX",
    "MOST_EPOCHS",
    "Checkpoint",
    "is_of_checkpoint",
    "load",
    "read_index",
    "save",
]

_HALVES = re.compile(rf"({re.escape(INDEX)}|{HASHED.pattern})\.[0-9a-f]{{8}}{re.escape(NEW)}")
"""What ``put`` leaves of these two where its program is killed; others' halves are others'."""
_DIGITS = 12  # of the hash, in a name
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
        That of the ``Claim`` to the folder; empty if nobody else can be writing there. With one,
        arrays that no index names are removed.

    Raises
    ------
    CheckpointError
        If another training has taken the folder, or the disk is full, or what is to be written
        could not be read again; the checkpoint before is still there.
    """
    epoch = checkpoint.rows[-1].epoch
    arrays = _packed(checkpoint, epoch)
    sha256 = hashlib.sha256(arrays).hexdigest()
    file = folder / f"epoch_{epoch}-{sha256[:_DIGITS]}.npz"
    stay, go = _before(folder, file.name)
    index = pack_index(epoch, file.name, sha256, checkpoint.made_with, stay + go)
    is_new = not file.exists()
    check_claim(folder, token)
    # Looked for before anything is written: what somebody writes who takes the folder is not there.
    lost = _lost(folder, {file.name, *stay, *go}) if token else []
    try:
        put(file, arrays)
        check_claim(folder, token)
        put(folder / INDEX, index)
    except OSError as error:
        if is_new:  # no index names it
            file.unlink(missing_ok=True)
        raise CheckpointError(_not_written(file, epoch, len(arrays), error)) from error
    check_claim(folder, token)
    halves = [entry.name for entry in folder.iterdir() if _HALVES.fullmatch(entry.name)]
    for old in (*go, *lost, *halves):
        with suppress(OSError):  # somebody reads it, on Windows: the next one tries again
            (folder / old).unlink()


def _packed(checkpoint: Checkpoint, epoch: int) -> bytes:
    """Pack the arrays; refuse to write what ``load`` would refuse to read."""
    rows = np.array(checkpoint.rows, dtype=np.float64)  # None becomes NaN
    most_bytes = _most_bytes(checkpoint.made_with, epoch)
    try:
        check_states(checkpoint.states)
        _check_model(checkpoint.made_with, checkpoint.w, checkpoint.states)
        arrays = pack_states(checkpoint.states, w=checkpoint.w, rows=rows)
        if most_bytes is not None and (n_bytes := len(arrays)) > most_bytes:
            raise ValueError(f"it has {n_bytes:,} bytes, and at most {most_bytes:,} are needed")
    except ValueError as error:
        raise CheckpointError(f"the checkpoint could not be read again: {error}") from error
    return arrays


def _before(folder: Path, new: str) -> tuple[list[str], list[str]]:
    """Return the arrays of checkpoints before: of the last one, which stay, and those that go."""
    try:
        index = read_index(folder)
    except CheckpointError:
        return [], []
    there = [name for name in index["before"] if name != new and (folder / name).is_file()]
    last = [index["arrays"]] if HASHED.fullmatch(index["arrays"]) else []
    if last == [new]:
        return there[:1], there[1:]
    return last, [name for name in there if name not in last]


def _lost(folder: Path, named: set[str]) -> list[str]:
    """Return the arrays that no index names, of a program that was killed before it wrote one."""
    found = (file for file in folder.iterdir() if HASHED.fullmatch(file.name))
    return [file.name for file in found if file.name not in named and _is_its_content(file)]


def _is_its_content(file: Path) -> bool:
    """Say whether a plain file has the hash in its name: then ``save`` has written it."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return False
        with file.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return False
    return file.stem.endswith(f"-{sha256[:_DIGITS]}")


def _not_written(file: Path, epoch: int, n_bytes: int, error: OSError) -> str:
    """Say why a checkpoint is not there, what it needs, what is there, and what to do."""
    folder = file.parent
    told = f"the checkpoint of epoch {epoch} cannot be written, {file}: {error.strerror or error}"
    needed = f"it needs {n_bytes:,} bytes"
    if error.errno == errno.ENOSPC:
        needed += f", and {shutil.disk_usage(folder).free:,} are free"
    try:
        kept = f"the one of epoch {read_index(folder)['epoch']} is as it was"
        then = "go on with --resume"
    except CheckpointError:
        kept, then = "there is none before it", "start again"
    return f"{told}; {needed}; {kept}. Make room and {then}, or name another folder"


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
        If there is none, or it is damaged, or it has another schema version, or there is not enough
        memory for it.
    """
    index = read_index(folder)
    file = folder / index["arrays"]
    try:
        arrays = read_plain(file, _most_bytes(index["made_with"], index["epoch"]))
        if hashlib.sha256(arrays).hexdigest() != index["sha256"]:
            raise ValueError(f"its {len(arrays):,} bytes are not those that were written")
        states, more = unpack_states(arrays)
        if set(more) != {"w", "rows"}:
            raise ValueError(f"it has the parts {', '.join(sorted(more)) or 'of no model'}")
        _check_model(index["made_with"], more["w"], states)
        return Checkpoint(index["made_with"], more["w"], states, _rows(more["rows"], index))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} is damaged, or missing: {error}") from error
    except MemoryError as error:
        raise CheckpointError(
            f"{file} cannot be read: there is not enough memory for it"
        ) from error


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
    is_ours = ARRAYS.fullmatch(target.name) or _HALVES.fullmatch(target.name)
    return is_ours is not None and are_one_file(target.parent, folder)


def _most_bytes(made_with: Mapping[str, Any], epoch: int) -> int | None:
    """Return how long arrays for such a model and so many ranks can be; None if it is not said."""
    n_parameters, workers = (made_with.get(name) for name in ("parameters", "workers"))
    if not (isinstance(n_parameters, int) and isinstance(workers, int)):
        return None
    of_optimizer = MOST_KEPT if "optimizer" in made_with else 1
    of_rank = 8 * n_parameters * (1 + of_optimizer + MOST_BESIDE)
    of_states, of_rows = 8 * n_parameters + workers * of_rank, 40 * epoch
    return of_states + of_rows + _ROOM_OF_RANK * (1 + workers)


def _check_model(
    made_with: Mapping[str, Any], w: NDArray[Any], states: Sequence[Sequence[State]]
) -> None:
    if w.ndim != 1 or w.dtype.kind != "f" or w.size != made_with.get("parameters", w.size):
        raise ValueError(f"its model has the shape {w.shape}")
    if len(states) not in (1, made_with.get("workers", len(states))):
        raise ValueError(f"it has the states of {len(states)} ranks")
    if "parameters" not in made_with:
        return
    # All ranks together step each parameter, and some of them several ranks.
    kept = [state for own in states for state in own]
    if (n_kept := sum(state.w.size for state in kept)) < w.size:
        raise ValueError(f"its ranks step {n_kept} parameters together, of a model with {w.size}")
    for state in kept:
        for array in (state.w, *state.kept.values()):
            if array.shape != () and array.dtype != w.dtype:
                raise ValueError(f"its states are of {array.dtype}, and its model of {w.dtype}")


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
