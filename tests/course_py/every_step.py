"""End a set-up before each of its changes to the disk, and see that the next one makes it good.

Run by test_every_step.py in a process of its own: what it adds to the interpreter (an audit hook)
cannot be taken away again. Making the environment and installing are done here without other
programs, so that they, too, can be ended between any two files.
"""

from __future__ import annotations

import os
import shutil
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from course_setup import environment, interpreter

CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.symlink", "open")
KILLED, DONE = 99, 0


def make_venv_with(base: str, folder: Path, pass_fds: tuple[int, ...]) -> None:
    venv.create(folder, symlinks=True, with_pip=False)


def install(root: Path, environ: dict[str, str], pass_fds: tuple[int, ...]) -> None:
    interpreter.refuse_outside(root)
    packages = environment.site_packages(root)
    for name in ("pip-1.0", "torch-2.13.0", "tinypackage-1.0"):
        (packages / name.split("-")[0]).mkdir(exist_ok=True)
        (packages / name.split("-")[0] / "__init__.py").write_text("")
        (packages / f"{name}.dist-info").mkdir(exist_ok=True)
        (packages / f"{name}.dist-info" / "METADATA").write_text(name)


def version_inside(root: Path) -> tuple[int, int] | None:
    """Answer without starting it."""
    whole = interpreter._has_packages_of_its_own(root / ".venv")
    return sys.version_info[:2] if whole and interpreter.venv_python(root).exists() else None


environment.make_venv_with = make_venv_with
environment.install_packages = install
environment.version_inside = interpreter.version_inside = version_inside
environment.say = lambda text: None


def ended_before(step: int, root: Path) -> int:
    """Set up in a process that ends before its step-th change; return its exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = step

    def count(event: str, arguments: tuple) -> None:
        nonlocal left
        in_it = event in CHANGES and str(root) in str(arguments[0])
        deleting = event in ("os.remove", "os.rmdir") and arguments[1] != -1  # a name in a folder
        if (in_it or deleting) and (event != "open" or set(str(arguments[1])) & set("wax+")):
            left -= 1
            if left == 0:
                os._exit(KILLED)

    try:
        sys.addaudithook(count)
        environment.ensure(root)
    except BaseException as error:
        print(f"step {step}: {error!r}", flush=True)
        os._exit(1)
    os._exit(DONE)


def nothing(root: Path) -> None:
    """Leave the checkout as it came."""


def half_made(root: Path) -> None:
    assert ended_before(20, root) == KILLED


def the_learners_own(root: Path) -> None:
    """Leave an environment that course.py knows nothing of, and work in it."""
    venv.create(root / ".venv", symlinks=True, with_pip=False)
    install(root, {}, ())
    (root / ".venv" / "mine.txt").write_text("mine")


def half_deleted(root: Path) -> None:
    assert ended_before(0, root) == DONE
    for name in (environment.STAMP, "pyvenv.cfg"):
        (root / ".venv" / name).unlink()


def incomplete(root: Path) -> None:
    assert ended_before(0, root) == DONE
    shutil.rmtree(environment.site_packages(root) / "torch")


def another_lock(root: Path) -> None:
    assert ended_before(0, root) == DONE
    (root / "requirements.lock").write_text("torch==2.13.0\n")


def try_every_step(folder: Path, make_checkout: Callable, begin: Callable) -> int:
    """End set-ups that begin alike before step 1, 2, …; return how many there were."""
    for step in range(1, 1000):
        root = make_checkout(folder / f"{begin.__name__} {step}")
        begin(root)
        status = ended_before(step, root)
        again = ended_before(0, root)
        assert (status, again) in ((KILLED, DONE), (DONE, DONE)), (begin, step, status, again)
        assert environment.state_of(root).action == "none", (begin, step)
        assert not list(root.glob(".venv.tmp-*")), (begin, step)
        if begin is the_learners_own:
            assert list(root.glob(".venv*/mine.txt")), (begin, step)
        shutil.rmtree(root)
        if status == DONE:
            return step - 1
    raise AssertionError("it never ended")


if __name__ == "__main__":
    from tests.course_py.checkout import make_checkout

    begin = globals()[sys.argv[2]]
    print(try_every_step(Path(sys.argv[1]), make_checkout, begin))
