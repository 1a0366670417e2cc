"""The project stands alone: no path of one machine, no registry's host, no unsafe server."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.tooling.planting import REPOSITORY

# Written in two pieces, so that this file does not find itself.
FORBIDDEN = {
    "a folder outside the checkout": r"\.\./" + "shared|" + r"\.lib" + "rary",
    "a path of one machine": r"(?<![\w.~$}])/(?:wo"
    + "rk|ro"
    + r"ot|home/(?!me/)\w+|Users/(?!me/)\w+)/",
    "a package registry's host": (
        "py" + r"pi\.org|pytho" + r"nhosted\.org|npm" + r"js\.(?:org|com)|deb\.deb" + r"ian\.org"
        "|conda\\.ana" + r"conda\.org|unp" + r"kg\.com|jsde" + r"livr\.net"
    ),
}
# What a reader might copy; the tests may start servers of their own.
FORBIDDEN_OUTSIDE_TESTS = {
    "a server open to others": (
        r"token=['\"]{2}|--ip[= ]0\.0" + r"\.0\.0|--allow" + r"-root|password=['\"]{2}"
    ),
}
# Only what is read as text; pictures and the like are left out.
SUFFIXES = {
    "", ".cfg", ".css", ".html", ".in", ".ini", ".ipynb", ".js", ".json", ".lock", ".md", ".mjs",
    ".py", ".sh", ".toml", ".txt", ".yaml", ".yml",
}  # fmt: skip


def tracked_files() -> list[Path]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"not a git checkout, or no git: {error}")
    files = (REPOSITORY / name for name in listed.stdout.split("\0") if name)
    return [file for file in files if file.suffix in SUFFIXES and file.is_file()]


def finds(text: str, is_test: bool = False) -> list[str]:
    patterns = FORBIDDEN if is_test else FORBIDDEN | FORBIDDEN_OUTSIDE_TESTS
    return [
        f"line {text[: found.start()].count(chr(10)) + 1}: {what}: {found.group()}"
        for what, pattern in patterns.items()
        for found in re.finditer(pattern, text)
    ]


def test_no_tracked_file_names_what_only_one_machine_has():
    files = tracked_files()
    assert REPOSITORY / "course.py" in files
    found = [
        f"{file.relative_to(REPOSITORY)} {find}"
        for file in files
        for find in finds(file.read_text(encoding="utf-8"), REPOSITORY / "tests" in file.parents)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "see ../" + "shared/design.md",
        "/wo" + "rk/tmp/x",
        'File "/ro' + 'ot/.venv/lib/x.py"',
        "/home/" + "ann/course",
        "pip install -i https://py" + "pi.org/simple x",
        "<script src='https://unp" + "kg.com/x'>",
        "jupyter lab --allow" + "-root",
        "--ServerApp.token=" + "''",
        "--ip" + "=0.0.0.0",
    ],
)
def test_a_planted_one_would_be_found(text):
    assert len(finds(text)) == 1


@pytest.mark.parametrize("text", ["a network/graph", "../notebooks/00.ipynb", "https://x.org/work"])
def test_ordinary_text_is_let_through(text):
    assert finds(text) == []
