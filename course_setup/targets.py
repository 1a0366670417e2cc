"""The systems that a wheelhouse can be made for, in pip's words and in those of the lock."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course_setup.problems import SetupError

PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@dataclass(frozen=True)
class System:
    """A system: the tags of the wheels that run on it, and what its Python says of itself."""

    tags: tuple[str, ...]
    sys_platform: str
    os_name: str


def _manylinux(machine: str) -> tuple[str, ...]:
    """Return tags for glibc 2.28, which PyTorch needs, and older ones (pip adds none itself)."""
    minors = range(28, 4 if machine == "x86_64" else 16, -1)
    named = ("manylinux2014", "manylinux2010", "manylinux1")
    return tuple(f"{tag}_{machine}" for tag in (*(f"manylinux_2_{m}" for m in minors), *named))


SYSTEMS = {
    "linux": System(_manylinux("x86_64"), "linux", "posix"),
    "linux-aarch64": System(_manylinux("aarch64"), "linux", "posix"),
    "macos": System(("macosx_14_0_arm64",), "darwin", "posix"),
    "windows": System(("win_amd64",), "win32", "nt"),
}


@dataclass(frozen=True)
class Target:
    """A kind of computer: its system's name in `SYSTEMS`, and the version of its Python."""

    system: str
    python: str

    def __str__(self) -> str:
        """Return the words by which a wheelhouse knows this kind of computer."""
        return f"{self.system}, Python {self.python}"

    def pip_words(self) -> list[str]:
        """Return pip's arguments for wheels that this computer can install, and nothing else."""
        words = ["--only-binary=:all:", "--no-deps", "--python-version", self.python]
        for tag in SYSTEMS[self.system].tags:
            words += ["--platform", tag]
        return words

    def requirements(self, lock: Path) -> list[str]:
        """Return the lines of a lock that hold here, as `name==version`, PyTorch first."""
        lines = lock.read_text(encoding="utf-8").splitlines()
        pairs = [line.partition(";") for line in lines if re.match(r"[\w.-]+==", line)]
        held = [line.strip() for line, _, marker in pairs if self._holds(marker)]
        return sorted(held, key=lambda line: not line.startswith("torch=="))

    def _holds(self, marker: str) -> bool:
        # pip would ask the Python that runs it, whatever system it downloads for. A marker is an
        # expression in Python; versions from 3.10 to 3.99 compare as text.
        if not marker.strip():
            return True
        system = SYSTEMS[self.system]
        variables = {
            "sys_platform": system.sys_platform,
            "os_name": system.os_name,
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
        }
        return bool(eval(marker.strip(), {"__builtins__": {}}, variables))


def this_system() -> str:
    """Return the name of this computer's system, or "" if there is no wheel of PyTorch for it."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    found = {
        ("linux", "x86_64"): "linux",
        ("linux", "aarch64"): "linux-aarch64",
        ("darwin", "aarch64"): "macos",
        ("win32", "x86_64"): "windows",
    }
    return found.get((sys.platform, machine), "")


def targets(systems: Sequence[str] | None, pythons: Sequence[str] | None) -> list[Target]:
    """Return every system with every Python; this computer's where none is named.

    Parameters
    ----------
    systems : sequence of str or None
        Names of `SYSTEMS`.
    pythons : sequence of str or None
        Versions such as "3.12".

    Returns
    -------
    list of Target
        In the order given.

    Raises
    ------
    SetupError
        If one of them is none that the course runs on.
    """
    systems = systems or [this_system()]
    pythons = pythons or ["{}.{}".format(*sys.version_info)]
    for option, given, known in (
        ("--platform", systems, tuple(SYSTEMS)),
        ("--python-version", pythons, PYTHONS),
    ):
        for word in given:
            if word not in known:
                raise SetupError(f"{option} must be one of {', '.join(known)}, and is {word!r}.")
    return [Target(system, python) for system in systems for python in pythons]
