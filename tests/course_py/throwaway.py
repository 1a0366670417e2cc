"""A Python that may be spoilt: its program is copied, its standard library linked.

What a set-up that is led astray would write into its site-packages hurts nobody.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

# It unpacks the bundled pip, where the real module starts pip to install it: a second less.
QUICK_ENSUREPIP = """
import glob, sysconfig, zipfile
wheel = glob.glob({bundled!r} + "/pip-*.whl")[0]
zipfile.ZipFile(wheel).extractall(sysconfig.get_path("purelib"))
"""


def make_base(folder: Path) -> Path:
    """Return the program of a Python of its own below a folder; skip where none can be made."""
    library = Path(sysconfig.get_path("stdlib"))
    copied = folder / "lib" / library.name
    packages = copied / "site-packages"
    packages.mkdir(parents=True)
    for entry in library.iterdir():
        if entry.name not in ("site-packages", "dist-packages", "ensurepip", "__pycache__"):
            (copied / entry.name).symlink_to(entry)
    bundled = str(library / "ensurepip" / "_bundled")
    (copied / "ensurepip").mkdir()
    (copied / "ensurepip" / "__init__.py").write_text("")
    (copied / "ensurepip" / "__main__.py").write_text(QUICK_ENSUREPIP.format(bundled=bundled))
    (folder / "bin").mkdir()
    python = folder / "bin" / "python3"
    shutil.copy(Path(sys._base_executable).resolve(), python)  # type: ignore[attr-defined]
    ask = "import sys, site; print(sys.prefix); print(*site.getsitepackages())"
    told = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True)
    if told.stdout.splitlines()[:2] != [str(folder), str(packages)]:
        pytest.skip(f"a copy of this Python does not stand on its own: {told.stdout}{told.stderr}")
    return python


def listing(python: Path) -> list[str]:
    """Return what lies in that Python's folder, bytecode left out."""
    folder = python.parents[1]
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return sorted(name for name in names if "__pycache__" not in name)
