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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def double(x: int) -> str:\n    return 2 * x\n", "[return-value]"),
        ("def double(x):\n    return 2 * x\n", "[no-untyped-def]"),
        ("def first(items: list) -> int:\n    return 1\n", "[type-arg]"),
    ],
)
def test_mypy_would_find_a_planted_mistake(tmp_path, code, error):
    (tmp_path / "planted.py").write_text(code)
    settings = f"--config-file={REPOSITORY / 'pyproject.toml'}"
    cache = f"--cache-dir={tmp_path / 'cache'}"
    done = run_module("mypy", settings, cache, str(tmp_path / "planted.py"))
    assert done.returncode == 1
    assert error in done.stdout
