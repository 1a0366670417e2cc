"""The Python of `.venv`: make it, and tell whether what it installs goes into `.venv`.

`.venv/bin/python` is mostly a link to the Python that it was made with. Only the file pyvenv.cfg
beside it makes the two differ: without it, packages would go into the learner's own Python.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from course_setup.problems import SetupError

# Names inherited from an active environment that would lead the new one astray. (MPLBACKEND would
# keep plots out of notebooks; without bytecode every worker would compile the package anew.)
_MISLEADING = (
    "MPLBACKEND", "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONUSERBASE", "VIRTUAL_ENV",
    "__PYVENV_LAUNCHER__", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
)  # fmt: skip
_ASK = """
import os, sys
inside = sys.prefix != sys.base_prefix and os.path.samefile(sys.prefix, sys.argv[1])
print(*sys.version_info[:2], int(inside))
"""


def venv_python(root: Path) -> Path:
    """Return where `.venv` keeps its Python."""
    return root / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def clean_environ() -> dict[str, str]:
    """Return the variables for child processes, without those of other Python environments."""
    environ = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return {**environ, "PYTHONNOUSERSITE": "1", "PIP_USER": "0"}


def version_inside(root: Path) -> tuple[int, int] | None:
    """Start the Python of `.venv` and return its version.

    Parameters
    ----------
    root : Path
        The checkout.

    Returns
    -------
    tuple of int or None
        Its version, or None if it does not run, or its packages are not those of `.venv` alone.
    """
    venv = root / ".venv"
    if not _has_packages_of_its_own(venv):
        return None
    ask = [str(venv_python(root)), "-I", "-B", "-c", _ASK, str(venv)]
    try:
        answer = subprocess.run(
            ask, env=clean_environ(), capture_output=True, text=True, timeout=30
        )
        major, minor, inside = map(int, answer.stdout.splitlines()[-1].split())
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return None
    return (major, minor) if inside else None


def refuse_outside(root: Path) -> None:
    """Raise a SetupError unless what the Python of `.venv` installs goes into `.venv`."""
    if version_inside(root) is None:
        raise SetupError(
            ".venv has lost its Python or its pyvenv.cfg while it was being made: see that no "
            "other program changes it, then run this again."
        )


def make_venv_with(base: str, venv: Path, pass_fds: tuple[int, ...] = ()) -> None:
    """Make an environment with a Python given by its path.

    Parameters
    ----------
    base : str
        The Python; it must have the modules venv and ensurepip.
    venv : Path
        Where the environment goes.
    pass_fds : tuple of int
        File descriptors that the program that makes it inherits.

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
        [base, "-I", "-m", "venv", str(venv)],
        env=environ, capture_output=True, text=True, errors="replace", pass_fds=pass_fds,
    )  # fmt: skip
    if made.returncode:
        words = (made.stderr or made.stdout).strip().splitlines()
        raise SetupError(f"`python -m venv` failed: {words[-1] if words else made.returncode}.")


def _has_packages_of_its_own(venv: Path) -> bool:
    """Tell whether pyvenv.cfg is there, and shuts out the packages of the Python underneath."""
    try:
        lines = (venv / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    pairs = (line.partition("=") for line in lines)
    settings = {name.strip().lower(): value.strip().lower() for name, _, value in pairs}
    return "home" in settings and settings.get("include-system-site-packages") == "false"
