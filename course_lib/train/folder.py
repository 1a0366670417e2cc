"""The folder for checkpoints, before a training begins: whose it is, and what is in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_lib.console.options import as_option, is_first_program
from course_lib.train.auto import NUMBERS, is_auto
from course_lib.train.checkpoint import INDEX, Checkpoint, load, read_index
from course_lib.train.claim import Claim
from course_lib.train.errors import CheckpointError
from course_lib.train.logbook import Keeping

__all__ = ["open_folder"]


def open_folder(keeping: Keeping, epochs: int) -> tuple[Claim | None, Checkpoint | None]:
    """Keep others out of the folder, where this program sees it, and look at what is in it.

    Parameters
    ----------
    keeping : Keeping
        What was asked for.
    epochs : int
        How many there are to be in all.

    Returns
    -------
    claim : Claim or None
        To be released at the end; None without a folder, or where rank 0 is in another program.
    checkpoint : Checkpoint or None
        From which it goes on, if it does.

    Raises
    ------
    CheckpointError
        If another training has the folder, or what is in it is not what was asked for.
    """
    folder = keeping.folder
    if folder is None or not is_first_program():
        return None, None
    if keeping.resume and not folder.is_dir():
        raise CheckpointError(f"there is no checkpoint in {folder}")
    claim = Claim(folder)
    try:
        if keeping.resume:
            index = read_index(folder)
            _compare(folder, index["made_with"], keeping.made_with)
            if epochs < index["epoch"]:
                raise CheckpointError(
                    f"the checkpoint in {folder} has {index['epoch']} epochs already, "
                    f"more than --epochs {epochs}"
                )
            return claim, load(folder)
        if (folder / INDEX).exists():
            raise CheckpointError(
                f"there is a checkpoint in {folder}: go on from it with --resume, "
                "or name another folder"
            )
    except BaseException:
        claim.release()
        raise
    return claim, None


def _compare(folder: Path, kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of another training."""
    lacking = [name for name in NUMBERS if name not in kept] if is_auto(wanted) else []
    if lacking and is_auto(kept):
        raise CheckpointError(
            f"the checkpoint in {folder} lacks the {lacking[0]} that --allreduce auto chose by"
        )
    for name in dict.fromkeys(("problem", *wanted, *kept)):  # a problem brings the others
        if name in NUMBERS:  # they are taken over
            if not (isinstance(kept[name], float) and kept[name] >= 0):
                raise CheckpointError(f"the checkpoint in {folder} has the {name} {kept[name]!r}")
            continue
        if kept.get(name) == wanted.get(name) and type(kept.get(name)) is type(wanted.get(name)):
            continue
        if name == "parameters":
            raise CheckpointError(
                f"the checkpoint in {folder} is of a model with {kept.get(name)} parameters; "
                f"this one has {wanted[name]}"
            )
        option = as_option(name)
        if name not in wanted:
            told = f"with {option} {kept[name]}: give it again"
        elif name not in kept:
            told = f"without {option}, which is {wanted[name]} now"
        else:
            told = f"with {option} {kept[name]}, not {wanted[name]}"
        raise CheckpointError(f"the checkpoint in {folder} was made {told}")
