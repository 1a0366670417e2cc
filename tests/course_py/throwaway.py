"""A Python that may be spoilt: its program is copied, its standard library linked.

What a set-up that is led astray would write into its site-packages hurts nobody. And it makes an
environment in a quarter of the time, for its ensurepip copies a pip that is compiled already.
"""

from __future__ import annotations

import glob
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

# The real module starts pip to install pip, and compiles all of it: four seconds, each time.
QUICK_ENSUREPIP = """
import glob, os, shutil, sysconfig
for folder in glob.glob({pip!r}):
    copy = os.path.join(sysconfig.get_path("purelib"), os.path.basename(folder))
    shutil.copytree(folder, copy, dirs_exist_ok=True)
"""


def make_base(folder: Path, packages_with_pip: Path) -> Path:
    """Return the program of a Python of its own below a folder; skip where none can be made.

    Its environments get copies of the pip that is in the given folder.
    """
    library = Path(sysconfig.get_path("stdlib"))
    copied = folder / "lib" / library.name
    packages = copied / "site-packages"
    packages.mkdir(parents=True)
    for entry in library.iterdir():
        if entry.name not in ("site-packages", "dist-packages", "ensurepip", "__pycache__"):
            (copied / entry.name).symlink_to(entry)
    pip = f"{glob.escape(str(packages_with_pip))}/pip*"
    (copied / "ensurepip").mkdir()
    (copied / "ensurepip" / "__init__.py").write_text("")
    (copied / "ensurepip" / "__main__.py").write_text(QUICK_ENSUREPIP.format(pip=pip))
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
