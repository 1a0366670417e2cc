"""What is told while packages are installed."""

from __future__ import annotations

import pytest

from course_setup import progress


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Collecting torch==2.13.0", "looking up torch"),
        ("Collecting anyio==4.16.0 (from -r requirements.lock (line 10))", "looking up anyio"),
        ("Downloading https://x/y/idna-3.20-py3-none-any.whl.metadata (8 kB)", "looking up idna"),
        (
            "Downloading torch-2.13.0%2Bcpu-cp312-cp312-manylinux_2_28_x86_64.whl (181.0 MB)",
            "downloading torch (181.0 MB)",
        ),
        ("Using cached numpy-2.4.0-cp312-cp312-win_amd64.whl (16 MB)", "unpacking numpy (16 MB)"),
        ("Downloading torch (180.0MiB)", "downloading torch (180.0 MiB)"),  # uv
        ("Resolved 159 packages in 1.02s", "downloading 159 packages"),
        ("Prepared 1 package in 30s", "installing 1 package"),
        ("Installing collected packages: a, b, c", "installing 3 packages"),
        ("Attempting uninstall: setuptools", ""),
        ("Successfully uninstalled setuptools-65.5.0", ""),
        ("WARNING: something about a cache", ""),
        ("", ""),
    ],
)
def test_an_installers_line_in_plain_words(line, words):
    assert progress.in_plain_words(line) == words


def test_of_a_known_number_of_packages_each_is_counted_once_and_other_systems_are_left_out(
    capsys, monkeypatch
):
    monkeypatch.setattr(progress.sys.stdout, "isatty", lambda: True, raising=False)
    shown = progress.Progress("the other packages", total=5)
    told = []
    for line in (
        "Ignoring appnope: markers 'sys_platform == \"darwin\"' don't match your environment",
        "Requirement already satisfied: torch==2.13.0 in .venv/lib (from -r lock (line 3))",
        "Collecting jupyter_core==5.1 (from -r lock (line 5))",
        "Downloading jupyter_core-5.1-py3-none-any.whl.metadata (8 kB)",
        "Collecting anyio==4.16.0",
        "Collecting idna==3.20",
        "Downloading jupyter_core-5.1-py3-none-any.whl (29 kB)",
        "Using cached idna-3.20-py3-none-any.whl (72 kB)",
        "Installing collected packages: idna, anyio, jupyter_core",
    ):
        shown.hear(line)
        shown.tick()
        told.append(capsys.readouterr().out.strip().partition(": ")[2])
    assert told == [
        "starting", "starting",
        "looking up jupyter_core, 2 of 4", "looking up jupyter_core, 2 of 4",
        "looking up anyio, 3 of 4", "looking up idna, 4 of 4",
        "downloading jupyter_core (29 kB), 1 of 3", "unpacking idna (72 kB), 2 of 3",
        "installing 3 packages",
    ]  # fmt: skip


def test_a_long_line_is_cut_between_words():
    assert progress.shortened("short", 5) == "short"
    assert progress.shortened("installing many packages", 20) == "installing many …"
    assert progress.shortened("x" * 30, 10) == "x" * 8 + " …"
    for width in range(4, 40):
        assert len(progress.shortened("  PyTorch,  12 s: downloading torch", width)) <= width


def test_where_no_line_can_change_each_step_is_told_once_and_silence_broken(capsys, monkeypatch):
    shown = progress.Progress("PyTorch")
    for name in ("a", "b"):
        shown.hear(f"Collecting {name}==1.0")
        shown.hear(f"Downloading {name}-1.0-py3-none-any.whl (2 kB)")
    shown.hear("Installing collected packages: a, b")
    shown.hear("Successfully uninstalled setuptools-65.5.0")
    shown.tick()
    monkeypatch.setattr(progress, "SILENCE_SECONDS", 0.0)
    shown.tick()
    shown.end()
    assert capsys.readouterr().out.splitlines() == [
        "  PyTorch: looking up a",
        "  PyTorch: downloading a (2 kB)",
        "  PyTorch: installing 2 packages",
        "  PyTorch: installing 2 packages, 0 s so far",
    ]
