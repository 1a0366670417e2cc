"""Keep the learner's copies of lectures and exercises in `workbook/`, and never lose their work.

The workbook has the checkout's own folder names, so that links between notebooks hold in both.
A manifest remembers what was copied: a copy that still has the cells it came with follows the
course; one that the learner has changed is left alone.
"""

from __future__ import annotations

import json
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from course_setup.copied import as_copied, fingerprint
from course_setup.lock import alone
from course_setup.problems import SetupError

FOLDERS = ("notebooks", "exercises")
MANIFEST = ".course-manifest.json"
LOCK = ".course-lock"
BUSY = "another course.py is changing your workbook: wait until it is done, then run this again."
PATIENCE_S = 10.0  # copying takes less
_UNFINISHED = ".course-unfinished-"
_AWAY = "move it away, then run this again."


@dataclass
class Changes:
    """What a synchronisation did, as paths within the workbook."""

    added: list[str] = field(default_factory=list)
    refreshed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # the learner's, and the course has a newer one
    odd: dict[str, str] = field(default_factory=dict)  # what stands in a file's place, and is none

    def sentences(self) -> Iterator[str]:
        """Say in a line each what the learner should know."""
        if self.added:
            yield f"Added to your workbook: {_few(self.added)}."
        if self.refreshed:
            yield f"Brought up to date (you had not changed them): {_few(self.refreshed)}."
        for name in self.kept:
            yield (
                f"The course has a newer {name}; yours is kept. To get it (yours stays beside "
                f"it): python course.py reset {Path(name).with_suffix('').as_posix()}"
            )
        for name, kind in self.odd.items():
            yield f"{_not_a_file(name, kind)}: it is left alone; to get the course's, {_AWAY}"


def synchronise(root: Path) -> Changes:
    """Copy what is new into the workbook and refresh what the learner has not changed.

    Parameters
    ----------
    root : Path
        The checkout.

    Returns
    -------
    Changes
        What was added, refreshed, and kept although the course has a newer version.

    Notes
    -----
    Interrupted anywhere, it loses nothing: files are replaced whole, and a copy that the manifest
    does not know yet is recognised by its cells.
    """
    changes = Changes()
    with _open(root) as manifest:
        _synchronise(root, manifest, changes)
    return changes


def _synchronise(root: Path, manifest: dict[str, dict[str, str]], changes: Changes) -> None:
    for source in _course_files(root):
        name = source.relative_to(root).as_posix()
        copy = root / "workbook" / name
        newest = fingerprint(source)
        if kind := _kind_of_no_file(copy):
            changes.odd[name] = kind
            continue
        if not copy.exists():
            _replace(source, copy)
            changes.added.append(name)
        elif fingerprint(copy) == newest:
            pass  # up to date, perhaps with the learner's own outputs
        elif fingerprint(copy) == manifest.get(name, {}).get("cells"):
            _replace(source, copy)
            changes.refreshed.append(name)
        else:  # the learner's: say once that the course has a newer one
            entry = manifest.setdefault(name, {})
            if newest not in (entry.get("cells"), entry.get("told")):
                changes.kept.append(name)
                entry["told"] = newest
            continue
        manifest[name] = {"cells": newest}


def reset(root: Path, wanted: str) -> list[str]:
    """Restore a lecture or exercise; keep the learner's version beside it.

    Parameters
    ----------
    root : Path
        The checkout.
    wanted : str
        A number ("2", "02": lecture and exercise), a name ("02_map_reduce") or either of them
        with a folder ("exercises/02").

    Returns
    -------
    list of str
        A sentence for each file.

    Raises
    ------
    SetupError
        If there is no such lecture or exercise; the text lists what there is. Or if something
        that is no file, such as a folder, stands in the place of one.
    """
    sources = [file for file in _course_files(root) if _is_wanted(root, file, wanted)]
    if not sources:
        shown = wanted if len(wanted) < 80 else wanted[:80] + "…"
        numbers = sorted({file.stem.split("_")[0] for file in _notebooks(root)})
        raise SetupError(
            f"there is no lecture or exercise {shown!r}; there is {', '.join(numbers) or 'none'}."
        )
    names = {source.relative_to(root).as_posix(): source for source in sources}
    sentences = []
    with _open(root) as manifest:
        for name in names:
            copy = root / "workbook" / name
            if (kind := _kind_of_no_file(copy)) and not copy.is_symlink():
                raise SetupError(f"{_not_a_file(name, kind)}: {_AWAY}")
        for name, source in names.items():
            copy = root / "workbook" / name
            if copy.is_file() and as_copied(source) == copy.read_bytes():
                sentences.append(f"{name} is as it was already.")
            else:
                whole = _written(source, copy.parent)  # first: for want of room nothing changes
                sentences.append(f"{name} is as it was" + _keep_aside(copy) + ".")
                whole.replace(copy)
            manifest[name] = {"cells": fingerprint(source)}
    return sentences


def first_lecture(root: Path) -> Path | None:
    """Return the workbook's copy of the first lecture, if there is one.

    The course says which that is: in the workbook, backups and duplicates stand before it.
    """
    for lecture in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        copy = root / "workbook" / lecture.relative_to(root)
        if copy.is_file():
            return copy
    return None


def _course_files(root: Path) -> list[Path]:
    """Return the files that belong into the workbook: notebooks and what they show."""
    return sorted(
        file
        for folder in FOLDERS
        for file in (root / folder).rglob("*")
        if file.is_file()
        and not any(part.startswith((".", "__")) for part in file.relative_to(root).parts)
    )


def _notebooks(root: Path) -> list[Path]:
    return [file for file in _course_files(root) if file.suffix == ".ipynb"]


def _is_wanted(root: Path, file: Path, wanted: str) -> bool:
    folder, _, name = wanted.replace("\\", "/").removeprefix("workbook/").rpartition("/")
    stem = name.removesuffix(".ipynb")
    number = f"{int(stem):02d}" if stem.isdecimal() and len(stem) < 10 else None
    if file.suffix != ".ipynb" or folder not in ("", file.parent.relative_to(root).as_posix()):
        return False
    return file.stem == stem or (number is not None and file.stem.split("_")[0] == number)


def _kind_of_no_file(copy: Path) -> str:
    """Say what stands in the place of a file and is none, if so: to read a pipe may never end."""
    try:
        mode = copy.stat().st_mode  # asked once: another program may make it between two questions
    except OSError:
        return "a link to nothing" if copy.is_symlink() else ""
    if stat.S_ISREG(mode):
        return ""
    return "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"


def _not_a_file(name: str, kind: str) -> str:
    return f"{name} in your workbook is {kind}, not a file"


def _is_there(copy: Path) -> bool:
    return copy.exists() or copy.is_symlink()  # also a link to nothing


def _keep_aside(copy: Path) -> str:
    """Rename the learner's version to the next free backup name; say where it is."""
    if not _is_there(copy):
        return ""
    number = 1
    while not _claim(backup := copy.with_name(f"{copy.stem}.backup-{number}{copy.suffix}")):
        number += 1
    copy.replace(backup)
    return f"; your version is {backup.name} beside it"


def _claim(backup: Path) -> bool:
    """Make an empty file that a backup may replace; False if the name is taken.

    Whoever else wants this name in this moment, JupyterLab or another program, finds it taken.
    """
    try:
        backup.open("x").close()
    except FileExistsError:
        # An empty one was claimed by a run that was ended before it used it.
        return backup.is_file() and not backup.is_symlink() and backup.stat().st_size == 0
    return True


def _replace(source: Path, copy: Path) -> None:
    """Copy a file so that the old one is there until the new one is whole."""
    _written(source, copy.parent).replace(copy)


def _written(source: Path, folder: Path) -> Path:
    """Write what a file's copy holds under a name of its own; nothing is left where that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = _unfinished(folder)
    try:
        unfinished.write_bytes(as_copied(source))
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    return unfinished


@contextmanager
def _open(root: Path) -> Iterator[dict[str, dict[str, str]]]:
    """Hold the workbook while a block changes it and its manifest, which is kept at the end."""
    workbook = root / "workbook"
    workbook.mkdir(exist_ok=True)
    for name in (MANIFEST, LOCK):
        if kind := _kind_of_no_file(workbook / name):
            raise SetupError(f"{_not_a_file(name, kind)}: {_AWAY}")
    with alone(workbook / LOCK, BUSY, PATIENCE_S):
        _clear_unfinished(workbook)
        manifest = _read_manifest(workbook)
        yield manifest
        _write_manifest(workbook, manifest)


def _clear_unfinished(workbook: Path) -> None:
    """Delete what interrupted runs have left."""
    left = list(workbook.glob(f"{_UNFINISHED}*"))
    for folder in FOLDERS:
        left += (workbook / folder).rglob(f"{_UNFINISHED}*")
    for file in left:
        file.unlink()


def _unfinished(folder: Path) -> Path:
    """Return a name that no other run uses, not even where locks do not work."""
    return folder / f"{_UNFINISHED}{secrets.token_hex(8)}"


def _read_manifest(workbook: Path) -> dict[str, dict[str, str]]:
    if not (workbook / MANIFEST).is_file():
        return {}
    try:
        manifest = json.loads((workbook / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}  # without it every copy that differs counts as the learner's
    if not isinstance(manifest, dict):
        return {}
    return {name: entry for name, entry in manifest.items() if isinstance(entry, dict)}


def _write_manifest(workbook: Path, manifest: dict[str, dict[str, str]]) -> None:
    unfinished = _unfinished(workbook)
    unfinished.write_text(json.dumps(manifest, indent=1, sort_keys=True), encoding="utf-8")
    unfinished.replace(workbook / MANIFEST)


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
