"""Whatever an interrupted or spoilt set-up has left, the next one ends well, and inside `.venv`.

Here course.py runs with a Python made for the test, so that nobody else's can be hurt.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from course_setup import environment
from course_setup.interpreter import refuse_outside
from course_setup.problems import SetupError
from tests.course_py.checkout import (
    FOLDER,
    assert_one_sentence,
    make_checkout,
    offline,
)
from tests.course_py.throwaway import listing

pytestmark = pytest.mark.skipif(os.name == "nt", reason="ends processes by signals")


@pytest.fixture(scope="module")
def ready(base, wheels, tmp_path_factory):
    """Return a checkout that the throw-away Python has set up; tests change copies of it."""
    root = make_checkout(tmp_path_factory.mktemp("ready") / FOLDER)
    done = set_up(base, root, wheels)
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture
def spoilt(ready, tmp_path):
    return Path(shutil.copytree(ready, tmp_path / FOLDER, symlinks=True))


def set_up(base: Path, root: Path, wheels: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(base), str(root / "course.py"), "setup"],
        env=offline(wheels), capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip


def assert_it_works(root: Path) -> None:
    """Ask the environment itself: what it imports comes from it, or from the checkout."""
    assert environment.state_of(root).action == "none"
    ask = "import sys, torch, tinypackage, course_lib; print(sys.prefix, torch.__file__, sep='\\n')"
    told = subprocess.run(
        [root / ".venv" / "bin" / "python", "-I", "-c", ask], capture_output=True, text=True
    )
    prefix, torch = told.stdout.splitlines()
    assert prefix == str(root / ".venv")
    assert torch.startswith(prefix)


def remove_what_tells_it_from_the_base(venv: Path) -> None:
    (venv / "pyvenv.cfg").unlink()
    (venv / environment.STAMP).unlink()


def remove_all_but_links_and_packages(venv: Path) -> None:
    remove_what_tells_it_from_the_base(venv)
    shutil.rmtree(venv / "include")
    for package in venv.glob("lib/python3*/site-packages/t*"):
        shutil.rmtree(package)


def open_it_to_the_base(venv: Path) -> None:
    """Let it see the packages underneath, and count as the user's own."""
    (venv / environment.STAMP).unlink()
    config = venv / "pyvenv.cfg"
    config.write_text(config.read_text().replace("packages = false", "packages = true"))


def empty_its_settings(venv: Path) -> None:
    (venv / environment.STAMP).unlink()
    (venv / "pyvenv.cfg").write_text("")


@pytest.mark.slow
def test_pip_never_runs_in_the_python_underneath(spoilt, base, wheels):
    remove_what_tells_it_from_the_base(spoilt / ".venv")
    before = listing(base)
    done = set_up(base, spoilt, wheels)
    assert listing(base) == before
    assert done.returncode == 0, done.stderr
    assert "moved aside" in done.stdout
    assert_it_works(spoilt)


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil",
    [
        remove_what_tells_it_from_the_base,
        remove_all_but_links_and_packages,
        open_it_to_the_base,
        empty_its_settings,
    ],
)
def test_an_environment_that_is_no_longer_one_is_not_installed_into(spoilt, spoil):
    spoil(spoilt / ".venv")
    assert environment.state_of(spoilt).action == "move aside"
    with pytest.raises(SetupError, match=r"lost its Python or its pyvenv\.cfg"):
        refuse_outside(spoilt)


def remove_settings(venv: Path) -> None:
    (venv / "pyvenv.cfg").unlink()


def remove_part_of_a_package(venv: Path) -> None:
    next(venv.glob("lib/python3*/site-packages/pip/_internal")).rename(venv / "elsewhere")


def remove_programs(venv: Path) -> None:
    for program in (venv / "bin").glob("pip*"):
        program.unlink()
    for program in (venv / "bin").glob("[aA]ctivate*"):
        program.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [remove_settings, remove_part_of_a_package, remove_programs])
def test_a_half_deleted_environment_that_says_ready_is_noticed(spoilt, spoil):
    assert environment.state_of(spoilt).action == "none"
    spoil(spoilt / ".venv")
    assert environment.state_of(spoilt).action == "remake"


@pytest.mark.slow
def test_a_link_is_left_alone_with_all_that_is_behind_it(spoilt, base, wheels):
    elsewhere = spoilt.parent / "elsewhere"
    (spoilt / ".venv").rename(elsewhere)
    (spoilt / ".venv").symlink_to(elsewhere)
    assert environment.state_of(spoilt).action == "none"  # it works
    for spoil in (lambda: (spoilt / "requirements.lock").write_text("torch==2.13.0\n"),
                  lambda: (elsewhere / environment.STAMP).unlink()):  # fmt: skip
        spoil()
        assert environment.state_of(spoilt).action == "move aside"


def test_what_a_running_program_writes_into_the_old_one_does_not_stop_it(tmp_path, monkeypatch):
    real, n_written = Path.mkdir, 0

    def mkdir(path, *more, **options):
        nonlocal n_written
        real(path, *more, **options)
        if ".venv.tmp" in path.name and n_written == 0:  # in the worst moment, once
            n_written += 1
            (tmp_path / ".venv" / "lib" / "__pycache__").mkdir(parents=True)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    environment._begin(tmp_path)
    assert [file.name for file in (tmp_path / ".venv").iterdir()] == [environment.STAMP]


def end_at_random(
    base: Path, root: Path, wheels: Path, chance: random.Random, within_s: float
) -> subprocess.CompletedProcess[str] | None:
    """Start a set-up and kill it, mostly with all that it has started; None if it was killed."""
    with subprocess.Popen(
        [str(base), str(root / "course.py"), "setup"],
        env=offline(wheels), start_new_session=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            out, error = process.communicate(timeout=chance.uniform(0, within_s))
            return subprocess.CompletedProcess([], process.returncode, out, error)
        except subprocess.TimeoutExpired:
            whole_group = chance.random() < 0.8
            (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
    return None


def kill_and_set_up(
    base: Path, root: Path, wheels: Path, kills: int, within_s: float, seed: int
) -> None:
    chance, before = random.Random(seed), listing(base)
    for _ in range(kills):
        done = end_at_random(base, root, wheels, chance, within_s)
        if done is not None and done.returncode == 0:
            assert_it_works(root)
            wound(root / ".venv", chance)
        elif done is not None:
            assert_one_sentence(done, "another course.py")
        assert listing(base) == before
    for _ in range(100):  # an installer that was left may still be at work
        done = set_up(base, root, wheels)
        if "another course.py" not in done.stderr:
            break
        time.sleep(0.2)
    assert done.returncode == 0, done.stderr
    assert_it_works(root)
    assert listing(base) == before
    assert not list(root.glob(".venv.tmp-*"))


def wound(venv: Path, chance: random.Random) -> None:
    """Delete some of it in the way of an interrupted `rm -rf`: folder by folder."""
    doomed = [path for path in sorted(venv.rglob("*")) if not path.is_dir() or path.is_symlink()]
    first = chance.randrange(len(doomed))
    for path in doomed[first : first + chance.choice([1, 10, 400])]:
        path.unlink()


@pytest.mark.slow
def test_kills_at_random_moments_are_made_good_by_the_next_run(tmp_path, base, wheels):
    root = make_checkout(tmp_path / FOLDER)
    kill_and_set_up(base, root, wheels, kills=6, within_s=2.0, seed=13)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(20))
def test_hundreds_of_kills_at_random_moments_are_made_good(tmp_path, base, wheels, seed):
    root = make_checkout(tmp_path / FOLDER)
    kill_and_set_up(base, root, wheels, kills=20, within_s=6.0, seed=seed)
