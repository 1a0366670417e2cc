"""`.venv` is made once, and fixed when it is broken."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from course_setup import environment, interpreter
from tests.course_py.checkout import course_py, offline


def run_in(root: Path, script: str, cwd: Path) -> list[str]:
    """Run a script in a checkout's environment; return the lines that it prints."""
    done = subprocess.run(
        [str(interpreter.venv_python(root)), "-X", "utf8", "-c", script],
        cwd=cwd,
        env=interpreter.clean_environ(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_it_holds_the_locked_packages_and_the_checkouts_own(made, tmp_path):
    script = "import course_lib, tinypackage, torch; print(course_lib.here)"
    script += "\nprint(tinypackage.__version__)"
    here = made / "course_lib" / "__init__.py"
    assert run_in(made, script, cwd=tmp_path) == [str(here), "1.0"]


@pytest.mark.slow
def test_a_second_run_changes_nothing(finished, wheels):
    def seen():
        files = (finished / ".venv").rglob("*")
        return sorted((file, file.stat().st_mtime_ns) for file in files)

    before = seen()
    done = course_py(finished, "setup", env=offline(wheels))
    assert done.stdout.startswith("The environment is ready")
    assert len(done.stdout.splitlines()) == 1
    assert seen() == before


@pytest.mark.slow
def test_a_moved_checkout_still_works(finished):
    assert environment.state_of(finished).action == "none"
    script = "import course_lib; print(course_lib.here)"
    here = finished / "course_lib" / "__init__.py"
    assert run_in(finished, script, cwd=finished.parent) == [str(here)]


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"])
def test_variables_that_would_lead_it_astray_or_slow_it_down_are_not_handed_on(name, monkeypatch):
    monkeypatch.setenv(name, "1")
    assert name not in interpreter.clean_environ()


def spoil_python(venv: Path) -> None:
    for python in [*(venv / "bin").glob("python*"), *(venv / "Scripts").glob("python*")]:
        python.unlink()


def spoil_package(venv: Path) -> None:
    shutil.rmtree(next(venv.rglob("site-packages/tinypackage")))


def spoil_stamp(venv: Path) -> None:
    (venv / environment.STAMP).write_text('{"state": "installing"}')


def spoil_stamp_with_rubbish(venv: Path) -> None:
    (venv / environment.STAMP).write_text('{"state": "ready", "contents": 3}')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_python, "is gone or another"),
        (spoil_package, "Files are missing in .venv (tinypackage)"),
        (spoil_stamp, "half-made"),
        (spoil_stamp_with_rubbish, "half-made"),
    ],
)
def test_a_broken_environment_is_seen(finished, spoil, words):
    assert environment.state_of(finished).action == "none"
    spoil(finished / ".venv")
    state = environment.state_of(finished)
    assert state.action == "remake"
    assert words in state.why


@pytest.mark.slow
def test_a_broken_environment_is_fixed_by_the_next_run(finished, wheels, fast):
    spoil_package(finished / ".venv")
    done = course_py(finished, "setup", env=offline(wheels), python=fast)
    assert done.returncode == 0, done.stderr
    assert "Files are missing" in done.stdout
    assert environment.state_of(finished).action == "none"


@pytest.mark.slow
def test_a_new_lock_updates_the_environment(finished, wheels):
    (finished / "requirements.lock").write_text("tinypackage==2.0\ntorch==2.13.0\n")
    done = course_py(finished, "setup", env=offline(wheels))
    assert done.returncode == 0, done.stderr
    assert "updating" in done.stdout
    assert list((finished / ".venv").rglob("tinypackage-2.0.dist-info"))
    assert environment.state_of(finished).action == "none"


def test_line_ends_of_the_lock_do_not_matter(checkout):
    before = environment._lock_hash(checkout)
    lock = checkout / "requirements.lock"
    lock.write_bytes(lock.read_bytes().replace(b"\n", b"\r\n"))
    assert environment._lock_hash(checkout) == before
    lock.write_bytes(lock.read_bytes().replace(b"1.0", b"1.1"))
    assert environment._lock_hash(checkout) != before


@pytest.mark.slow
def test_an_environment_of_the_users_own_is_used_and_never_deleted(checkout, wheels, fast):
    subprocess.run([fast, "-m", "venv", str(checkout / ".venv")], check=True)
    mine = checkout / ".venv" / "mine.txt"
    mine.write_text("mine")
    done = course_py(checkout, "setup", env=offline(wheels), python=fast)
    assert done.returncode == 0, done.stderr
    assert "found here" in done.stdout
    assert mine.exists()
    spoil_python(checkout / ".venv")
    assert environment.state_of(checkout).action == "remake"
    done = course_py(checkout, "setup", env=offline(wheels), python=fast)
    assert done.returncode == 0, done.stderr
    assert (checkout / ".venv.old-1" / "mine.txt").exists()
    assert environment.state_of(checkout).action == "none"


@pytest.mark.parametrize("what", ["folder", "file", "link to nowhere"])
def test_something_else_named_venv_is_moved_aside(checkout, what):
    venv = checkout / ".venv"
    if what == "folder":
        venv.mkdir()
        (venv / "junk").write_text("")
    elif what == "file":
        venv.write_text("")
    else:
        venv.symlink_to(checkout / "nowhere")
    assert environment.state_of(checkout).action == "move aside"
