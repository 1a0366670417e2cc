"""A checkout without an environment, and one with it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from course_setup.inventory import site_packages
from tests.course_py.checkout import (
    FOLDER,
    course_py,
    make_checkout,
    make_wheel,
    offline,
)
from tests.course_py.throwaway import make_base


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    make_wheel(folder, "torch", "2.13.0")
    make_wheel(folder, "tinypackage", "1.0")
    make_wheel(folder, "tinypackage", "2.0")
    return folder


@pytest.fixture
def checkout(tmp_path):
    return make_checkout(tmp_path / FOLDER)


@pytest.fixture(scope="session")
def made(tmp_path_factory, wheels):
    """Return a checkout with a finished environment; tests change copies of it.

    It was made from another folder, inside variables of another environment that would mislead.
    """
    wrong = tmp_path_factory.mktemp("wrong")
    (wrong / "torch.py").write_text("raise SystemExit('the wrong torch')")
    (wrong / "venv.py").write_text("raise SystemExit('the wrong venv')")
    misleading = {"PYTHONPATH": str(wrong), "VIRTUAL_ENV": str(wrong), "PIP_USER": "1"}
    misleading["PIP_TARGET"] = str(wrong / "target")
    root = make_checkout(tmp_path_factory.mktemp("made") / FOLDER)
    done = course_py(root, "setup", env=offline(wheels, **misleading), cwd=wrong)
    assert done.returncode == 0, done.stderr
    assert "Making .venv" in done.stdout
    assert not (wrong / "target").exists()
    return root


@pytest.fixture(scope="session")
def base(tmp_path_factory, made):
    """Return a Python whose own packages nobody needs."""
    return make_base(tmp_path_factory.mktemp("base") / "Python θ", site_packages(made))


@pytest.fixture(scope="session")
def fast(request) -> str:
    """Return a Python that makes an environment soon; where there can be none, this one.

    How this one makes it, pip included, is seen by whoever looks at what was ``made``.
    """
    if os.name == "nt":
        return sys.executable
    try:
        return str(request.getfixturevalue("base"))
    except pytest.skip.Exception:
        return sys.executable


@pytest.fixture
def finished(made, tmp_path):
    # The environment's own paths are only in scripts, which course.py does not use.
    return Path(shutil.copytree(made, tmp_path / FOLDER, symlinks=True))
