"""``run``: the only way to start workers."""

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from course_lib.comm.calls import counted
from course_lib.comm.errors import LaunchError, NestedLaunchError, told_briefly
from course_lib.comm.forks import in_copies
from course_lib.comm.interrupts import Interrupts, WatchedCall
from course_lib.comm.job import USUAL_WORKERS, Job, check_job
from course_lib.comm.limits import MemoryReserve, refusals_told
from course_lib.comm.result import Result, is_worker, runs_ranks
from course_lib.comm.started import torchrun_size

if TYPE_CHECKING:
    from course_lib.comm.simulated.faults import Faults
    from course_lib.comm.simulated.network import Network

__all__ = ["Result", "run"]


def run(
    fn: Callable[..., Any],
    *args: Any,
    workers: int = USUAL_WORKERS,
    backend: str = "processes",
    network: "Network | None" = None,
    rendezvous: bool = False,
    trace: bool = True,
    time_limit_s: float = 60.0,
    seed: int = 0,
    start_method: str | None = None,
    max_workers: int | None = None,
    faults: "Faults | None" = None,
    max_events: int | None = None,
    survive: bool = False,
    restart: int = 0,
) -> Result:
    """Call ``fn(comm, *args)`` on many workers at once and wait until all of them are gone.

    The first failure ends the others and is raised, with the rank, the cell's line and the worker's
    traceback; with ``survive=True`` the others go on. Every rank works on its own copy of the
    arguments.

    Parameters
    ----------
    fn : callable
        The worker's function; its first argument is the rank's ``course_lib.Communicator``. It may
        be defined in a notebook cell.
    *args
        Further arguments, the same for every rank.
    workers : int, default: 4
        How many ranks: 1 to 64 processes (61 on Windows), 1 to 10,000 simulated. Under torchrun
        and mpiexec leave it out: they are all that those have started.
    backend : {"processes", "simulated", "torch", "mpi"}, default: "processes"
        Real processes on this computer, or the simulator in virtual time, or real processes that
        talk through ``torch.distributed``: on this computer, or, under ``torchrun``, on all that
        it runs on. There each rank is a program that calls ``run``; rank 0 gets the whole result,
        another its own value (None for the others) and its own events. ``"mpi"`` is the same under
        ``mpiexec``, by MPI, and needs mpi4py.
    network : Network or None, default: None
        The simulator's network, ``networks.ethernet_10g`` for one; only for ``"simulated"``.
    rendezvous : bool, default: False
        Make every ``send`` of at least one byte wait for its receive, so that a hidden deadlock
        shows.
    trace : bool, default: True
        Whether to record what happens.
    time_limit_s : float, default: 60.0
        Wall seconds after which the run is ended and reported. On real processes they count from
        when all have loaded the function and its arguments, for which they have as long again, and
        at least ten seconds. What ranks of real processes have returned is loaded after the run, in
        this program: Ctrl-C ends what does not end there.
    seed : int, default: 0
        For each rank's ``comm.rng``, and for the global generators of ``random`` and NumPy, which
        begin alike on every rank unless it seeds them. Under torchrun and mpiexec rank 0's holds,
        and its ``trace`` and ``rendezvous``.
    start_method : {None, "forkserver", "spawn"}, default: None
        How processes are started; None takes forkserver where there is one, else spawn.
    max_workers : int or None, default: None
        How many processes are allowed, if it is to be other than 64; not on Windows. Each takes
        10 MB of memory or more (25 MB with spawn, 160 MB with spawn and torch), and every pair of
        them a ring of 20 KiB.
    faults : Faults or None, default: None
        What goes wrong, and when; see ``from course_lib import faults``. Only for ``"simulated"``.
    max_events : int or None, default: None
        How many events a simulated run may have, if it is to be other than ten million.
    survive : bool, default: False
        Whether the others go on when a rank is lost, as ``Notes`` say. Not for ``"torch"``, nor
        for ``"mpi"``.
    restart : int, default: 0
        How often, at most 100 times, each rank is started again when it is lost. A simulated
        ``Crash`` may say itself when that is (``restart_at_s``), and then needs no ``restart``.

    Returns
    -------
    Result
        ``values`` by rank, ``trace`` and ``elapsed_s``.

    Raises
    ------
    TypeError, ValueError
        If an argument is unusable; nothing has been started then.
    RunError
        If the run failed; see ``course_lib.comm.errors`` for its kinds.

    Notes
    -----
    With ``survive=True`` a rank is **lost** whose process ends before it has reported a result (it
    is killed, it crashes, it leaves), and one whose function raises. ``values[rank]`` is then
    ``Lost(reason)``, and the trace has the moment. A deadlock, a time limit and a rank that is
    stopped end the run as ever; so does the loss of all ranks, with the first of these failures.

    Who needs a lost rank gets ``RankLost``, with its ``rank``, within a second, and may catch it:

    - ``send``, ``recv``, ``sendrecv`` and what ``isend`` and ``irecv`` have begun, where they name
      it, also if it is lost in the middle. ``recv_any`` passes over it, and raises when no rank is
      left that could send.
    - ``barrier``, ``split``, ``shared_array``, ``start`` and all collectives of a communicator that
      holds it, from then on for ever. A rank that needs nothing more when another is lost may still
      return from the one that was under way.
    - ``wait()`` for what ``start`` has begun, if that did not catch it.

    What it had sent and nobody had received by then is dropped, and so is what others of its
    communicators had sent in collectives that could not be ended.

    A rank that is **started again** calls the function anew, with the arguments of the first time,
    nothing of its memory, and a ``comm.incarnation`` that is one more. It and the others send and
    receive on the communicator that ``run`` hands out. There each of the others is told of the loss
    once: by ``RankLost`` in its first verb that names the rank (or in one that is under way), or by
    ``recv_any``, if a message of the new incarnation comes first. From then on it talks to the new
    incarnation, and waits for it. If none will come, every verb that names the rank raises. On
    other communicators, and in what all enter together, a rank that was lost remains so.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def pass_on(comm):
    ...     if comm.rank == 0:
    ...         comm.send(np.arange(3), dst=1)
    ...         return 0
    ...     return int(comm.recv(src=0).sum())
    >>> run(pass_on, workers=2, backend="simulated").values
    [0, 3]
    """
    with told_briefly():
        _refuse_nested()
        with counted(fn, backend):
            job = check_job(
                fn, args, workers=workers, backend=backend, rendezvous=rendezvous, trace=trace,
                time_limit_s=time_limit_s, seed=seed, max_workers=max_workers,
                start_method=start_method, network=network, faults=faults, max_events=max_events,
                survive=survive, restart=restart,
            )  # fmt: skip
            _refuse_at_the_end()
            load = partial(_launcher, job, backend, start_method, network, faults, max_events)
            _here.launch = WatchedCall(partial(_launch, load))
            result: Result = _here.launch()
            return result


_here = threading.local()


@in_copies
def _begin_anew() -> None:
    _here.launch = None


def _refuse_nested() -> None:
    if runs_ranks() or is_worker():
        raise NestedLaunchError(
            "run was called inside a worker; workers cannot start workers: "
            "call run once, outside, with as many workers as are needed"
        )
    launch: WatchedCall[Result] | None = getattr(_here, "launch", None)
    if launch is not None and launch.is_under_way:
        raise NestedLaunchError(
            "run was called while another run of the same thread is under way, by what has "
            "interrupted that one: a signal handler, a destructor, or what packs or loads an "
            "object; call run when that run has returned, or in a thread of its own"
        )


def _refuse_at_the_end() -> None:
    main = threading.main_thread()
    if threading.current_thread() is main and not main.is_alive():
        raise LaunchError(
            "run was called when the program was ending, by a function given to atexit or by a "
            "destructor; Python starts no more threads and processes then: call run before the "
            "end of the script"
        )


def _launch(load: Callable[[], Callable[[], Result]]) -> Result:
    """Load a world and run there; whatever a signal handler of the program raises comes out."""
    error: BaseException | None = None
    with Interrupts() as interrupts:
        try:
            with MemoryReserve():
                with refusals_told():  # not interrupted: half a module may be of no use later
                    launch = load()
                result = interrupts.call(launch)
        except BaseException as raised:
            error = raised
    error = interrupts.outcome(error, "it was being prepared")
    try:
        if error is not None:
            raise error
        return result
    finally:
        del error  # else it and this frame would hold each other


def _launcher(
    job: Job,
    backend: str,
    start_method: str | None,
    network: "Network | None",
    faults: "Faults | None",
    max_events: int | None,
) -> Callable[[], Result]:
    """Load a world; return what runs the job there."""
    if backend == "simulated":
        from course_lib.comm.simulated import launcher as simulated

        return partial(simulated.launch, job, network, faults, max_events)
    if backend == "mpi":
        from course_lib.comm.mpi_backend.start import started_by_mpiexec
        from course_lib.comm.torch_backend import torchrun

        here = started_by_mpiexec()
        here.meet(job.time_limit_s)
        return partial(torchrun.take_part, job, here)
    from course_lib.comm.processes.launcher import launcher as processes

    if backend == "processes":
        kind = processes.SurvivingMemory if job.settings.survive else processes.SharedMemory
        return partial(processes.launch, job, start_method, kind())
    if torchrun_size() is not None:
        from course_lib.comm.torch_backend import torchrun

        return partial(torchrun.take_part, job)
    from course_lib.comm.torch_backend.transport import Distributed

    return partial(processes.launch, job, start_method, Distributed())
