"""The strict type checker is content, and would not be with a wrong type."""

import tomllib

import pytest

from tests.tooling.planting import REPOSITORY, run_module


@pytest.mark.slow
@pytest.mark.long  # without a cache
def test_mypy_strict_finds_nothing():
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    checked = [name for name in settings["tool"]["mypy"]["files"] if (REPOSITORY / name).exists()]
    assert {"course.py", "course_lib"} <= set(checked)
    done = run_module("mypy", *checked)
    assert done.returncode == 0, done.stdout + done.stderr


PLANTED = {
    "[return-value]": "def double(x: int) -> str:\n    return 2 * x\n",
    "[no-untyped-def]": "def double(x):\n    return 2 * x\n",
    "[type-arg]": "def first(items: list) -> int:\n    return 1\n",
}
"""Mistakes by the name that mypy has for each."""


@pytest.mark.slow
def test_mypy_would_find_planted_mistakes(tmp_path):
    for number, code in enumerate(PLANTED.values()):
        (tmp_path / f"planted_{number}.py").write_text(code)
    settings = f"--config-file={REPOSITORY / 'pyproject.toml'}"
    cache = f"--cache-dir={tmp_path / 'cache'}"
    done = run_module("mypy", settings, cache, *map(str, sorted(tmp_path.glob("planted_*.py"))))
    assert done.returncode == 1
    found = done.stdout.splitlines()
    for number, error in enumerate(PLANTED):
        (line,) = [line for line in found if f"planted_{number}.py" in line]
        assert error in line
