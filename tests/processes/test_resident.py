"""How much memory a process holds is known on every system, and is none of one that has ended."""

import os
import subprocess
import sys

import psutil
import pytest

from course_lib.comm.processes.launcher.resident import resident_bytes


@pytest.mark.parametrize("platform", [sys.platform, "a system without /proc"])
def test_the_memory_of_a_process_is_what_psutil_says(monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    held = resident_bytes(os.getpid())
    assert held is not None
    assert abs(held - psutil.Process().memory_info().rss) < 0.1 * held


@pytest.mark.parametrize("platform", [sys.platform, "a system without /proc"])
def test_a_process_that_has_ended_holds_nothing(monkeypatch, platform):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(sys, "platform", platform)
    assert resident_bytes(ended.pid) is None
