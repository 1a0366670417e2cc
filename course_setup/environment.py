"""Make `.venv` with the locked packages, once, and tell in a moment whether it is still good.

A stamp inside `.venv` says what it is: "installing" while we work on it, "ready" with the lock's
hash and the names in site-packages when done. An interrupted run therefore never looks finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from course_setup.install import install_packages
from course_setup.problems import SetupError

NEEDED_BYTES = 3 * 10**9
STAMP = "course-stamp.json"
# Names inherited from an active environment that would lead the new one astray. (MPLBACKEND would
# keep plots out of notebooks; without bytecode every worker would compile the package anew.)
_MISLEADING = (
    "MPLBACKEND", "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONUSERBASE", "VIRTUAL_ENV",
    "__PYVENV_LAUNCHER__", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "UV_PYTHON",
)  # fmt: skip


@dataclass(frozen=True)
class State:
    """What was found at `.venv`: what to do about it, and why (in words for the learner)."""

    action: str  # "none", "make", "adopt", "update", "remake" or "move aside"
    why: str


def venv_python(root: Path) -> Path:
    """Return where `.venv` keeps its Python."""
    return root / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def clean_environ() -> dict[str, str]:
    """Return the variables for child processes, without those of other Python environments."""
    environ = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return {**environ, "PYTHONNOUSERSITE": "1", "PIP_USER": "0"}


def ensure(root: Path) -> Path:
    """Make `.venv` good if it is not; return its Python.

    Parameters
    ----------
    root : Path
        The checkout.

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
    with _alone(root):
        state = state_of(root)  # another run may have finished meanwhile
        if state.action != "none":
            print(state.why, flush=True)
            _mend(root, state.action)
    return venv_python(root)


def state_of(root: Path) -> State:
    """Look at `.venv` and say what has to be done (a few milliseconds and one Python start)."""
    venv = root / ".venv"
    again = "making it again with the locked packages (about a minute)."
    if not os.path.lexists(venv):
        return State("make", "Making .venv with the locked packages (once, a minute or two).")
    stamp = _read_stamp(venv)
    version = _version_of(venv_python(root))
    if stamp is None:
        has_pip = any(name.startswith("pip-") for name in _contents(root))
        if version is not None and has_pip and (3, 11) <= version <= (3, 14):
            return State("adopt", "Installing the locked packages into the .venv found here.")
        return State("move aside", f"The .venv here does not work; moved aside, {again}")
    recorded = stamp.get("contents")
    if stamp.get("state") != "ready" or not isinstance(recorded, list):
        return State("remake", f"The .venv here was left half-made; {again}")
    if version is None or list(version) != stamp.get("python"):
        return State("remake", f"The Python of .venv is gone or another; {again}")
    missing = sorted(set(recorded) - set(_contents(root)))
    if missing:
        return State("remake", f"Files are missing in .venv ({', '.join(missing[:3])}); {again}")
    if stamp.get("lock") != _lock_hash(root):
        return State("update", "The locked packages have changed: updating .venv.")
    return State("none", "")


def _mend(root: Path, action: str) -> None:
    """Carry out what `state_of` asked for."""
    venv = root / ".venv"
    adopted = action == "adopt" or bool((_read_stamp(venv) or {}).get("adopted"))
    if action == "move aside" or (action == "remake" and adopted):
        venv.rename(_free_name(root))  # the user's own
    elif action == "remake":
        shutil.rmtree(venv)
    if action in ("make", "move aside", "remake"):
        adopted = False
        check_room(root)
        venv.mkdir()
        _write_stamp(venv, {"state": "installing"})
        base = getattr(sys, "_base_executable", None) or sys.executable
        make_venv_with(base, venv)
    _write_stamp(venv, {"state": "installing", "adopted": adopted})
    install_packages(root, venv_python(root), clean_environ())
    _add_checkout_to_path(root)
    ready = {
        "state": "ready",
        "adopted": adopted,
        "lock": _lock_hash(root),
        "python": _version_of(venv_python(root)),
        "contents": _contents(root),
    }
    _write_stamp(venv, ready)


def make_venv_with(base: str, venv: Path) -> None:
    """Make an environment with a Python given by its path.

    Parameters
    ----------
    base : str
        The Python; it must have the modules venv and ensurepip.
    venv : Path
        Where the environment goes.

    Raises
    ------
    SetupError
        If that Python cannot make one.
    """
    environ = clean_environ()
    has_both = [base, "-I", "-c", "import venv, ensurepip"]
    if subprocess.run(has_both, env=environ, capture_output=True).returncode:
        raise SetupError(
            "this Python cannot make virtual environments: on Debian and Ubuntu run "
            "`sudo apt install python3-venv`, elsewhere install Python from python.org."
        )
    made = subprocess.run(
        [base, "-I", "-m", "venv", str(venv)], env=environ, capture_output=True, text=True
    )
    if made.returncode:
        words = (made.stderr or made.stdout).strip().splitlines()
        raise SetupError(f"`python -m venv` failed: {words[-1] if words else made.returncode}.")


def _add_checkout_to_path(root: Path) -> None:
    """Let the environment import the checkout's packages where they lie.

    The line is relative, so that it is plain ASCII and stays true when the folder moves.
    """
    packages = _site_packages(root)
    (packages / "course_checkout.pth").write_text(
        os.path.relpath(root, packages) + "\n", encoding="ascii"
    )


def _site_packages(root: Path) -> Path:
    if os.name == "nt":
        return root / ".venv" / "Lib" / "site-packages"
    return next(iter((root / ".venv" / "lib").glob("python3*/site-packages")))


def _contents(root: Path) -> list[str]:
    """Return the names in site-packages (each locked package has two or more)."""
    try:
        names = [entry.name for entry in _site_packages(root).iterdir()]
    except (OSError, StopIteration):
        return []
    return sorted(name for name in names if name != "__pycache__")


def _version_of(python: Path) -> tuple[int, int] | None:
    """Start a Python to see that it runs; return its version, or None."""
    ask = [str(python), "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        answer = subprocess.run(
            ask, env=clean_environ(), capture_output=True, text=True, timeout=30
        )
        major, minor = map(int, answer.stdout.split())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return major, minor


def _lock_hash(root: Path) -> str:
    # Line ends are those of the checkout (Git may make them \r\n on Windows): left out.
    text = (root / "requirements.lock").read_bytes().replace(b"\r\n", b"\n")
    return hashlib.sha256(text).hexdigest()


def _read_stamp(venv: Path) -> dict[str, object] | None:
    try:
        stamp = json.loads((venv / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stamp if isinstance(stamp, dict) else None


def _write_stamp(venv: Path, stamp: dict[str, object]) -> None:
    unfinished = venv / (STAMP + ".tmp")
    unfinished.write_text(json.dumps(stamp, indent=1), encoding="utf-8")
    unfinished.replace(venv / STAMP)


def _free_name(root: Path) -> Path:
    number = 1
    while os.path.lexists(root / f".venv.old-{number}"):
        number += 1
    return root / f".venv.old-{number}"


def check_room(root: Path, needed_bytes: int = NEEDED_BYTES) -> None:
    """Refuse early where the packages cannot fit."""
    free = shutil.disk_usage(root).free
    if free < needed_bytes:
        raise SetupError(
            f"the disk has {free / 1e9:.1f} GB free and the course needs about "
            f"{needed_bytes / 1e9:.0f} GB: make room, then run this again."
        )


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Let one course.py at a time change `.venv`; the lock goes when the process goes."""
    with (root / ".venv.lock").open("a+") as handle:
        try:
            if os.name == "nt":
                import msvcrt

                msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
            else:
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SetupError(
                "another course.py is making .venv in this folder: wait until it is done, then "
                "run this again."
            ) from None
        yield
