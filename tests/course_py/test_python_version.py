"""A Python that cannot run the course is told so, even if it is an old one."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

import course
from tests.course_py.checkout import (
    REPOSITORY,
    assert_one_sentence,
)


@pytest.mark.parametrize(
    ("version", "system", "machine", "is_64bit", "fragment"),
    [
        ((3, 8), "Linux", "x86_64", True, "this is Python 3.8, and the course needs Python 3.11"),
        ((3, 10), "Windows", "AMD64", True, "Python 3.11 to 3.14"),
        ((3, 15), "Linux", "x86_64", True, "this is Python 3.15"),
        ((4, 0), "Linux", "x86_64", True, "this is Python 4.0"),
        ((3, 12), "Windows", "x86", False, "32-bit"),
        ((3, 12), "Darwin", "x86_64", True, "Intel"),
        ((3, 11), "Linux", "x86_64", True, ""),
        ((3, 14), "Darwin", "arm64", True, ""),
    ],
)
def test_a_wrong_python_is_told_in_one_sentence(version, system, machine, is_64bit, fragment):
    reason = course.wrong_python(version, system, machine, is_64bit)
    assert fragment in reason
    assert bool(reason) == bool(fragment)
    assert "\n" not in reason


def test_a_wrong_python_is_pointed_to_a_fitting_one_on_the_path(tmp_path, monkeypatch):
    program = tmp_path / ("python3.12.exe" if os.name == "nt" else "python3.12")
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "run it with python3.12" in course.wrong_python((3, 9), "Linux", "x86_64", True)
    program.unlink()
    assert "python.org" in course.wrong_python((3, 9), "Linux", "x86_64", True)


def test_an_old_python_can_read_the_file_up_to_its_sentence():
    text = (REPOSITORY / "course.py").read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 8))
    compile(tree, "course.py", "exec")
    at_import = {
        name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names
    }
    assert at_import == {"argparse", "os", "platform", "shutil", "sys"}
    # Syntax that Python 3.8 lacks would have been seen:
    with pytest.raises(SyntaxError):
        ast.parse("match 1:\n    case 1: pass", feature_version=(3, 8))


def test_the_rest_is_imported_only_after_the_check(checkout, wheels):
    (checkout / "course_setup" / "__init__.py").write_text("this is no Python")
    script = (
        "import sys, course; course.OLDEST = (3, 99); course.NEWEST = (3, 99);"
        "sys.exit(course.main(['setup']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=checkout, capture_output=True, text=True
    )
    assert_one_sentence(done, "the course needs Python 3.99")
