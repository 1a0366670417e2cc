"""Every failure is provoked for real, and told in one sentence."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from course_setup import environment, interpreter
from course_setup.lock import alone
from course_setup.problems import SetupError, explain_installer, told_in_one_sentence
from tests.course_py.checkout import (
    assert_one_sentence,
    course_py,
    offline,
)


@pytest.mark.slow
def test_ctrl_c_while_installing_ends_in_a_line_and_the_next_run_fixes(checkout, wheels, fast):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        env = offline(wheels, PIP_INDEX_URL=address)
        del env["PIP_NO_INDEX"]
        process = subprocess.Popen(
            [fast, str(checkout / "course.py"), "setup"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        silent.settimeout(60)
        silent.accept()[0].close()  # pip is at work now
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == "course.py: stopped; run the same command again to go on."
    assert environment.state_of(checkout).action == "remake"
    done = course_py(checkout, "setup", env=offline(wheels), python=fast)
    assert done.returncode == 0, done.stderr
    assert "half-made" in done.stdout


@pytest.mark.slow
def test_no_network_is_told_in_one_sentence(finished):
    (finished / "requirements.lock").write_text("tinypackage==2.0\ntorch==2.13.0\n")
    env = offline(Path("unused"), PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1")
    del env["PIP_NO_INDEX"], env["PIP_FIND_LINKS"]
    done = course_py(finished, "setup", env=env)
    assert_one_sentence(done, "the package index cannot be reached")


@pytest.mark.slow
def test_a_missing_wheel_is_told_in_one_sentence(checkout, tmp_path, fast):
    done = course_py(checkout, "setup", env=offline(tmp_path), python=fast)
    assert_one_sentence(done, "no PyTorch 2.13 can be had", "has none for this system")


@pytest.mark.slow
def test_another_missing_package_is_named(finished, wheels):
    (finished / "requirements.lock").write_text("tinypackage==9.9\ntorch==2.13.0\n")
    done = course_py(finished, "setup", env=offline(wheels))
    assert_one_sentence(done, "the package index has no tinypackage==9.9")


def test_an_unknown_failure_shows_the_installers_own_last_words():
    told = explain_installer([f"line {number}" for number in range(100)])
    assert "line 99" in told
    assert "line 80" not in told


def test_a_full_disk_in_pips_words_is_understood():
    words = [
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    ]
    assert "the disk is full" in explain_installer(words)


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script as Python")
def test_a_python_without_ensurepip_is_told_what_to_install(tmp_path):
    python = tmp_path / "python3"
    blocked = "import sys; sys.modules['ensurepip'] = None; exec(sys.argv[1])"
    python.write_text(f'#!/bin/sh\nshift\nexec "{sys.executable}" -c "{blocked}" "$@"\n')
    python.chmod(0o755)
    with pytest.raises(SetupError, match="apt install python3-venv"):
        interpreter.make_venv_with(str(python), tmp_path / ".venv")


def test_a_disk_with_too_little_room_is_refused_before_anything_is_made(tmp_path):
    environment.check_room(tmp_path, needed_bytes=1)
    with pytest.raises(SetupError, match="GB free and the course needs"):
        environment.check_room(tmp_path, needed_bytes=10**18)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_in_one_sentence(tmp_path, capsys):
    with told_in_one_sentence() as outcome:
        (tmp_path / "copy").symlink_to("/dev/full")
        (tmp_path / "copy").write_text("x")
    assert outcome.status == 1
    assert capsys.readouterr().err.startswith("course.py: the disk is full: make room")


@pytest.mark.skipif(os.name == "nt", reason="folders have no write permission there")
def test_a_read_only_folder_is_told_in_one_sentence(tmp_path, capsys):
    # Root may write anywhere but into the kernel's own folders.
    folder = Path("/sys") if os.geteuid() == 0 else tmp_path
    tmp_path.chmod(0o555)
    with told_in_one_sentence() as outcome:
        environment.ensure(folder)
    tmp_path.chmod(0o755)
    assert outcome.status == 1
    error = capsys.readouterr().err
    assert error.startswith(f"course.py: may not write {folder / '.venv.lock'}")
    assert len(error.splitlines()) == 1


def test_two_at_once_do_not_make_one_environment(checkout, wheels):
    with alone(checkout / environment.LOCK, environment.BUSY):
        done = course_py(checkout, "setup", env=offline(wheels))
    assert_one_sentence(done, "another course.py is making .venv")
