"""What the doctor looks at. Each examination yields its findings and changes nothing."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.doctor.packages import AGAIN, CHECKOUT, installed_version
from course_lib.doctor.report import Finding
from course_lib.words.units import in_bytes

if TYPE_CHECKING:
    from course_lib.comm.communicator import Communicator


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Iterator[Finding]:
    """Look at the version of Python."""
    found = f"{'.'.join(map(str, version))}, {platform.system()} {platform.machine()}"
    if (3, 11) <= version[:2] <= (3, 14):
        yield Finding("Python", "ok", found)
    else:
        yield Finding(
            "Python", "problem", found, "install Python 3.11 to 3.14, delete .venv, " + AGAIN
        )


def cores(count: int | None = None) -> Iterator[Finding]:
    """Look how many cores this process may use."""
    if count is None:
        has_affinity = hasattr(os, "sched_getaffinity")
        count = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    if count >= 2:
        yield Finding("cores", "ok", f"{count} for this process")
    else:
        found = "1: workers take turns, so that nothing gets faster with more of them"
        yield Finding("cores", "warning", found, "give the machine or container two cores or more")


def memory(wanted_bytes: int = 2 * 10**9) -> Iterator[Finding]:
    """Look how much memory is available, in a container too."""
    import psutil

    free, total = psutil.virtual_memory().available, psutil.virtual_memory().total
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdecimal():
        total = min(total, int(text))
        used = int((limit.parent / "memory.current").read_text())
        free = min(free, max(0, int(text) - used))
    found = f"{in_bytes(free)} available of {in_bytes(total)}"
    if free >= wanted_bytes:
        yield Finding("memory", "ok", found)
    else:
        fix = f"close other programs: four workers with torch want {in_bytes(wanted_bytes)}"
        yield Finding("memory", "warning", found, fix)


def shared_memory(
    folder: Path = Path("/dev/shm"),
    system: str = sys.platform,
    wanted_bytes: int = 512 * 10**6,
    without_name: bool = hasattr(os, "memfd_create"),
) -> Iterator[Finding]:
    """Look how much the workers can share; memory without a name is none of the folder's."""
    topic = "shared memory"
    if system != "linux" or without_name:
        yield Finding(topic, "ok", "taken from ordinary memory on this system, no limit of its own")
        return
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        fix = "mount it: `mount -t tmpfs tmpfs /dev/shm`, in a container `--shm-size=1g`"
        yield Finding(topic, "problem", f"{folder} is missing or may not be written", fix)
        return
    usage = shutil.disk_usage(folder)
    found = f"{in_bytes(usage.free)} free of {in_bytes(usage.total)} in {folder}"
    if usage.free >= wanted_bytes:
        yield Finding(topic, "ok", found)
    else:
        fix = "end programs that fill it; in a container, start it with `--shm-size=1g`"
        yield Finding(topic, "warning", f"{found}: large arrays will not fit", fix)


def disk(folder: Path = CHECKOUT, wanted_bytes: int = 10**9) -> Iterator[Finding]:
    """Look how much room the disk has."""
    free = shutil.disk_usage(folder).free
    if free >= wanted_bytes:
        yield Finding("disk", "ok", f"{in_bytes(free)} free")
    else:
        yield Finding("disk", "warning", f"only {in_bytes(free)} free", "make room")


def start_methods() -> Iterator[Finding]:
    """Ask how worker processes can be started."""
    ask = "import multiprocess; print(*multiprocess.get_all_start_methods())"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60)
    methods = answer.stdout.split()
    wanted = "forkserver" if sys.platform == "linux" else "spawn"
    if wanted in methods:
        yield Finding("start methods", "ok", f"{', '.join(methods)}; used here: {wanted}")
    else:
        words = (answer.stderr.strip().splitlines() or ["none"])[-1]
        yield Finding("start methods", "problem", f"no {wanted}: {words}", AGAIN)


def workers() -> Iterator[Finding]:
    """Start two real workers and have a message sent between them."""
    try:
        from course_lib import run
    except ImportError as error:
        yield Finding("workers", "problem", f"course_lib.run cannot be imported: {error}", AGAIN)
        return
    started = time.perf_counter()
    try:
        values = list(run(_send_my_rank, workers=2, backend="processes").values)
    except Exception as error:  # whatever it is, the reader should see it
        words = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        fix = "look at the problems above; if there is none, report this with the whole report"
        yield Finding("workers", "problem", words, fix)
        return
    seconds = time.perf_counter() - started
    if values == [1, 0]:
        yield Finding("workers", "ok", f"2 real workers exchanged a message, {seconds:.1f} s")
    else:
        yield Finding("workers", "problem", f"2 workers returned {values} for [1, 0]", AGAIN)


def _send_my_rank(comm: Communicator) -> int:
    """Exchange ranks with the other of two workers; return what came."""
    import numpy as np

    other = 1 - comm.rank
    return int(comm.sendrecv(np.array([comm.rank]), dst=other, src=other)[0])


def gpu(program: str = "nvidia-smi") -> Iterator[Finding]:
    """Look for NVIDIA GPUs, and whether torch is a build that can use them."""
    ask = [program, "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(ask, capture_output=True, text=True, timeout=30)
        names = answer.stdout.strip().splitlines() if answer.returncode == 0 else []
    except (OSError, subprocess.TimeoutExpired):
        names = []
    if not names:
        yield Finding("GPU", "ok", "none found, none needed")
    elif (installed_version("torch") or "").endswith("+cpu"):
        fix = "only for lectures that use it: delete .venv and " + AGAIN
        yield Finding("GPU", "warning", f"{', '.join(names)}, but torch is the CPU build", fix)
    else:
        yield Finding("GPU", "ok", ", ".join(names))


def chromium(search_path: str | None = None) -> Iterator[Finding]:
    """Look for the browser that the tests of animations use."""
    programs = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
    found = next(filter(None, (shutil.which(name, path=search_path) for name in programs)), None)
    if found:
        yield Finding("Chromium", "ok", found)
    else:
        fix = "only for the browser tests: install it (`sudo apt install chromium`)"
        yield Finding("Chromium", "warning", "not found: the browser tests skip", fix)


def jupyter_servers() -> Iterator[Finding]:
    """Look whether running Jupyter servers are closed to others."""
    import psutil
    from jupyter_core.paths import jupyter_runtime_dir

    open_ones, closed = [], 0
    for file in Path(jupyter_runtime_dir()).glob("jpserver-*.json"):
        try:
            server = json.loads(file.read_text(encoding="utf-8"))
            is_running = psutil.pid_exists(int(server["pid"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # ended meanwhile, or not a server's file
        if not is_running:
            continue
        has_lock = bool(server.get("token") or server.get("password"))
        is_local = server.get("hostname") in ("localhost", "127.0.0.1", "::1")
        if has_lock and is_local:
            closed += 1
        else:
            lack = "asks for no token" if not has_lock else "listens beyond this computer"
            open_ones.append(f"the server at port {server.get('port')} {lack}")
    if open_ones:
        fix = "end it, and start the course with `python course.py lab`: who reaches it is you"
        yield Finding("JupyterLab", "warning", "; ".join(open_ones), fix)
    else:
        yield Finding("JupyterLab", "ok", f"{closed} running, all for this computer with a token")
