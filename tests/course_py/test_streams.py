"""Nobody needs to listen: closed, full and broken outputs stop nothing and show no traceback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from course_setup import environment, workbook
from tests.course_py.checkout import assert_one_sentence, course_py, offline
from tests.course_py.test_workbook import write_notebook

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a shell's redirections")


@pytest.fixture
def learner(checkout, wheels):
    """Return a checkout in which the learner has changed a lecture."""
    write_notebook(checkout / "notebooks" / "02_x.ipynb", "course")
    workbook.synchronise(checkout)
    write_notebook(checkout / "workbook" / "notebooks" / "02_x.ipynb", "mine")
    return checkout


def in_shell(root: Path, words: str, redirection: str) -> subprocess.CompletedProcess[str]:
    program = f"{shlex.quote(sys.executable)} {shlex.quote(str(root / 'course.py'))}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{program} {words} {redirection}"],
        capture_output=True, encoding="utf-8", timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    "redirection",
    [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "| head -c 0", ">/dev/full", "2>&1 | head -c 0"],
)
def test_a_reset_is_done_even_if_nobody_listens(learner, redirection):
    done = in_shell(learner, "reset 2", redirection)
    assert done.stderr == ""
    assert done.returncode == 0
    assert (learner / "workbook" / "notebooks" / "02_x.backup-1.ipynb").exists()


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "| head -c 0", "2>&1 | head -c 0"])
def test_a_refusal_has_its_status_even_if_nobody_listens(learner, redirection):
    done = in_shell(learner, "reset 7", redirection)
    assert "Traceback" not in done.stderr
    assert "rror" not in done.stderr
    assert done.returncode == 1


@pytest.mark.slow
def test_a_set_up_goes_on_when_the_reader_leaves(checkout, wheels, base):
    program = f"{shlex.quote(str(base))} {shlex.quote(str(checkout / 'course.py'))} setup"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{program} | head -n 1"],
        env=offline(wheels), capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Making .venv")
    assert environment.state_of(checkout).action == "none"


@pytest.mark.parametrize("number", ["9" * 5000, "0" * 5000 + "2", "²", "٢٣", "-1", "1e3"])
def test_a_number_that_is_none_of_the_lectures_is_told_in_a_short_sentence(learner, wheels, number):
    done = course_py(learner, "reset", "--", number, env=offline(wheels))
    assert_one_sentence(done, "there is no lecture or exercise")
    assert len(done.stderr) < 300
