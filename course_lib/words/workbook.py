"""Where the learner's workbook is: what a notebook keeps is kept there, and nowhere else."""

from pathlib import Path

__all__ = ["WORKBOOK", "workbook_around"]

WORKBOOK = "workbook"
"""What the folder is called."""


def workbook_around(folder: Path | None = None) -> Path | None:
    """Find the workbook that a folder lies in.

    Parameters
    ----------
    folder : Path or None, default: None
        Where a notebook lies; None takes the current folder.

    Returns
    -------
    Path or None
        The workbook; None outside of one, as in the tests.
    """
    here = (folder or Path.cwd()).resolve()
    return next((one for one in (here, *here.parents) if one.name == WORKBOOK), None)
