"""What the doctor says about packages: there, in the locked version, with all their files."""

from __future__ import annotations

import csv
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from course_lib.doctor.report import Finding

CHECKOUT = Path(__file__).resolve().parents[2]
AGAIN = "run `python course.py setup` in the course's folder"
AFRESH = "delete the folder .venv and " + AGAIN
SAFE_TORCH = (2, 10)  # older ones can be attacked through checkpoint files, even weights_only


def packages(
    checkout: Path = CHECKOUT, has_own_environment: bool | None = None
) -> Iterator[Finding]:
    """Compare what is installed with the lock, and see that no file is missing.

    Parameters
    ----------
    checkout : Path
        Where requirements.lock and pyproject.toml are.
    has_own_environment : bool, optional
        Whether this Python is that of the checkout's .venv, which holds every pin of the lock that
        is for this system. Elsewhere only what pyproject.toml asks for is looked at. By default
        it is found out.

    Yields
    ------
    Finding
        One for all packages together, or one for each kind of trouble.
    """
    if not (checkout / "requirements.lock").is_file():
        yield Finding("packages", "ok", "there is no requirements.lock to compare with")
        return
    if has_own_environment is None:
        has_own_environment = Path(sys.prefix).resolve() == (checkout / ".venv").resolve()
    pins = _pins(checkout / "requirements.lock")
    wanted = pins if has_own_environment else _direct(checkout, pins)
    missing, broken, different = [], [], []
    for name, version in wanted.items():
        installed = installed_version(name)
        if installed is None:
            missing.append(name)
            continue
        if version is not None and installed.split("+")[0] != version:
            different.append(f"{name} {installed} (locked: {version})")
        if lost := lost_files(name, has_own_environment):
            files = "file" if len(lost) == 1 else "files"
            broken.append(f"{name} ({len(lost)} {files}, such as {lost[0]})")
    if missing:
        yield Finding("packages", "problem", f"not installed: {_few(missing)}", AFRESH)
    if broken:
        yield Finding("packages", "problem", f"files are missing: {_few(broken)}", AFRESH)
    if different:
        yield Finding("packages", "warning", f"not as locked: {_few(different)}", AGAIN)
    if not (missing or broken or different):
        which = "of requirements.lock for this system" if has_own_environment else "the course uses"
        found = f"all {len(wanted)} {which}: there, in the locked versions, with all their files"
        yield Finding("packages", "ok", found)
    yield from torch_is_safe(installed_version("torch"))


def torch_is_safe(version: str | None) -> Iterator[Finding]:
    """Look whether torch reads checkpoint files safely."""
    if version is not None and tuple(map(int, version.split(".")[:2])) < SAFE_TORCH:
        found = f"{version}: a prepared checkpoint file can run code in it"
        yield Finding("torch", "problem", found, AGAIN)


def installed_version(name: str) -> str | None:
    """Return a package's version, or None where it is not installed."""
    try:
        return metadata.version(name)
    except (metadata.PackageNotFoundError, KeyError):  # none, or what is there says nothing
        return None


def lost_files(name: str, everywhere: bool) -> list[str]:
    """Return the files that a package was installed with and that are gone.

    Parameters
    ----------
    name : str
        The package.
    everywhere : bool
        Whether files outside site-packages count (programs, JupyterLab's pages): pip and uv
        record where they put them; others (conda) put them elsewhere.

    Returns
    -------
    list of str
        Their paths, as the package's record has them.

    Notes
    -----
    Nothing is imported: torch alone would take seconds. Cost: a look at each of a package's files
    (about 30 000 for all packages together).
    """
    installed = metadata.distribution(name)
    record = installed.read_text("RECORD") or ""
    paths = [row[0] for row in csv.reader(record.splitlines()) if row]
    return [
        path
        for path in paths
        if not path.endswith(".pyc")  # Python makes and removes them as it likes
        and (everywhere or not path.startswith(".."))
        and not Path(str(installed.locate_file(path))).exists()
    ]


def _direct(checkout: Path, pins: dict[str, str]) -> dict[str, str | None]:
    """Return the packages that pyproject.toml asks for, with the version in the lock."""
    settings = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    texts = settings["project"]["dependencies"]
    names = [re.split(r"[<>=!~ ;\[]", text, maxsplit=1)[0] for text in texts]
    return {name: pins.get(_canonical(name)) for name in names}


def _pins(lock: Path) -> dict[str, str]:
    """Return the lock's versions, without the lines that are for other systems."""
    from packaging.markers import Marker

    found = re.findall(
        r"^([\w.-]+)==([\w.]+)(?: *; *(.+))?$", lock.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {
        _canonical(name): version
        for name, version, marker in found
        if not marker or Marker(marker).evaluate()
    }


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _few(words: list[str]) -> str:
    shown = ", ".join(words[:4])
    return shown if len(words) <= 4 else f"{shown} and {len(words) - 4} more"
