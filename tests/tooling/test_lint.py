"""ruff is content with every file, and would not be with a bad one."""

import pytest

from tests.tooling.planting import REPOSITORY, run_module


def test_ruff_finds_nothing():
    done = run_module("ruff", "check", ".")
    assert done.returncode == 0, done.stdout


def test_every_file_is_formatted():
    done = run_module("ruff", "format", "--check", ".")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("import os\n", "F401"),
        ('"""Doc."""\nimport numpy as np\n\nx = np.random.rand(3)\n', "NPY002"),
        ('"""Doc."""\n\n\ndef f(x=[]):\n    """Do it."""\n    return x\n', "B006"),
        ('"""Doc."""\n\n\ndef f():\n    return 1\n', "D103"),
        ('"""Doc."""\n\nprint(1)\n', "T201"),
    ],
)
def test_ruff_would_find_a_planted_mistake(tmp_path, code, rule):
    (tmp_path / "planted.py").write_text(code)
    settings = f"--config={REPOSITORY / 'pyproject.toml'}"
    done = run_module("ruff", "check", settings, "--no-cache", str(tmp_path / "planted.py"))
    assert done.returncode == 1
    assert rule in done.stdout


def test_a_badly_formatted_file_would_be_found(tmp_path):
    (tmp_path / "planted.py").write_text("x = {  'a':1 }\n")
    settings = f"--config={REPOSITORY / 'pyproject.toml'}"
    done = run_module("ruff", "format", "--check", settings, str(tmp_path / "planted.py"))
    assert done.returncode == 1
