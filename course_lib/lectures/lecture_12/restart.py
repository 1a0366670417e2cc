"""A host that dies in the middle of a training, and the training that goes on from a checkpoint."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.lectures.lecture_12.hosts import Hosts
from course_lib.train.checkpoint import INDEX, load, read_index

__all__ = ["TRAINING", "Restarted", "restarted", "undisturbed"]

TRAINING = ("--model", "mlp", "--data", "digits", "--batch-size", "128", "--learning-rate", "0.5")
"""What the command ``train`` is to train."""


class Restarted(NamedTuple):
    """What became of a training one of whose hosts was killed.

    Attributes
    ----------
    said : str
        What the other host said of it, in a line.
    died_after : int
        The last epoch that was kept before the survivors ended.
    epochs : int
        How many there were in all, after ``--resume``.
    same_bits : bool
        Whether all parameters are those of a training in which nobody died, to the bit.
    had_moved : bool
        Whether the parameters were others when the host died.
    """

    said: str
    died_after: int
    epochs: int
    same_bits: bool
    had_moved: bool


def restarted(epochs: int = 40, kill_at: int = 3) -> Restarted:
    """Train on two hosts, kill one, start both again with ``--resume``, and compare.

    Parameters
    ----------
    epochs : int, default: 40
        How long to train.
    kill_at : int, default: 3
        After which epoch's checkpoint host 1 is killed.

    Returns
    -------
    Restarted
        What was seen.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        program = (
            "-m", "course_lib", "train", *TRAINING, "--epochs", str(epochs),
            "--checkpoint", str(folder / "kept"),
        )  # fmt: skip
        with Hosts(*program, folder=folder) as hosts:
            hosts.until(folder / "kept" / INDEX, f'"epoch": {kill_at}')
            hosts.kill(1)
            hosts.wait(0)
            said = _loss_told(hosts.printed(0))
        died_after = int(read_index(folder / "kept")["epoch"])
        w_then = load(folder / "kept").w
        with Hosts(*program, "--resume", folder=folder) as hosts:
            for node in (0, 1):
                if hosts.wait(node):
                    raise RuntimeError(hosts.printed(node))
        after, expected = load(folder / "kept"), undisturbed(folder, epochs)
    return Restarted(
        said, died_after, after.rows[-1].epoch, np.array_equal(after.w, expected),
        not np.array_equal(after.w, w_then),
    )  # fmt: skip


def undisturbed(folder: Path, epochs: int, workers: int = 2) -> NDArray[Any]:
    """Train the same on simulated ranks, none of which is lost.

    Parameters
    ----------
    folder : Path
        Where the checkpoint goes.
    epochs : int
        How long to train.
    workers : int, default: 2
        How many ranks.

    Returns
    -------
    numpy.ndarray
        The parameters in the end.
    """
    kept = folder / f"undisturbed{epochs}"
    subprocess.run(
        [sys.executable, "-m", "course_lib", "train", *TRAINING, "--epochs", str(epochs),
         "--backend", "simulated", "--workers", str(workers), "--checkpoint", str(kept)],
        check=True, capture_output=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    return load(kept).w


def _loss_told(printed: str) -> str:
    """Find the line in which a rank says which other one is lost."""
    found = [line for line in printed.splitlines() if "rank 1" in line]
    return found[0].strip() if found else ""
