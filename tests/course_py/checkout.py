"""Make small checkouts and run course.py in them.

Installations take tiny local wheels (one is named torch), so that nothing needs a network; the
full installation is what the continuous integration starts with.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = "Kurs mit Leerzeichen θ"


def make_wheel(folder: Path, name: str, version: str) -> None:
    """Write a wheel with one module that only knows its version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
        wheel.writestr(f"{info}/RECORD", record)


def make_checkout(folder: Path) -> Path:
    folder.mkdir(parents=True)
    shutil.copy(REPOSITORY / "course.py", folder)
    for name in ("course_setup", "lab_settings"):
        shutil.copytree(
            REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    (folder / "course_lib").mkdir()
    (folder / "course_lib" / "__init__.py").write_text("here = __file__\n")
    (folder / "requirements.lock").write_text("tinypackage==1.0\ntorch==2.13.0\n")
    return folder


def offline(wheels: Path, **more: str) -> dict[str, str]:
    """Return variables under which pip sees the local wheels and nothing else."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_"))}
    pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return {**kept, **pip, **more}


def course_py(
    checkout: Path, *words: str, env: dict[str, str], python: str = sys.executable, **more
):
    command = [python, str(checkout / "course.py"), *words]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, encoding="utf-8", timeout=120, **more
    )


def assert_one_sentence(done, *fragments: str) -> None:
    assert done.returncode == 1
    assert "Traceback" not in done.stderr + done.stdout
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("course.py: ")
    for fragment in fragments:
        assert fragment in lines[0]
