"""Make `.venv` with the locked packages, once, and tell in a moment whether it is still good.

A stamp inside `.venv` says what it is: "installing" while we work on it, "ready" with the lock's
hash and what lies in it when done. It is there before anything else is, and `.venv` gets another
name before its first file is deleted. An interrupted run therefore never looks finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from course_setup.install import install_packages
from course_setup.interpreter import clean_environ, make_venv_with, venv_python, version_inside
from course_setup.inventory import contents, count_files, missing, refuse_incomplete, site_packages
from course_setup.lock import alone
from course_setup.problems import SetupError
from course_setup.saying import say
from course_setup.targets import Target, this_system
from course_setup.wheelhouse import install_from, offered

NEEDED_BYTES = 3 * 10**9
STAMP = "course-stamp.json"
LOCK = ".venv.lock"
BUSY = (
    "another course.py is making .venv in this folder, or an installer that it has left is still "
    "at work: wait until it is done, then run this again."
)
_OLD = ".venv.old"  # what was the learner's: kept
_UNWANTED = ".venv.tmp"  # what is ours, half-made or half-deleted: cleared by the next run


@dataclass(frozen=True)
class State:
    """What was found at `.venv`: what to do about it, and why (in words for the learner)."""

    action: str  # "none", "make", "adopt", "update", "remake" or "move aside"
    why: str


def ensure(root: Path, wheelhouse: Path | None = None) -> Path:
    """Make `.venv` good if it is not; return its Python.

    Parameters
    ----------
    root : Path
        The checkout.
    wheelhouse : Path or None
        A folder to take the packages from; `wheelhouse/` in the checkout needs no naming.

    Returns
    -------
    Path
        The Python of an environment that holds exactly the locked versions.

    Raises
    ------
    SetupError
        If it cannot be made, with one sentence that says why.
    """
    if state_of(root).action == "none":
        return venv_python(root)
    with alone(root / LOCK, BUSY) as pass_fds:
        state = state_of(root)  # another run may have finished meanwhile
        if state.action != "none":
            say(state.why)
            _mend(root, state.action, wheelhouse, pass_fds)
    return venv_python(root)


def state_of(root: Path) -> State:
    """Look at `.venv` and say what has to be done (one Python start, and a look at its files)."""
    venv = root / ".venv"
    if not os.path.lexists(venv):
        what = "Making .venv with the locked packages (once, one to five minutes)."
        return State("make", what)
    state = _state_of_what_is_there(root, venv)
    if state.action != "none" and _is_elsewhere(root, venv):
        return State(
            "move aside",
            "The .venv here leads to a folder elsewhere, which is left as it is; making one here.",
        )
    return state


def _state_of_what_is_there(root: Path, venv: Path) -> State:
    again = "making it again with the locked packages (about a minute)."
    stamp = _read_stamp(venv)
    version = version_inside(root)
    if stamp is None:
        has_pip = any(name.startswith("pip-") for name in contents(root))
        if version is not None and has_pip and (3, 11) <= version <= (3, 14):
            return State("adopt", "Installing the locked packages into the .venv found here.")
        return State("move aside", f"The .venv here does not work; moved aside, {again}")
    recorded = stamp.get("contents")
    if stamp.get("state") != "ready" or not isinstance(recorded, list):
        return State("remake", f"The .venv here was left half-made; {again}")
    if version is None or list(version) != stamp.get("python"):
        return State("remake", f"The Python of .venv is gone or another; {again}")
    gone = missing(root, recorded, stamp.get("files"))
    if gone:
        return State("remake", f"Files are missing in .venv ({', '.join(gone[:3])}); {again}")
    if stamp.get("lock") != _lock_hash(root):
        return State("update", "The locked packages have changed: updating .venv.")
    return State("none", "")


def _is_elsewhere(root: Path, venv: Path) -> bool:
    """Tell whether `.venv` is a link: what lies behind it is not ours to change."""
    return os.path.realpath(venv) != os.path.join(os.path.realpath(root), ".venv")  # noqa: PTH118


def _mend(root: Path, action: str, named: Path | None, pass_fds: tuple[int, ...]) -> None:
    """Carry out what `state_of` asked for."""
    venv = root / ".venv"
    version = version_inside(root) if action in ("adopt", "update") else None
    target = Target(this_system(), "{}.{}".format(*(version or sys.version_info)))
    wheelhouse = offered(root, named, target)
    adopted = action == "adopt" or bool((_read_stamp(venv) or {}).get("adopted"))
    if action == "move aside" or (action == "remake" and adopted):
        venv.rename(_free_name(root, _OLD))
    elif action == "remake":
        venv.rename(_free_name(root, _UNWANTED))  # deleting takes a while, and may be interrupted
    _clear_unwanted(root)
    if action in ("make", "move aside", "remake"):
        adopted = False
        check_room(root)
        _begin(root)
        _clear_unwanted(root)
        base = getattr(sys, "_base_executable", None) or sys.executable
        make_venv_with(base, venv, pass_fds)
    _write_stamp(venv, {"state": "installing", "adopted": adopted})
    lock_hash = _lock_hash(root)
    if wheelhouse is None:
        install_packages(root, clean_environ(), pass_fds)
    else:
        install_from(wheelhouse, root, clean_environ(), pass_fds)
    refuse_incomplete(root)
    _add_checkout_to_path(root)
    ready = {
        "state": "ready",
        "adopted": adopted,
        "lock": lock_hash,
        "python": version_inside(root),
        "contents": contents(root),
        "files": count_files(root),
    }
    _write_stamp(venv, ready)


def _begin(root: Path) -> None:
    """Make a `.venv` that says from its first moment on that it is not ready."""
    unfinished = _free_name(root, _UNWANTED)
    unfinished.mkdir()
    _write_stamp(unfinished, {"state": "installing"})
    for _ in range(3):
        try:
            unfinished.rename(root / ".venv")
            return
        except OSError:
            # A program that still runs from the old one has made a folder for its bytecode there.
            if not os.path.lexists(root / ".venv"):
                raise
            (root / ".venv").rename(_free_name(root, _UNWANTED))
    raise SetupError(
        "a program keeps writing into .venv: end what runs from it (JupyterLab, a notebook), then "
        "run this again."
    )


def _clear_unwanted(root: Path) -> None:
    """Delete what this run, or an interrupted one, has renamed in order to delete it."""
    for folder in sorted(root.glob(f"{_UNWANTED}-*")):
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.lexists(folder):
            say(f"{folder.name} could not be deleted: close programs that use it, and delete it.")


def _add_checkout_to_path(root: Path) -> None:
    """Let the environment import the checkout's packages where they lie.

    The line is relative, so that it is plain ASCII and stays true when the folder moves.
    """
    packages = site_packages(root)
    (packages / "course_checkout.pth").write_text(
        os.path.relpath(root, packages) + "\n", encoding="ascii"
    )


def _lock_hash(root: Path) -> str:
    # Line ends are those of the checkout (Git may make them \r\n on Windows): left out.
    text = (root / "requirements.lock").read_bytes().replace(b"\r\n", b"\n")
    return hashlib.sha256(text).hexdigest()


def _read_stamp(venv: Path) -> dict[str, object] | None:
    try:
        stamp = json.loads((venv / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return stamp if isinstance(stamp, dict) else None


def _write_stamp(venv: Path, stamp: dict[str, object]) -> None:
    unfinished = venv / (STAMP + ".tmp")
    unfinished.write_text(json.dumps(stamp, indent=1), encoding="utf-8")
    unfinished.replace(venv / STAMP)


def _free_name(root: Path, name: str) -> Path:
    number = 1
    while os.path.lexists(root / f"{name}-{number}"):
        number += 1
    return root / f"{name}-{number}"


def check_room(root: Path, needed_bytes: int = NEEDED_BYTES) -> None:
    """Refuse early where the packages cannot fit."""
    free = shutil.disk_usage(root).free
    if free < needed_bytes:
        raise SetupError(
            f"the disk has {free / 1e9:.1f} GB free and the course needs about "
            f"{needed_bytes / 1e9:.0f} GB: make room, then run this again."
        )
