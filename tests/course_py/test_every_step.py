"""A set-up that ends before any one of its changes to the disk is made good by the next."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.course_py.checkout import REPOSITORY

RARER = ("nothing", "half_deleted", "incomplete", "another_lock")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="ends copies of a process")
@pytest.mark.parametrize(
    "begin",
    [
        "half_made",
        "the_learners_own",
        *(pytest.param(name, marks=pytest.mark.soak) for name in RARER),
    ],
)
def test_whichever_change_was_the_last_one(tmp_path, begin):
    done = subprocess.run(
        [sys.executable, "-m", "tests.course_py.every_step", str(tmp_path), begin],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) > (5 if begin == "another_lock" else 15)
