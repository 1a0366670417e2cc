"""Where the data lies that scikit-learn brings along."""

from importlib.util import find_spec
from pathlib import Path

__all__ = ["file_of_sklearn"]


def file_of_sklearn(name: str) -> Path:
    """Find a data file of scikit-learn without importing it, which takes a second.

    Parameters
    ----------
    name : str
        The name of the file.

    Returns
    -------
    pathlib.Path
        Where it lies.

    Raises
    ------
    ModuleNotFoundError
        If there is no scikit-learn.
    """
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
    return Path(spec.origin).parent / "datasets" / "data" / name
