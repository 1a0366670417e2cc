"""How worker processes are started: never by ``fork``, and never by running the script again.

``forkserver`` keeps one clean helper process that has NumPy and this package loaded already; a
worker is a copy of it and starts in milliseconds. ``spawn`` starts a new interpreter every time.
"""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import multiprocess
from multiprocess import process, spawn

from course_lib.comm.errors import LaunchError
from course_lib.comm.forks import free_in_copies, in_copies
from course_lib.comm.job import USUAL_METHOD
from course_lib.comm.processes.launcher import fork_server_folder, tracker
from course_lib.comm.processes.launcher.fork_server import answering, forget
from course_lib.comm.processes.memory.shared_memory import is_alive

__all__ = [
    "PROCESS_LOCK",
    "choose_method",
    "context",
    "interrupts_held_back",
    "start_process",
]

PROCESS_LOCK = free_in_copies(threading.Lock())
"""Held while a process is started or its exit code is read: ``multiprocess`` polls the children of
all threads whenever one thread starts another, and two readers of one exit code lose it."""

_PRELOAD = (
    "course_lib.comm.processes.worker.before_loading",  # first: it concerns what is loaded after it
    "numpy",
    "course_lib.comm.processes.worker.tidy",
    "course_lib.comm.processes.worker.worker_main",
    "course_lib.comm.processes.worker.worker",
    "course_lib.schemes",  # with the collectives: a worker that loads them itself takes 50 ms
    "multiprocess.popen_forkserver",  # what each worker asks for when it is born
)
_ALSO = {
    "torch": ("torch", "course_lib.comm.processes.worker.huge_pages"),
    # What autograd asks for when it goes back from a layer's outputs; it takes each worker 0.3 s.
    "course_lib.models.torch_passes": ("torch.fx.experimental.symbolic_shapes",),
    # A lecture's functions stand beside its pictures, whose widgets take each worker 0.2 s.
    "anywidget": ("course_lib.viz.animation.picture",),
    "course_lib.checks": (
        "course_lib.checks.room",
        "course_lib.comm.simulated.launcher",
        "course_lib.checks.noted",  # last: it looks at all that is loaded
    ),
}
"""What workers will probably need as well, once the notebook has loaded the module."""

_FILES_TO_START = 16
_starting = threading.local()
_preloaded: tuple[str, ...] | None = None
_spawn_data = spawn.get_preparation_data
_spawn_command = spawn.get_command_line


@in_copies
def _begin_anew() -> None:
    """Have no workers, and no fork server: those of the program are none of its copy's."""
    global _preloaded
    from multiprocess import forkserver, resource_tracker

    process._children.clear()  # it would be asked how each has ended
    resource_tracker._resource_tracker._lock._at_fork_reinit()
    forkserver._forkserver._lock._at_fork_reinit()
    forget(forkserver._forkserver)
    _preloaded = None


def choose_method(start_method: str | None) -> str:
    """Return how to start processes here, or say why the wish cannot be granted."""
    available = [name for name in multiprocess.get_all_start_methods() if name != "fork"]
    if start_method is None:
        return USUAL_METHOD
    if start_method not in available:
        raise ValueError(f"start_method must be one of {available} here, got {start_method!r}")
    return start_method


def context(method: str, preload: tuple[str, ...] = (), *, nothing_runs: bool) -> Any:
    """Return the ``multiprocess`` context of a start method, its fork server running.

    Parameters
    ----------
    method : {"forkserver", "spawn"}
        The start method.
    preload : tuple of str, default: ()
        Modules that this run's workers need; a fork server loads them once.
    nothing_runs : bool
        Whether no other run is under way, so that the fork server may be replaced by one that has
        torch loaded, or what checks need, once the notebook has loaded it.

    Returns
    -------
    multiprocess context
        With ``Process``, ``Pipe`` and the like.
    """
    _check_room_for_files()
    _check_working_directory()
    with PROCESS_LOCK, interrupts_held_back():
        pass  # the resource tracker runs from now on; where it has to start, it unblocks signals
    if method == "forkserver":
        with PROCESS_LOCK:
            _start_fork_server(preload, nothing_runs)
    elif sys.platform != "win32" and signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        raise LaunchError(
            "this program ignores SIGCHLD, so the system would not say how a worker has ended: "
            "call signal.signal(signal.SIGCHLD, signal.SIG_DFL) before run, or let a fork server "
            'start the workers (start_method="forkserver")'
        )
    return multiprocess.get_context(method)


def _start_fork_server(preload: tuple[str, ...], nothing_runs: bool) -> None:
    from multiprocess import forkserver  # there is none on Windows

    global _preloaded
    also = [name for loaded, names in _ALSO.items() if loaded in sys.modules for name in names]
    wanted = tuple(dict.fromkeys((*_PRELOAD, *also, *preload)))
    if _preloaded is not None and set(wanted) <= set(_preloaded):
        wanted = _preloaded  # one that has loaded more will do: another takes seconds to start
    # It ends when all its children have; those that the notebook has started itself may stay.
    replaceable = nothing_runs and not multiprocess.active_children()
    server = forkserver._forkserver
    if server._forkserver_pid is not None and not is_alive(server._forkserver_pid):
        forget(server)
    # Somebody who tidies up old temporary files may have removed its socket.
    unreachable = server._forkserver_address and not Path(server._forkserver_address).exists()
    if replaceable and (unreachable or _preloaded not in (None, wanted)):
        try:
            with answering():
                server._stop()
        except FileNotFoundError:  # the server removes its socket itself
            pass
        except ChildProcessError:
            forget(server)
        _preloaded = None
    if _preloaded is None:
        forkserver.set_forkserver_preload(list(wanted))
        _preloaded = wanted
    # The server imports what it preloads from its own path, which is not this process's sys.path.
    paths = [path or str(Path.cwd()) for path in sys.path]
    with (
        interrupts_held_back(),
        fork_server_folder.folder_for_sockets() as folder,
        _variable("PYTHONPATH", os.pathsep.join(paths)),
        _variable(fork_server_folder.FOLDER_VARIABLE, str(folder)),
    ):
        forkserver.ensure_running()


def start_process(worker: Any) -> None:
    """Start a ``multiprocess`` process that never imports this program's main script.

    Raises
    ------
    OSError, EOFError, LaunchError
        If the system has no room for it, or the fork server has ended, or does not answer.
    """
    _check_room_for_files()
    with PROCESS_LOCK, interrupts_held_back():
        _starting.without_main = True
        try:
            with answering() if worker._start_method == "forkserver" else _alike_hashes():
                worker.start()
        except (OSError, EOFError, MemoryError, LaunchError) as error:
            cause = error.__cause__ or error
            traceback.clear_frames(cause.__traceback__)  # they hold pipes that were to be used
            raise
        finally:
            _starting.without_main = False


@contextmanager
def _alike_hashes() -> Iterator[None]:
    """Have spawned workers walk a set of names in one order, as copies of one fork server do.

    A worker forgets the variable when it takes on the program's.
    """
    if os.environ.get("PYTHONHASHSEED", "random") not in ("", "random"):
        yield
        return
    with _variable("PYTHONHASHSEED", "0"):
        yield


def _check_room_for_files() -> None:
    """Raise ``OSError`` unless some more files can be opened.

    Where ``multiprocess`` runs out of them half-way, it leaves some open and loses the fork server.
    """
    opened: list[int] = []
    try:
        while len(opened) < _FILES_TO_START:
            opened += os.pipe()
    finally:
        for fd in opened:
            os.close(fd)


def _check_working_directory() -> None:
    """Raise ``LaunchError`` if there is no directory for workers to begin in."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise LaunchError(
            "the working directory of this program has been removed, and workers begin where the "
            "program is: go to a directory that is there, with os.chdir"
        ) from error


def _data_without_main(name: str) -> dict[str, Any]:
    # A worker needs nothing from the script (its function travels by value), and running the
    # script again in every worker would start workers without end.
    vars(sys.modules["__main__"]).setdefault("__spec__", None)  # which %reset of IPython removes
    data: dict[str, Any] = _spawn_data(name)
    if getattr(_starting, "without_main", False):
        data.pop("init_main_from_name", None)
        data.pop("init_main_from_path", None)
    return data


spawn.get_preparation_data = _data_without_main


def _command_of_worker(**options: Any) -> list[str]:
    # What a worker is sent here is plain, and dill takes long to load. It also finds the folder
    # for temporary files by writing one, which would be left by a worker that is killed in this
    # moment. So multiprocess does not find it; who asks for it later does.
    command: list[str] = _spawn_command(**options)
    if getattr(_starting, "without_main", False) and "-c" in command:
        program = command.index("-c") + 1
        command[program] = (
            "import sys; sys.modules['dill'] = None; import multiprocess.spawn; "
            f"del sys.modules['dill']; {command[program]}"
        )
        return tracker.with_safe_path(command)
    return command


spawn.get_command_line = _command_of_worker
tracker.start_without_dill()


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C back while a process is born, so that the newborn inherits it blocked."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows: a worker ignores it when it is ready
        yield
        return
    from multiprocess import resource_tracker

    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        resource_tracker.ensure_running()  # it unblocks the signal when it has to start
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)  # another thread may have removed it
        else:
            os.environ[name] = before
