"""The index of a checkpoint, ``checkpoint.json``: what may stand in it, for writing as for reading.

One rule holds for both, so that whatever is written can be read again: ``pack_index`` reads what it
has packed, and refuses what would not come back. The command line asks ``check_options`` before
anything is trained.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_lib.console.files import CHECKPOINT
from course_lib.console.options import as_option
from course_lib.train.errors import CheckpointError
from course_lib.words.plain_file import read_plain

__all__ = ["ARRAYS", "HASHED", "INDEX", "MOST_EPOCHS", "check_options", "pack_index", "read_index"]

SCHEMA_VERSION = 3
_READABLE = (1, 2, 3)
# The first did not say of a row which clock its seconds are from, the first two not which arrays
# of the checkpoints before still lie in the folder.
INDEX = CHECKPOINT
MOST_EPOCHS = 1_000_000
"""A checkpoint has a row for each epoch; so many, and no more, are read."""

ARRAYS = re.compile(r"epoch_\d+(-[0-9a-f]+)?\.npz")
"""How the file of a checkpoint's arrays may be called."""
HASHED = re.compile(r"epoch_\d+-[0-9a-f]{12}\.npz")
"""How it is called today; others are not removed, whoever names them."""

_TYPES = {"schema": int, "epoch": int, "arrays": str, "sha256": str, "made_with": dict}
_MOST_BYTES = 2**16
_MOST_BEFORE = 100
_LONGEST_TEXT = 100


def check_options(made_with: Mapping[str, Any]) -> None:
    """Refuse options that no checkpoint can hold.

    Parameters
    ----------
    made_with : dict
        The options of a training by name.

    Raises
    ------
    CheckpointError
        Naming the option, what was expected and what was given.
    """
    for name, value in made_with.items():
        if not (_is_option(name) and _is_option(value)):
            raise CheckpointError(
                f"{as_option(str(name))} must be, for a checkpoint, a whole number of less than 64 "
                f"bits, a finite number or a text of up to {_LONGEST_TEXT} characters, got "
                f"{str(value)[:_LONGEST_TEXT]!r}"
            )


def pack_index(
    epoch: int, arrays: str, sha256: str, made_with: Mapping[str, Any], before: list[str]
) -> bytes:
    """Write an index as the text of its file.

    Parameters
    ----------
    epoch : int
        How far the training is.
    arrays, sha256 : str
        The name of the file of its arrays, and their hash.
    made_with : dict
        The options of the training.
    before : list of str
        The files of arrays of the checkpoints before that may still be there, the last one first.

    Returns
    -------
    bytes
        What ``read_index`` reads.

    Raises
    ------
    CheckpointError
        If it would not be read again.
    """
    check_options(made_with)
    index = {
        "schema": SCHEMA_VERSION,
        "epoch": epoch,
        "arrays": arrays,
        "sha256": sha256,
        "made_with": dict(made_with),
        "before": before[:_MOST_BEFORE],
    }
    packed = (json.dumps(index | {"sha256_of_this": _digest(index)}, indent=1) + "\n").encode()
    try:
        if len(packed) > _MOST_BYTES:
            raise ValueError(f"it has {len(packed):,} bytes, and at most {_MOST_BYTES:,} are read")
        is_the_same = _unpacked(packed) == index
    except ValueError as error:
        raise CheckpointError(f"{INDEX} could not be read again: {error}") from error
    assert is_the_same
    return packed


def read_index(folder: Path) -> dict[str, Any]:
    """Read what a folder's checkpoint says about itself, without its arrays.

    Parameters
    ----------
    folder : Path
        What ``save`` was given.

    Returns
    -------
    dict
        ``schema``, ``epoch``, ``arrays`` (the file name), ``sha256`` (of that), ``made_with`` and
        ``before`` (the files of the checkpoints before), which older ones do not say.

    Raises
    ------
    CheckpointError
        If there is none, or it is not as it was written.
    """
    file = folder / INDEX
    try:
        return _unpacked(read_plain(file, _MOST_BYTES))
    except _OtherSchemaError as error:
        known = f"{', '.join(map(str, _READABLE[:-1]))} and {_READABLE[-1]}"
        raise CheckpointError(f"{file} has schema {error}; this program reads {known}") from None
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint in {folder}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{file} is damaged, or no checkpoint: {error}") from error


class _OtherSchemaError(ValueError):
    """The index is of another version of this program."""


def _unpacked(packed: bytes) -> dict[str, Any]:
    index = json.loads(packed)
    if not isinstance(index, dict):
        raise ValueError("it is no checkpoint's")
    schema = index.get("schema")
    if type(schema) is int and schema not in _READABLE:
        raise _OtherSchemaError(schema)
    told = index.pop("sha256_of_this", None)
    if not _is_index(index) or told != _digest(index):
        raise ValueError("it is not as it was written")
    return index | {"before": _before(index)}


def _is_index(index: dict[str, Any]) -> bool:
    """Check the type and the range of everything in it."""
    types = _TYPES | ({"before": list} if index.get("schema") == SCHEMA_VERSION else {})
    return (
        set(index) == set(types)
        and all(type(index[name]) is kind for name, kind in types.items())
        and 1 <= index["epoch"] <= MOST_EPOCHS
        and ARRAYS.fullmatch(index["arrays"]) is not None
        and all(isinstance(name, str) and HASHED.fullmatch(name) for name in _before(index))
        and all(map(_is_option, [*index["made_with"], *index["made_with"].values()]))
    )


def _before(index: dict[str, Any]) -> list[Any]:
    found: list[Any] = index.get("before", [])
    return found


def _is_option(value: Any) -> bool:
    """Say whether it may be what an option was given."""
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT and value.isprintable()
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is int and abs(value) < 2**63


def _digest(index: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(index, sort_keys=True).encode()).hexdigest()
