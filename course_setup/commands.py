"""What `lab`, `test`, `reset`, `setup` and `wheelhouse` do."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
from pathlib import Path
from urllib.parse import quote

from course_setup import wheelhouse, workbook
from course_setup.environment import ensure
from course_setup.interpreter import clean_environ
from course_setup.problems import SetupError
from course_setup.saying import say
from course_setup.targets import targets


def perform(root: str, arguments: argparse.Namespace) -> int:
    """Carry out a command; return the exit status."""
    checkout = Path(root)
    if arguments.command == "lab":
        return lab(checkout, arguments.port, not arguments.no_browser)
    if arguments.command == "test":
        return test(checkout, arguments.pytest_words)
    if arguments.command == "reset":
        say("\n".join(workbook.reset(checkout, arguments.name)))
        return 0
    if arguments.command == "wheelhouse":
        folder = Path(arguments.folder or checkout / wheelhouse.FOLDER).absolute()
        wheelhouse.make(checkout, folder, targets(arguments.platform, arguments.python_version))
        return 0
    named = None if arguments.wheelhouse is None else wheelhouse.named(arguments.wheelhouse)
    say(f"The environment is ready: {ensure(checkout, named)}")
    return 0


def lab(root: Path, port: int | None, open_browser: bool) -> int:
    """Open JupyterLab on the workbook at the first lecture.

    Parameters
    ----------
    root : Path
        The checkout.
    port : int or None
        The port that must be free, or None for the next free one.
    open_browser : bool
        Whether to open a browser; if not, JupyterLab prints the address.

    Returns
    -------
    int
        JupyterLab's exit status.
    """
    if port is not None:
        refuse_taken_port(port)
    python = ensure(root)
    changes = workbook.synchronise(root)
    for sentence in changes.sentences():
        say(sentence)
    environ = lab_environ(root)
    _trust(root, python, environ, changes)
    if is_root():
        say("You are root on this computer, and so will be what you run in the notebooks.")
    say("Opening JupyterLab on your workbook; Ctrl-C here ends it.")
    return hand_over(lab_command(root, python, port, open_browser), root, environ)


def lab_command(root: Path, python: Path, port: int | None, open_browser: bool) -> list[str]:
    """Return JupyterLab's command line: this computer only, its token left on."""
    command = [str(python), "-m", "jupyterlab", f"--ServerApp.root_dir={root / 'workbook'}"]
    command += ["--ServerApp.ip=127.0.0.1", "--Application.log_level=WARN"]
    if port is not None:
        command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if not open_browser:
        command.append("--no-browser")
    if is_root():
        command.append("--ServerApp.allow_root=True")
    lecture = workbook.first_lecture(root)
    if lecture is not None:
        page = lecture.relative_to(root / "workbook").as_posix()
        command.append(f"--LabApp.default_url=/lab/tree/{quote(page)}")
    return command


def is_root() -> bool:
    """Tell whether we run as root, which JupyterLab refuses unless it is told to."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def lab_environ(root: Path) -> dict[str, str]:
    """Return JupyterLab's variables: the course's settings first, this environment's kernel.

    The tabs that JupyterLab opens again are the course's own (its workspaces); what the user has
    chosen, such as a theme, stays where JupyterLab keeps it for everything.
    """
    environ = clean_environ()
    paths = [str(root / "lab_settings"), environ.get("JUPYTER_CONFIG_PATH", "")]
    environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))
    environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    # The threads of torch in a notebook would spin, while its workers need the processors.
    environ.setdefault("OMP_WAIT_POLICY", "passive")
    environ["JUPYTERLAB_WORKSPACES_DIR"] = str(root / "workbook" / ".jupyterlab" / "workspaces")
    return environ


def refuse_taken_port(port: int) -> None:
    """Raise a SetupError unless a server may listen on the port."""
    if not 1 <= port <= 65535:
        raise SetupError(f"--port must be from 1 to 65535, and {port} is not.")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name != "nt":  # there, it would allow a second server on the port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise SetupError(
                f"port {port} cannot be used ({error.strerror}): choose another one, or leave "
                "--port out and the next free one is taken."
            ) from None


def test(root: Path, words: list[str]) -> int:
    """Run all tests; among them every lecture and solution, compared with its outputs.

    Parameters
    ----------
    root : Path
        The checkout.
    words : list of str
        More arguments for pytest; a path among them replaces the whole suite.

    Returns
    -------
    int
        pytest's exit status.
    """
    if not (root / "tests").is_dir():
        raise SetupError(
            "this copy of the course has no tests: it was made for those who take it. The checks "
            "below each exercise are all there."
        )
    python = ensure(root)
    say("Running the tests; more arguments go to pytest.")
    return hand_over(
        [str(python), "-m", "pytest", *pytest_words(root, words)], root, clean_environ()
    )


def pytest_words(root: Path, words: list[str]) -> list[str]:
    """Return pytest's arguments: the whole suite in parallel, or what the user named."""
    named = any((root / word.split("::")[0]).exists() for word in words)
    counted = any(word.startswith(("-n", "--numprocesses")) for word in words)
    if named or counted or (os.cpu_count() or 1) < 2:
        return words
    # Three for two cores: where one waits (for a time limit, a kernel, a reply), another computes.
    # More would compete: many tests start four workers of their own, and each of these collects all
    # tests. Each begins with a third, in order, because the tests of a file share what is slow to
    # make; who is done early takes over from another.
    return ["-n", "3", "--dist", "worksteal", *words]


def _trust(root: Path, python: Path, environ: dict[str, str], changes: workbook.Changes) -> None:
    """Sign the notebooks that were copied just now, so that their outputs show at once."""
    names = [n for n in changes.added + changes.refreshed if n.endswith(".ipynb")]
    if names:
        files = [str(root / "workbook" / name) for name in names]
        command = [str(python), "-m", "jupyter", "trust", *files]
        subprocess.run(command, env=environ, capture_output=True)  # untrusted ones work, too


def hand_over(command: list[str], cwd: Path, environ: dict[str, str]) -> int:
    """Become another program, or where that cannot be (Windows) run it and wait for its end.

    Ctrl-C then belongs to that program: JupyterLab and pytest end in an orderly way.
    """
    os.chdir(cwd)
    if os.name != "nt":
        os.execve(command[0], command, environ)
    process = subprocess.Popen(command, env=environ)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return process.wait()
