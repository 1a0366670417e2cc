"""A wheelhouse: all locked packages in a folder, for computers without a network.

The folder holds the wheels, their checksums (SHA256SUMS, as `sha256sum -c` reads them) and
made_for.json, which says which of them belong to which kind of computer. A wheel is in the list
before it is in the folder, and comes into it whole: what is listed and fits its checksum is done,
and an interrupted run goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from course_setup.install import CPU_INDEX, HARMLESS, pip_settings, run_shown
from course_setup.interpreter import clean_environ, make_venv_with, refuse_outside, venv_python
from course_setup.inventory import plain
from course_setup.lock import alone
from course_setup.problems import SetupError
from course_setup.saying import say
from course_setup.targets import SYSTEMS, Target

SUMS, MADE_FOR, FOLDER = "SHA256SUMS", "made_for.json", "wheelhouse"
BATCH = 12  # packages: what an interruption may cost, against starts of pip
BUSY = "another course.py is filling this wheelhouse: wait until it is done, then run this again."
_UNFINISHED = ".unfinished"


def make(root: Path, folder: Path, targets: Sequence[Target]) -> None:
    """Download what the lock names, for each kind of computer, and say what to do with it.

    Parameters
    ----------
    root : Path
        The checkout, which holds requirements.lock.
    folder : Path
        The wheelhouse; it is made if it is not there, and what is whole in it is kept.
    targets : sequence of Target
        The kinds of computers.

    Raises
    ------
    SetupError
        If a package cannot be had; what was downloaded stays, and the next run goes on from it. Or
        if the folder has a SHA256SUMS of other files.
    """
    lock = root / "requirements.lock"
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_other_lists(folder)
    with alone(folder / ".lock", BUSY), tempfile.TemporaryDirectory() as scratch:
        python: Path | None = None
        for target in targets:
            _share(folder, lock, target)
            lacking = _lacking(folder, lock, target)
            if lacking and python is None:
                say("Making a pip to download with.")
                base = getattr(sys, "_base_executable", None) or sys.executable
                make_venv_with(base, Path(scratch) / ".venv")
                python = venv_python(Path(scratch))
            if python is not None:
                _fill(folder, lock, target, lacking, python)
        _forget(folder, lock)
    sums = _sums(folder)
    n_bytes = sum(file.stat().st_size for file in map(folder.joinpath, sums) if file.is_file())
    say(
        f"The wheelhouse is whole: {len(sums)} files, {n_bytes / 1e9:.2f} GB, for "
        f"{' and '.join(_made_for(folder))}.\nCopy {folder} to a computer without a network, as "
        f"{FOLDER}/ beside course.py, where every command finds it; or anywhere, and name it: "
        "python course.py setup --wheelhouse FOLDER"
    )


def named(folder: str) -> Path:
    """Return the folder that the learner has named, also where nothing is left to be installed.

    Parameters
    ----------
    folder : str
        What stands after `--wheelhouse`.

    Returns
    -------
    Path
        The folder, from the root.

    Raises
    ------
    SetupError
        If it is no wheelhouse.
    """
    path = Path(folder).absolute()
    if folder and (path / MADE_FOR).is_file():
        return path
    why = f"which has no {MADE_FOR}" if path.is_dir() else "which is no folder"
    raise SetupError(
        f"--wheelhouse must be a folder that `python course.py wheelhouse` has filled, got "
        f"{folder!r}" + (f", {why}." if folder else ".")
    )


def offered(root: Path, named: Path | None, target: Target) -> Path | None:
    """Return the wheelhouse to install from, all of whose files are whole; None if there is none.

    Parameters
    ----------
    root : Path
        The checkout; `wheelhouse/` beside its course.py is taken where none is named.
    named : Path or None
        The folder that the learner has named.
    target : Target
        This computer.

    Returns
    -------
    Path or None
        The folder, or None where the packages have to come from the network.

    Raises
    ------
    SetupError
        If the folder is for other computers and was named, or is not whole.
    """
    folder = named or root / FOLDER
    if named is None and not (folder / MADE_FOR).is_file():
        return None
    made_for = _made_for(folder)
    if str(target) not in made_for:
        found = f"{folder} is no wheelhouse for {target}"
        found += f" (it is for {' and '.join(made_for)})" if made_for else ""
        if named is None:
            say(f"{found}: taking the packages from the network.")
            return None
        raise SetupError(
            f"{found}: make one with `python course.py wheelhouse {folder} --platform "
            f"{target.system} --python-version {target.python}` on a computer with a network."
        )
    say(f"Taking the packages from {folder}; looking whether they are whole.")
    lacking = _lacking(folder, root / "requirements.lock", target)
    if lacking:
        shown = ", ".join(lacking[:3]) + (" …" if len(lacking) > 3 else "")
        raise SetupError(
            f"{folder} lacks {len(lacking)} of the locked packages for {target}, or their files "
            f"are damaged ({shown}): copy the folder again, or make it whole where there is a "
            "network, with `python course.py wheelhouse`."
        )
    return folder


def install_from(
    folder: Path, root: Path, environ: dict[str, str], pass_fds: tuple[int, ...] = ()
) -> None:
    """Install everything in requirements.lock from a wheelhouse, and nothing from elsewhere.

    Parameters
    ----------
    folder : Path
        The wheelhouse.
    root : Path
        The checkout, with the environment to install into.
    environ : dict of str to str
        Variables for pip; what they tell pip of an index, a proxy or a file is left out.
    pass_fds : tuple of int
        File descriptors that pip inherits.

    Raises
    ------
    SetupError
        If pip fails, or would install into another Python, with the reason in one sentence.
    """
    refuse_outside(root)
    deaf = {name: value for name, value in environ.items() if not name.startswith("PIP_")}
    command = [str(venv_python(root)), "-I", "-m", "pip", "install", "--no-input"]
    command += ["--disable-pip-version-check", "--no-warn-script-location", "--require-virtualenv"]
    command += ["--no-index", "--find-links", str(folder), "--no-deps", "--only-binary=:all:"]
    command += ["-r", str(root / "requirements.lock")]
    started = time.monotonic()
    run_shown(command, {**deaf, "PIP_CONFIG_FILE": os.devnull}, "all packages", pass_fds)
    say(f"Installed in {time.monotonic() - started:.0f} s.")


def _share(folder: Path, lock: Path, target: Target) -> None:
    """List the wheels for every system that have come for another kind of computer."""
    made_for, sums = _made_for(folder), _sums(folder)
    wanted = set(map(_requirement, target.requirements(lock)))
    shared = {n for n in sums if n.endswith("-none-any.whl") and _content(n) in wanted}
    if shared:
        names = sorted({*made_for.get(str(target), []), *shared})
        _write_lists(folder, made_for | {str(target): names}, sums)


def _fill(folder: Path, lock: Path, target: Target, lacking: list[str], python: Path) -> None:
    """Download what is lacking for a kind of computer, a batch at a time."""
    environ = clean_environ()
    configured = not pip_settings(python, environ) <= HARMLESS
    n_all = len(target.requirements(lock))
    n_there = n_all - len(lacking)
    for batch in _batches(lacking):
        words = [str(python), "-I", "-m", "pip", "download", "--disable-pip-version-check"]
        words += ["--no-input", *target.pip_words()]
        if batch[0].startswith("torch==") and target.system.startswith("linux"):
            batch = [f"{batch[0]}+cpu"]  # the other builds need gigabytes of CUDA
            if configured:
                say(f"  pip is set up by you, and must find {batch[0]} there or at {CPU_INDEX}.")
            else:
                words += ["--index-url", CPU_INDEX]
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=folder) as unfinished:
            what = f"{target}: {n_there} of {n_all} packages"
            run_shown([*words, "--dest", unfinished, *batch], environ, what, ())
            _take_in(folder, target, sorted(Path(unfinished).glob("*.whl")))
        n_there += len(batch)
    say(f"  {target}: {n_there} of {n_all} packages")


def _batches(lacking: list[str]) -> Iterator[list[str]]:
    """Yield PyTorch by itself, for it has an index of its own, and the others a dozen at a time."""
    first = [line for line in lacking if line.startswith("torch==")]
    rest = lacking[len(first) :]
    yield from ([line] for line in first)
    yield from (rest[start : start + BATCH] for start in range(0, len(rest), BATCH))


def _take_in(folder: Path, target: Target, wheels: list[Path]) -> None:
    """Move downloaded wheels into the wheelhouse: listed first, so that the list is never short."""
    made_for, sums = _made_for(folder), _sums(folder)
    names = set(made_for.get(str(target), []))
    for wheel in wheels:
        sums[wheel.name] = _sha256(wheel)
        names.add(wheel.name)
    _write_lists(folder, made_for | {str(target): sorted(names)}, sums)
    for wheel in wheels:
        wheel.replace(folder / wheel.name)


def _lacking(folder: Path, lock: Path, target: Target) -> list[str]:
    """Return the requirements of which no file is there that fits its checksum."""
    sums = _sums(folder)
    whole = {
        _content(name)
        for name in _made_for(folder).get(str(target), [])
        if (folder / name).is_file() and _sha256(folder / name) == sums.get(name)
    }
    return [line for line in target.requirements(lock) if _requirement(line) not in whole]


def _content(wheel: str) -> tuple[str, str]:
    """Return name and version of a wheel, without "+cpu"."""
    name, version = wheel.split("-")[:2]
    return plain(name), version.partition("+")[0]


def _requirement(line: str) -> tuple[str, str]:
    """Return name and version that a line of the lock asks for."""
    name, _, version = line.partition("==")
    return plain(name), version


def _forget(folder: Path, lock: Path) -> None:
    """Take out what belonged to an older lock, and what an interrupted run has left."""
    made_for, sums = _made_for(folder), _sums(folder)
    ours = {name for names in made_for.values() for name in names}
    for text in made_for:
        system, _, python = text.partition(", Python ")
        if system not in SYSTEMS:  # a later version of the course may know it
            continue
        wanted = set(map(_requirement, Target(system, python).requirements(lock)))
        made_for[text] = [name for name in made_for[text] if _content(name) in wanted]
    kept = {name for names in made_for.values() for name in names}
    strangers = {name for name in sums if name not in ours and (folder / name).is_file()}
    listed = {name: digest for name, digest in sums.items() if name in kept | strangers}
    _write_lists(folder, made_for, listed)
    for name in ours - kept:
        (folder / name).unlink(missing_ok=True)
    for left in folder.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(left, ignore_errors=True)


def _made_for(folder: Path) -> dict[str, list[str]]:
    try:
        made_for = json.loads((folder / MADE_FOR).read_text(encoding="utf-8"))
        return {str(target): list(filter(_is_wheel, names)) for target, names in made_for.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _sums(folder: Path) -> dict[str, str]:
    return {name: digest for digest, name in _lines_of_sums(folder) if _is_wheel(name)}


def _lines_of_sums(folder: Path) -> list[tuple[str, str]]:
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [(digest, name) for digest, _, name in (line.partition("  ") for line in lines)]


def _refuse_other_lists(folder: Path) -> None:
    """Raise a SetupError if the list that we would write over is of something else."""
    for digest, name in _lines_of_sums(folder):
        if not _is_wheel(name):
            raise SetupError(
                f"{folder / SUMS} is no wheelhouse's: it has the line "
                f"{f'{digest}  {name}'[:80]!r}. Name another folder, or move that file away."
            )


def _is_wheel(name: object) -> bool:
    """Tell whether it is a wheel's name, and no way into another folder."""
    return (
        isinstance(name, str)
        and name.endswith(".whl")
        and name.count("-") >= 2
        and not set(name) & set("/\\:\0")
    )


def _write_lists(folder: Path, made_for: dict[str, list[str]], sums: dict[str, str]) -> None:
    lines = [f"{sums[name]}  {name}\n" for name in sorted(sums)]
    for name, text in ((SUMS, "".join(lines)), (MADE_FOR, json.dumps(made_for, indent=1) + "\n")):
        unfinished = folder / ".list"
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(folder / name)


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
