"""Checkpoints: what a training needs to go on, in files that a crash cannot leave half written.

A folder holds ``epoch_N.npz`` (plain arrays, read without pickle) and ``checkpoint.json``, which
names it, its SHA-256 and the options it was made with. Both are written beside their place and then
put there at once; the JSON comes last. So at any moment it names arrays that are whole.
"""

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Row",
    "State",
    "load",
    "pack_states",
    "prepare",
    "save",
    "unpack_states",
]

SCHEMA_VERSION = 1
INDEX = "checkpoint.json"
_NEW = ".new"


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, or one of another training; it says which."""


class State(NamedTuple):
    """What one descent needs to go on.

    Attributes
    ----------
    w : numpy.ndarray
        The parameters that it steps.
    velocity : numpy.ndarray or None
        Its momentum; None before the first step, or without momentum.
    n_steps : int
        How many steps it has taken: where it is in the warm-up.
    """

    w: NDArray[Any]
    velocity: NDArray[Any] | None
    n_steps: int


class Row(NamedTuple):
    """What an epoch came to.

    Attributes
    ----------
    epoch : int
        Its number, from 1.
    loss : float
        The mean loss over all examples to train on, at the model after it.
    score : float
        The accuracy, or for a regression the loss, over the examples kept for testing.
    seconds : float
        How long its steps took, until the last rank was done: wall or virtual seconds.
    """

    epoch: int
    loss: float
    score: float
    seconds: float


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
        For each rank, or for rank 0 alone where it stands for all, those of its descents.
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


def prepare(folder: Path) -> None:
    """Make a folder for checkpoints, or make sure that one can be written to and holds none yet.

    Parameters
    ----------
    folder : Path
        Where checkpoints are to be kept.

    Raises
    ------
    CheckpointError
        If it cannot be written to, or holds a checkpoint.
    """
    if (folder / INDEX).exists():
        raise CheckpointError(
            f"there is a checkpoint in {folder}: go on from it with --resume, "
            "or name another folder"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _put(folder / "is_writable", b"")
        (folder / "is_writable").unlink()
    except OSError as error:
        raise CheckpointError(f"checkpoints cannot be kept in {folder}: {error}") from error


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; until it is complete, the one before stays what ``load`` finds.

    Parameters
    ----------
    folder : Path
        Where to; it exists.
    checkpoint : Checkpoint
        What to write.

    Raises
    ------
    OSError
        If the disk is full, or the folder cannot be written to; the one before is still there.
    """
    epoch = checkpoint.rows[-1].epoch
    rows = np.array(checkpoint.rows, dtype=np.float64)
    arrays = pack_states(checkpoint.states, w=checkpoint.w, rows=rows)
    file = folder / f"epoch_{epoch}.npz"
    _put(file, arrays)
    index = {
        "schema": SCHEMA_VERSION,
        "epoch": epoch,
        "arrays": file.name,
        "sha256": hashlib.sha256(arrays).hexdigest(),
        "made_with": dict(checkpoint.made_with),
    }
    text = json.dumps(index | {"sha256_of_this": _digest(index)}, indent=1) + "\n"
    _put(folder / INDEX, text.encode())
    for old in (*folder.glob("epoch_*.npz"), *folder.glob(f"*{_NEW}")):
        if old != file:
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
    index = _index(folder)
    file = folder / Path(str(index.get("arrays"))).name
    try:
        arrays = file.read_bytes()
        if hashlib.sha256(arrays).hexdigest() != index["sha256"]:
            raise ValueError(f"its {len(arrays):,} bytes are not those that were written")
        states, more = unpack_states(arrays)
        rows = [Row(int(epoch), *map(float, rest)) for epoch, *rest in more["rows"]]
        return Checkpoint(index["made_with"], more["w"], states, rows)
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise CheckpointError(f"{file} is damaged, or missing: {error}") from error


def pack_states(states: Sequence[Sequence[State]], **more: NDArray[Any]) -> bytes:
    """Write states, and more arrays by name, as the bytes of an ``.npz`` file."""
    arrays = dict(more)
    for rank, own in enumerate(states):
        arrays[f"{rank}.count"] = np.array(len(own))
        for index, state in enumerate(own):
            arrays[f"{rank}.{index}.w"] = state.w
            arrays[f"{rank}.{index}.n_steps"] = np.array(state.n_steps)
            if state.velocity is not None:
                arrays[f"{rank}.{index}.velocity"] = state.velocity
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpack_states(packed: bytes) -> tuple[list[list[State]], dict[str, NDArray[Any]]]:
    """Read what ``pack_states`` wrote: the states of each rank, and what was packed by name."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        arrays = dict(file)
    states: list[list[State]] = []
    while (count := arrays.pop(f"{len(states)}.count", None)) is not None:
        name = f"{len(states)}."
        states.append([
            State(
                arrays.pop(f"{name}{index}.w"), arrays.pop(f"{name}{index}.velocity", None),
                int(arrays.pop(f"{name}{index}.n_steps")),
            )
            for index in range(int(count))
        ])  # fmt: skip
    return states, arrays


def _index(folder: Path) -> dict[str, Any]:
    file = folder / INDEX
    try:
        index: dict[str, Any] = json.loads(file.read_bytes())
        told = index.pop("sha256_of_this")
        if index["schema"] != SCHEMA_VERSION:
            raise CheckpointError(
                f"{file} has schema {index['schema']!r}; this program reads {SCHEMA_VERSION}"
            )
        if told != _digest(index):
            raise ValueError("it is not as it was written")
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint in {folder}") from None
    except CheckpointError:
        raise
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file} is damaged, or no checkpoint: {error}") from error
    return index


def _digest(index: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(index, sort_keys=True).encode()).hexdigest()


def _put(file: Path, content: bytes) -> None:
    """Write a file so that its name always stands for all of it: the old one, then the new one."""
    new = file.with_name(file.name + _NEW)
    with new.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(file)
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk, too; Windows opens no folders, and does it in its own time."""
    with suppress(OSError):
        entry = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)
