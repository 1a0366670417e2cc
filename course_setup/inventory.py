"""What lies in `.venv`: which packages, and whether files of theirs have gone since."""

from __future__ import annotations

import os
import re
from pathlib import Path

from course_setup.problems import SetupError


def site_packages(root: Path) -> Path:
    """Return the folder in which `.venv` keeps its packages."""
    if os.name == "nt":
        return root / ".venv" / "Lib" / "site-packages"
    found = sorted((root / ".venv" / "lib").glob("python3*/site-packages"))
    if not found:
        raise SetupError(".venv has no folder for packages: delete .venv, then run this again.")
    return found[0]


def contents(root: Path) -> list[str]:
    """Return the names in site-packages (each locked package has two or more)."""
    try:
        names = [entry.name for entry in site_packages(root).iterdir()]
    except (OSError, SetupError):
        return []
    return sorted(name for name in names if name != "__pycache__")


def count_files(root: Path) -> dict[str, int]:
    """Count the files in each of the environment's folders, and in each package.

    Parameters
    ----------
    root : Path
        The checkout.

    Returns
    -------
    dict of str to int
        The number of files below each folder, by its path within `.venv`; a file of compiled
        bytecode, which Python writes when it likes, does not count.
    """
    venv, packages = root / ".venv", site_packages(root)
    folders = [entry for entry in venv.iterdir() if entry.name not in ("lib", "lib64", "Lib")]
    folders += list(packages.iterdir())
    return {
        folder.relative_to(venv).as_posix(): _count(folder)
        for folder in folders
        if folder.is_dir() and not folder.is_symlink() and folder.name != "__pycache__"
    }


def missing(root: Path, names: list[object], counts: object) -> list[str]:
    """Return what was recorded once and is not whole any more.

    Parameters
    ----------
    root : Path
        The checkout.
    names : list
        What `contents` returned.
    counts : object
        What `count_files` returned, if that was recorded.

    Returns
    -------
    list of str
        Names of packages and folders; what has been added since does not matter.
    """
    gone = sorted(map(str, set(map(str, names)) - set(contents(root))))
    if gone or not isinstance(counts, dict):
        return gone
    now = count_files(root)
    return sorted(Path(name).name for name, count in counts.items() if now.get(name, 0) < count)


def refuse_incomplete(root: Path) -> None:
    """Raise a SetupError if an installer says that it is done, and a locked package is not there.

    Lines of the lock that hold on some systems only are not looked at.
    """
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    wanted = re.findall(r"^([\w.-]+)==[^;\s]+\s*$", lock, re.MULTILINE)
    infos = {plain(name.split("-")[0]) for name in contents(root) if name.endswith(".dist-info")}
    for name in wanted:
        if plain(name) not in infos:
            raise SetupError(
                f"the installer was content, but {name} is not in .venv: see that no setting of "
                "pip or uv sends packages elsewhere (`pip config list`), then run this again."
            )


def plain(name: str) -> str:
    """Return a package's name as all spellings of it are told alike."""
    return re.sub(r"[-_.]+", "_", name).lower()


def _count(folder: Path) -> int:
    """Count the files below a folder."""
    number, folders = 0, [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    number += 1
                elif entry.name != "__pycache__":
                    folders.append(entry.path)
    return number
