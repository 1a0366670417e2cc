"""Install the locked packages with uv or pip, from where the user's settings say."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from course_setup.interpreter import refuse_outside, venv_python
from course_setup.problems import SetupError, explain_installer
from course_setup.progress import Progress
from course_setup.saying import say

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# pip settings that do not say where packages come from; any other one means "configured".
HARMLESS = {
    "break-system-packages", "cache-dir", "config-file", "disable-pip-version-check",
    "no-cache-dir", "no-color", "no-input", "progress-bar", "quiet", "require-virtualenv",
    "root-user-action", "user", "verbose", "yes",
}  # fmt: skip
# pip settings with which it installs somewhere else, or nothing.
_ELSEWHERE = {"dry-run", "prefix", "python", "root", "target"}
_UV_SETTINGS = (
    "UV_CONFIG_FILE", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INDEX",
    "UV_INDEX_URL", "UV_NO_INDEX", "UV_OFFLINE", "UV_TORCH_BACKEND",
)  # fmt: skip

_UV_SOURCES = {
    "extra-index-url", "find-links", "index", "index-url", "no-index", "offline", "torch-backend",
}  # fmt: skip


def install_packages(root: Path, environ: dict[str, str], pass_fds: tuple[int, ...] = ()) -> None:
    """Install torch, then everything else in requirements.lock, and show how far it is.

    Parameters
    ----------
    root : Path
        The checkout, which holds requirements.lock, and the environment to install into.
    environ : dict of str to str
        Variables for the installer.
    pass_fds : tuple of int
        File descriptors that the installer inherits.

    Raises
    ------
    SetupError
        If the installer fails, or would install into another Python, with the reason in one
        sentence.

    Notes
    -----
    Where pip is configured (PIP_* variables, a configuration file), pip is used as it is, and no
    index is named. Otherwise uv is used if it is there, and on Linux without an NVIDIA GPU torch
    alone is taken from PyTorch's index of CPU builds, which saves gigabytes of CUDA.
    """
    lock, python = root / "requirements.lock", venv_python(root)
    refuse_outside(root)
    settings = pip_settings(python, environ, pass_fds)
    refuse_elsewhere(settings)
    configured = not settings <= HARMLESS
    uv = None if configured else shutil.which("uv")
    if uv:
        install = [uv, "pip", "install", "--python", str(python)]
        configured = uv_is_configured(environ)
        refuse_uv_elsewhere(uv_files(environ))
    else:
        install = [str(python), "-I", "-m", "pip", "install", "--no-input"]
        install += ["--disable-pip-version-check", "--no-warn-script-location"]
        # Python compiles what is used as it is imported. All 13,000 files take as long as the rest.
        install += ["--require-virtualenv", "--no-compile"]
    wants_cpu_build = not configured and sys.platform == "linux" and not has_nvidia_gpu()
    torch = torch_words(lock, wants_cpu_build)
    started = time.monotonic()
    total = len(re.findall(r"^[\w.-]+==", lock.read_text(encoding="utf-8"), re.MULTILINE))
    for words, what, n in ((torch, "PyTorch", 0), (["-r", str(lock)], "the other packages", total)):
        refuse_outside(root)  # another program may have changed .venv since
        run_shown([*install, *words], environ, what, pass_fds, n)
    say(f"Installed in {time.monotonic() - started:.0f} s.")


def pip_settings(python: Path, environ: dict[str, str], pass_fds: tuple[int, ...] = ()) -> set[str]:
    """Return what the user has told pip, in PIP_* variables and configuration files.

    Parameters
    ----------
    python : Path
        A Python that has pip.
    environ : dict of str to str
        The variables pip would see.
    pass_fds : tuple of int
        File descriptors that pip inherits: it writes its bytecode when it starts.

    Returns
    -------
    set of str
        The names of the options that are set.
    """
    listed = subprocess.run(
        [str(python), "-I", "-m", "pip", "config", "list"],
        env=environ,
        capture_output=True,
        text=True,
        errors="replace",
        pass_fds=pass_fds,
    )
    names = {line.split("=", 1)[0].rsplit(".", 1)[-1] for line in listed.stdout.splitlines()}
    return names - {""}


def refuse_elsewhere(settings: set[str]) -> None:
    """Raise a SetupError if pip's settings keep packages out of the environment."""
    if settings & _ELSEWHERE:
        names = ", ".join(sorted(settings & _ELSEWHERE))
        raise SetupError(
            f"pip is set to install nothing, or elsewhere ({names}): take that out of its settings "
            "(`pip config list` says where they are), then run this again."
        )


def uv_is_configured(environ: dict[str, str]) -> bool:
    """Tell whether the user has told uv where packages come from."""
    if any(name in environ for name in _UV_SETTINGS):
        return True
    told = map(_uv_settings, uv_files(environ))
    return any(_UV_SOURCES & {*settings, *settings.get("pip", {})} for settings in told)


def uv_files(environ: dict[str, str]) -> list[Path]:
    """List the files in which uv finds the user's settings."""
    own = os.path.expanduser("~/.config")  # noqa: PTH111 - pathlib's fails for who has no home
    homes = [Path("/etc"), Path(environ.get("XDG_CONFIG_HOME") or own)]
    homes += [Path(environ[name]) for name in ("APPDATA", "PROGRAMDATA") if name in environ]
    if sys.platform != "win32":
        homes += map(Path, (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":"))
    files = [home / "uv" / "uv.toml" for home in homes]
    around = (Path.cwd(), *Path.cwd().parents)
    files += [folder / "uv.toml" for folder in around]
    projects = [folder / "pyproject.toml" for folder in around]
    if environ.get("UV_CONFIG_FILE"):
        files, projects = [Path(environ["UV_CONFIG_FILE"])], []  # which stands in for all others
    found = [file for file in files if file.is_file()]
    return [*found, *(file for file in projects if file.is_file() and _uv_settings(file))]


def _uv_settings(file: Path) -> dict[str, Any]:
    """Read what a file tells uv: all of a ``uv.toml``, a table of a ``pyproject.toml``."""
    import tomllib  # not in a Python that is too old, which is told before

    try:
        settings: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # uv says so itself
    if file.name == "pyproject.toml":
        settings = settings.get("tool", {}).get("uv", {})
    return settings


def refuse_uv_elsewhere(files: list[Path]) -> None:
    """Raise a SetupError if uv's settings send packages out of the environment."""
    for file in files:
        elsewhere = sorted({"prefix", "target"} & set(_uv_settings(file).get("pip", {})))
        if elsewhere:
            table = "tool.uv.pip" if file.name == "pyproject.toml" else "pip"
            raise SetupError(
                f"uv is set to install elsewhere ({', '.join(elsewhere)}, under [{table}] in "
                f"{file}): take that out of its settings, then run this again."
            )


def has_nvidia_gpu() -> bool:
    """Tell whether this Linux has an NVIDIA driver."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def torch_words(lock: Path, wants_cpu_build: bool) -> list[str]:
    """Return the installer's arguments for torch, and what it needs, in the lock's versions."""
    found = re.search(r"^torch==[\w.]+", lock.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SetupError(f"{lock} has no line for torch: get the file back with git.")
    cpu_build = ["--no-deps", "--index-url", CPU_INDEX]
    return [found.group(), *(cpu_build if wants_cpu_build else ["-c", str(lock)])]


def run_shown(
    command: list[str],
    environ: dict[str, str],
    what: str,
    pass_fds: tuple[int, ...],
    total: int = 0,
) -> None:
    """Run an installer; show how far it is, and explain a failure by its last words."""
    process = subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        pass_fds=pass_fds,
    )
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read_into, args=(process, lines), daemon=True).start()
    try:
        last_words = _show(lines, what, total)
        status = process.wait()
    except BaseException:
        _end(process)
        raise
    if status < 0:
        raise SetupError(
            f"the installer was ended by signal {-status}, perhaps for lack of memory: close other "
            "programs, then run this again."
        )
    if status:
        raise SetupError(explain_installer(last_words))


def _read_into(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line.strip())
    lines.put(None)


def _show(lines: queue.Queue[str | None], what: str, total: int) -> list[str]:
    """Show what the installer does until it ends; return the last lines it printed."""
    last_words: deque[str] = deque(maxlen=40)
    progress = Progress(what, total)
    try:
        while True:
            with contextlib.suppress(queue.Empty):
                line = lines.get(timeout=1.0)
                if line is None:
                    return list(last_words)
                if line:
                    last_words.append(line)
                    progress.hear(line)
            progress.tick()
    finally:
        progress.end()


def _end(process: subprocess.Popen[str]) -> None:
    """End an installer that is no longer wanted; at Ctrl-C it takes its own files away."""
    if os.name != "nt":
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
