# ruff: noqa: NPY002 - the global generator is what this is about
"""What Python and torch keep for a thread or a process: each rank's own, and the caller's after."""

import _thread
import asyncio
import contextlib
import gc
import io
import locale
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from operator import eq

import cloudpickle
import numpy as np
import pytest
import torch
import torch.nn.attention
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib import run
from course_lib.collectives.allreduce_ring import allreduce_ring
from course_lib.comm.ambient import generators
from course_lib.comm.ambient.surroundings import surroundings
from course_lib.comm.errors import DeadlockError, LaunchTimeout, SimulationError, WorkerError

HOOKS = torch.autograd.graph.saved_tensors_hooks


class Doubled(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.ones else result


class Passing(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        return False  # to load what that needs takes seconds

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Idle(asyncio.AbstractEventLoop):
    pass


class Never(io.StringIO):
    pass


def gradient():
    x = torch.full((2,), 2.0, requires_grad=True)
    y = (x * x).sum()
    if y.requires_grad and y.device.type == "cpu":
        y.backward()
    return None if x.grad is None else x.grad.tolist()


def product():
    return torch.ones(2, 2).mm(torch.ones(2, 2)).dtype


def is_transformed():
    return torch._C._functorch.maybe_current_level()


def loop():
    return asyncio._get_running_loop()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.fixture(autouse=True, scope="module")
def precisions_of_cudnn_are_said():
    """Have them said: what they are before anybody says it cannot be had again, not from torch."""
    for what in ("conv", "rnn"):
        torch._C._set_fp32_precision_setter("cuda", what, "tf32")


def two_ways():
    torch.set_float32_matmul_precision("medium")
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    torch.backends.mkldnn.fp32_precision = "bf16"


def precisions():
    """Say of each place how exactly torch multiplies, and the older words, if it has any."""
    where, inner = torch.backends, torch._C
    now = [where.fp32_precision, where.cuda.matmul.fp32_precision, where.mkldnn.fp32_precision]
    now += [where.cudnn.fp32_precision, where.cudnn.conv.fp32_precision]
    for old in (inner._get_float32_matmul_precision, inner._get_cudnn_allow_tf32):
        try:
            now.append(old())
        except RuntimeError:
            now.append("mixed")
    return now


def stack_size():
    size = threading.stack_size()
    threading.stack_size(size)  # to ask for it sets it to 0
    return size


def trace_nothing(*_):
    return None


def name_of(function):
    return getattr(function, "__name__", None)


def lead_nowhere():
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def change_language():
    locale.setlocale(
        locale.LC_CTYPE, "C" if locale.setlocale(locale.LC_CTYPE) != "C" else "C.UTF-8"
    )


def current_loop():
    policy = asyncio.events._event_loop_policy
    return None if policy is None else policy._local._loop


def doubled(module, args, output):
    return 2 * output


def note_step(optimizer, args, kwargs):
    noted_steps.append(1)


noted_steps = []


def steps_noted():
    noted_steps.clear()
    w = torch.nn.Parameter(torch.ones(1))
    w.grad = torch.ones(1)
    torch.optim.SGD([w], lr=0.1).step()
    return len(noted_steps)


def forward():
    return torch.nn.Identity()(torch.ones(1)).item()


def backward():
    x = torch.ones(1, requires_grad=True)
    torch.nn.Identity()(x).backward()
    return None if x.grad is None else x.grad.item()


def other_engine():
    engines, now = torch.backends.quantized.supported_engines, torch.backends.quantized.engine
    return next(each for each in engines if each != now)


def enter(block):
    ENTERED.append(block)
    block.__enter__()


ENTERED = []


# By what the list says is kept: how to change it, and how to see that.
CHANGES = {
    "redirected output": (lambda: setattr(sys, "stdout", Never()), lambda: id(sys.stdout)),
    "redirected errors": (lambda: setattr(sys, "stderr", Never()), lambda: id(sys.stderr)),
    "filters of warnings": (
        lambda: warnings.filterwarnings("ignore", "a rank's own"), lambda: list(warnings.filters)
    ),
    "variables of the environment": (
        lambda: os.environ.__setitem__("LOCAL_RANK", "0"), lambda: os.environ.get("LOCAL_RANK")
    ),
    "the global generator of random": (lambda: random.gauss(0, 1), lambda: random.getstate()),
    "the global generator of numpy.random": (
        lambda: np.random.randn(), lambda: str(np.random.get_state())
    ),
    "what is done with an exception that nobody catches": (
        lambda: setattr(sys, "excepthook", None), lambda: sys.excepthook is None
    ),
    "what is done with an exception that cannot be raised": (
        lambda: setattr(sys, "unraisablehook", None), lambda: id(sys.unraisablehook)
    ),
    "how a result is shown": (
        lambda: setattr(sys, "displayhook", None), lambda: sys.displayhook is None
    ),
    "who traces": (lambda: sys.settrace(trace_nothing), sys.gettrace),
    "who profiles": (lambda: sys.setprofile(trace_nothing), sys.getprofile),
    "how threads are started": (
        lambda: setattr(threading.Thread, "start", id), lambda: threading.Thread.start is id
    ),
    "who hears of asynchronous generators": (
        lambda: sys.set_asyncgen_hooks(finalizer=trace_nothing),
        lambda: id(sys.get_asyncgen_hooks()[1]),
    ),
    "how far back coroutines know their origin": (
        lambda: sys.set_coroutine_origin_tracking_depth(3), sys.get_coroutine_origin_tracking_depth
    ),
    "how long a number may be as a text": (
        lambda: sys.set_int_max_str_digits(5_000), sys.get_int_max_str_digits
    ),
    "how large stacks of threads are": (
        lambda: threading.stack_size(2**20), stack_size
    ),
    "what the thread is called": (
        lambda: setattr(threading.current_thread(), "name", "a rank's own"),
        lambda: threading.current_thread().name,
    ),
    "where output and errors lead": (lead_nowhere, lambda: os.fstat(1).st_ino),
    "the language of texts": (change_language, lambda: locale.setlocale(locale.LC_ALL)),
    "the working directory": (lambda: os.chdir("/"), os.getcwd),
    "redirected input": (lambda: setattr(sys, "stdin", Never()), lambda: id(sys.stdin)),
    "what is done with an exception of a thread": (
        lambda: setattr(threading, "excepthook", print), lambda: threading.excepthook is print
    ),
    "what breakpoint() does": (
        lambda: setattr(sys, "breakpointhook", print), lambda: sys.breakpointhook is print
    ),
    "how many lines a traceback has": (
        lambda: setattr(sys, "tracebacklimit", 3), lambda: getattr(sys, "tracebacklimit", None)
    ),
    "whether modules are compiled into files": (
        lambda: setattr(sys, "dont_write_bytecode", not sys.dont_write_bytecode),
        lambda: sys.dont_write_bytecode,
    ),
    "arguments of the program": (lambda: sys.argv.append("a rank's own"), lambda: list(sys.argv)),
    "how loggers are set": (
        lambda: logging.getLogger().addHandler(logging.NullHandler()),
        lambda: len(logging.getLogger().handlers),
    ),
    "how long sockets wait": (lambda: socket.setdefaulttimeout(3), socket.getdefaulttimeout),
    "the current event loop": (
        lambda: asyncio.set_event_loop(Idle()), lambda: type(current_loop()).__name__
    ),
    "whether the smallest numbers are zero": (
        lambda: torch.set_flush_denormal(True), lambda: (torch.full((1,), 1e-39) * 0.5).item()
    ),
    "hooks of all modules": (
        lambda: torch.nn.modules.module.register_module_forward_hook(doubled), forward
    ),
    "hooks of all optimizers": (
        lambda: register_optimizer_step_post_hook(note_step), steps_noted
    ),
    "who hears of collections": (
        lambda: gc.callbacks.append(trace_nothing), lambda: list(map(name_of, gc.callbacks))
    ),
    "what is told of garbage": (lambda: gc.set_debug(gc.DEBUG_SAVEALL), gc.get_debug),
    "who traces new threads": (
        lambda: threading.settrace(trace_nothing), lambda: name_of(threading.gettrace())
    ),
    "who profiles new threads": (
        lambda: threading.setprofile(trace_nothing), lambda: name_of(threading.getprofile())
    ),
    "letters that the output does not know": (
        lambda: sys.stdout.reconfigure(errors="ignore"), lambda: sys.stdout.errors
    ),
    "where modules are found": (lambda: sys.path.append("a rank's own"), lambda: list(sys.path)),
    "whether garbage is collected": (gc.disable, gc.isenabled),
    "when garbage is collected": (lambda: gc.set_threshold(12_345), gc.get_threshold),
    "how deep calls may go": (lambda: sys.setrecursionlimit(5_432), sys.getrecursionlimit),
    "how often threads switch": (lambda: sys.setswitchinterval(0.5), sys.getswitchinterval),
    "who may read new files": (lambda: os.umask(0o277), umask),
    "what signals do": (
        lambda: signal.signal(signal.SIGTERM, print), lambda: signal.getsignal(signal.SIGTERM)
    ),
    "inference mode": (
        lambda: enter(torch.inference_mode()), lambda: (gradient(), torch.is_grad_enabled())
    ),
    "whether gradients are recorded": (lambda: torch.set_grad_enabled(False), gradient),
    "autocast": (lambda: torch.autocast("cpu", torch.bfloat16).__enter__(), product),
    "function modes and the default device": (
        lambda: torch.set_default_device("meta"),
        lambda: (torch.ones(1).device, torch.get_default_device()),
    ),
    "dispatch modes": (
        lambda: Passing().__enter__(), lambda: torch._C._len_torch_dispatch_stack()
    ),
    "hooks of saved tensors": (lambda: HOOKS(lambda x: 0 * x, lambda x: x).__enter__(), gradient),
    "transforms of torch.func": (
        lambda: torch._C._functorch._grad_increment_nesting(), is_transformed
    ),
    "whether classes of tensors are asked": (
        lambda: torch._C._set_torch_function_state(torch._C._TorchFunctionState.ALL_DISABLED),
        lambda: (torch._C._is_torch_function_enabled(), torch._C._is_torch_function_all_disabled()),
    ),
    "blocks of torch's modules": (
        lambda: vars(torch.nn.utils.parametrize).update(_cache_enabled=1),
        lambda: vars(torch.nn.utils.parametrize)["_cache_enabled"],
    ),
    "torch's default dtype": (
        lambda: torch.set_default_dtype(torch.float64), lambda: torch.ones(1).dtype
    ),
    "torch's number of threads": (lambda: torch.set_num_threads(3), torch.get_num_threads),
    "whether torch is deterministic": (
        lambda: torch.set_deterministic_debug_mode("warn"),
        torch.get_deterministic_debug_mode,
    ),
    "whether torch repeats its warnings": (
        lambda: torch.set_warn_always(True), torch.is_warn_always_enabled
    ),
    "why hooks of saved tensors are refused": (
        lambda: torch._C._autograd._saved_tensors_hooks_disable("no!"),
        torch._C._autograd._saved_tensors_hooks_get_disabled_error_message,
    ),
    "torch's search for anomalies": (
        lambda: torch.autograd.set_detect_anomaly(True), torch.is_anomaly_enabled
    ),
    "the global generator of torch": (
        lambda: torch.rand(1), lambda: torch.get_rng_state().tolist()
    ),
    "switches of torch's backends": (
        lambda: setattr(torch.backends.cudnn, "deterministic", True),
        lambda: torch.backends.cudnn.deterministic,
    ),
    "whether backward uses threads": (
        lambda: torch.autograd.set_multithreading_enabled(False),
        torch._C._is_multithreading_enabled,
    ),
    "how tensors are printed": (
        lambda: torch.set_printoptions(precision=1), lambda: str(torch.tensor([0.123]))
    ),
    "the running event loop": (lambda: asyncio._set_running_loop(object()), lambda: id(loop())),
}  # fmt: skip
if sys.platform != "win32":

    def seconds():
        import resource

        return resource.getrlimit(resource.RLIMIT_CPU)

    def grant_seconds(soft):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (soft, seconds()[1]))

    CHANGES["limits of the process"] = (lambda: grant_seconds(10**6), seconds)
    CHANGES["which signals are blocked"] = (
        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2}),
        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()),
    )
    CHANGES["timers that send signals"] = (
        lambda: signal.setitimer(signal.ITIMER_PROF, 3600),
        lambda: signal.getitimer(signal.ITIMER_PROF) > (0, 0),
    )
if hasattr(os, "sched_setaffinity"):
    CHANGES["on which cores it runs"] = (
        lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}),
        lambda: os.sched_getaffinity(0),
    )
SHARED = {
    "on which cores it runs",
    "whether garbage is collected", "when garbage is collected", "who hears of collections",
    "what is told of garbage", "how deep calls may go", "how often threads switch",
    "what signals do", "timers that send signals", "which signals are blocked",
    "whether backward uses threads", "who traces", "who profiles", "who traces new threads",
    "who profiles new threads", "how far back coroutines know their origin",
    "how large stacks of threads are", "limits of the process", "whether crashes are told",
    "letters that the output does not know", "how threads are started",
    "what the thread is called", "where output and errors lead",
}  # fmt: skip


def simulate(fn, *args, workers=2, **options):
    return run(fn, *args, workers=workers, backend="simulated", **options)


def change_and_wait(comm, what):
    """Rank 0 changes it for good and waits; all say what they had, and what they see."""
    change, look = CHANGES[what]
    before = look()
    if comm.rank == 0:
        change()
    mine = look()
    comm.barrier()
    seen = look()
    comm.barrier()
    return before, mine, seen, look()


def test_there_is_a_case_for_all_that_is_on_the_list():
    with surroundings(0) as ours:
        known = {*CHANGES, "whether crashes are told"}  # pytest would not tell of them any more
        assert {entry.what for entry in ours.entries} == known
        assert {entry.what for entry in ours.entries if entry.whose == "run"} == SHARED & known
        names = {(name, id(what)) for entry in ours.entries for name, what in entry.names.items()}
    assert len(names) == len(dict(names))  # they stand in one expression


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_on_the_list_is_each_ranks_own(what):
    look = CHANGES[what][1]
    callers = look()
    one, other = simulate(change_and_wait, what).values
    assert one[1] != one[0], "the change can be seen"
    assert one[1] == one[2] == one[3], "whoever changed it keeps it"
    if what not in SHARED:
        assert other[0] == other[1] == other[2] == other[3] == one[0]
    assert look() == callers


# What the list knows under one name may be changed in several ways.
OTHER_CHANGES = {
    "only warning of what is not deterministic": (
        lambda: torch.use_deterministic_algorithms(False, warn_only=True),
        torch.is_deterministic_algorithms_warn_only_enabled,
    ),
    "what autocast would cast to": (
        lambda: torch.set_autocast_dtype("cuda", torch.bfloat16),
        lambda: torch.get_autocast_dtype("cuda"),
    ),
    "a switch by its property": (
        lambda: setattr(torch.backends.mkldnn, "enabled", False),
        lambda: torch.backends.mkldnn.enabled,
    ),
    "a switch by its function": (
        lambda: torch.backends.cuda.enable_flash_sdp(False), torch.backends.cuda.flash_sdp_enabled
    ),
    "which attention is taken first": (
        lambda: torch._C._set_sdp_priority_order([0, 1, 2, 3, 4]),
        torch._C._get_sdp_priority_order,
    ),
    "a switch of two values": (
        lambda: setattr(
            torch.backends.cuda.matmul, "allow_fp16_reduced_precision_reduction", (False, False)
        ),
        lambda: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction,
    ),
    "memory that is filled": (
        lambda: setattr(torch.utils.deterministic, "fill_uninitialized_memory", False),
        lambda: torch.utils.deterministic.fill_uninitialized_memory,
    ),
    "how modules are converted": (
        lambda: torch.__future__.set_swap_module_params_on_conversion(True),
        torch.__future__.get_swap_module_params_on_conversion,
    ),
    "how exactly torch multiplies": (
        lambda: torch.set_float32_matmul_precision("medium"), torch.get_float32_matmul_precision
    ),
    "how exactly it does everything": (
        lambda: setattr(torch.backends, "fp32_precision", "tf32"), precisions
    ),
    "how exactly it convolves": (
        lambda: setattr(torch.backends.cudnn, "allow_tf32", False), precisions
    ),
    "how exactly, said in two ways": (two_ways, precisions),
    "autocast without a block": (lambda: torch.set_autocast_enabled("cpu", True), product),
    "how arrays are printed": (
        lambda: np.set_printoptions(precision=1), lambda: str(np.array([0.123]))
    ),
    "the fast path of attention": (
        lambda: torch.backends.mha.set_fastpath_enabled(False),
        torch.backends.mha.get_fastpath_enabled,
    ),
    "who computes with few bits": (
        lambda: setattr(torch.backends.quantized, "engine", other_engine()),
        lambda: torch.backends.quantized.engine,
    ),
    "whether sparse tensors are checked": (
        lambda: torch.sparse.check_sparse_tensor_invariants.enable(),
        torch.sparse.check_sparse_tensor_invariants.is_enabled,
    ),
    "a hook before forward": (
        lambda: torch.nn.modules.module.register_module_forward_pre_hook(
            lambda module, args: (args[0] + 1,)
        ),
        forward,
    ),
    "a hook of backward": (
        lambda: torch.nn.modules.module.register_module_full_backward_hook(
            lambda module, given, got: (2 * given[0],)
        ),
        backward,
    ),
    "a hook of new parameters": (
        lambda: torch.nn.modules.module.register_module_parameter_registration_hook(
            lambda module, name, one: torch.nn.Parameter(one.data, requires_grad=False)
        ),
        lambda: torch.nn.PReLU().weight.requires_grad,
    ),
    "other arguments of the program": (
        lambda: setattr(sys, "argv", ["a rank's own"]), lambda: list(sys.argv)
    ),
    "from which level on is logged": (
        lambda: logging.getLogger().setLevel(7), lambda: logging.getLogger().level
    ),
    "a logger of one's own": (
        lambda: logging.getLogger("of.a.rank").addHandler(logging.NullHandler()),
        lambda: len(logging.getLogger("of.a.rank").handlers),
    ),
    "what is logged at all": (
        lambda: logging.disable(logging.ERROR),
        lambda: logging.getLogger().isEnabledFor(logging.ERROR),
    ),
    "what a record is": (
        lambda: logging.setLogRecordFactory(dict), lambda: logging.getLogRecordFactory() is dict
    ),
    "whether logging may fail": (
        lambda: setattr(logging, "raiseExceptions", False), lambda: logging.raiseExceptions
    ),
    "whether warnings are logged": (
        lambda: logging.captureWarnings(True), lambda: logging._warnings_showwarning is None
    ),
    "variables of the environment as bytes": (
        lambda: os.environb.__setitem__(b"LOCAL_RANK", b"0"), lambda: os.environ.get("LOCAL_RANK")
    ),
    "bits of another kind": (
        lambda: np.random.set_bit_generator(np.random.SFC64(1)),
        lambda: (type(np.random.get_bit_generator()), str(np.random.get_bit_generator().state)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHER_CHANGES)
def test_other_ways_to_change_it_are_seen_too(what):
    change, look = OTHER_CHANGES[what]

    def change_and_wait(comm):
        before = look()
        if comm.rank == 0:
            change()
        mine = look()
        comm.barrier()
        return before, mine, look()

    callers = look()
    one, other = simulate(change_and_wait).values
    assert one[1] != one[0], "the change can be seen"
    assert one[2] == one[1], "whoever changed it keeps it"
    assert other == (one[0], one[0], one[0])
    assert look() == callers


def test_a_hook_of_all_modules_is_removed_by_whoever_has_registered_it():
    def hook(comm):
        handle = torch.nn.modules.module.register_module_forward_hook(
            lambda module, args, output: output + comm.rank
        )
        comm.barrier()
        seen = [forward()]
        comm.barrier()
        if comm.rank != 1:
            handle.remove()
        comm.barrier()
        seen.append(forward())
        torch.nn.modules.module.register_module_forward_hook(doubled)
        comm.barrier()
        return [*seen, forward()]

    callers = torch.nn.modules.module.register_module_forward_hook(doubled)
    try:
        assert simulate(hook, workers=3).values == [[1, 1, 2], [2, 2, 4], [3, 1, 2]]
        assert forward() == 2
    finally:
        callers.remove()
    assert forward() == 1


def test_lines_are_logged_as_each_rank_has_set_it(capsys):
    def log(comm):
        logger = logging.getLogger("lines")
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(logging.Formatter(f"{comm.rank}: %(message)s"))
        logger.addHandler(handler)
        logger.propagate = False
        comm.barrier()
        logger.warning("once")
        comm.barrier()

    simulate(log)
    assert sorted(capsys.readouterr().out.splitlines()) == ["0: once", "1: once"]
    assert logging.getLogger("lines").handlers == []
    assert logging.getLogger("lines").propagate


def test_loggers_of_a_module_that_a_rank_loads_stay_as_the_module_has_set_them(
    tmp_path, monkeypatch
):
    lines = "import logging\nlogging.getLogger(__name__).addHandler(logging.NullHandler())\n"
    (tmp_path / "loaded_by_a_rank.py").write_text(lines)
    monkeypatch.syspath_prepend(tmp_path)

    def load(comm):
        import loaded_by_a_rank

        comm.barrier()
        return len(logging.getLogger(loaded_by_a_rank.__name__).handlers)

    assert simulate(load).values == [1, 1]
    assert len(logging.getLogger("loaded_by_a_rank").handlers) == 1
    del sys.modules["loaded_by_a_rank"]


def test_an_asynchronous_generator_is_known_to_the_loop_of_its_own_rank():
    def ask(comm):
        async def numbers():
            try:
                yield comm.rank
                yield comm.rank
            finally:
                ended.append(comm.rank)

        async def meet():
            comm.barrier()
            left = numbers()
            await anext(left)
            comm.barrier()
            return left  # so only the loop, when it closes, can end it

        ended = []
        left = asyncio.run(meet())
        return ended, left.ag_frame is None, sys.get_asyncgen_hooks() == (None, None)

    assert simulate(ask).values == [([0], True, True), ([1], True, True)]


def test_each_rank_works_in_its_own_folder(tmp_path):
    def write(comm):
        (folder := tmp_path / str(comm.rank)).mkdir()
        with contextlib.chdir(folder):
            comm.barrier()
            with open("mine", "w") as file:  # noqa: PTH123 - as one does in a working directory
                file.write("x")
            comm.barrier()
        return os.listdir(folder)  # noqa: PTH208

    here = os.getcwd()  # noqa: PTH109
    assert simulate(write, workers=3).values == [["mine"]] * 3
    assert os.getcwd() == here  # noqa: PTH109


FAULTS = """
import faulthandler, sys
from course_lib import run
def change(comm):
    (faulthandler.disable if faulthandler.is_enabled() else faulthandler.enable)()
    comm.barrier()
before = faulthandler.is_enabled()
run(change, workers=1, backend="simulated")
assert faulthandler.is_enabled() == before == ("faulthandler" in sys._xoptions)
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-X", "faulthandler"]])
def test_whether_crashes_are_told_is_as_before_the_run(options):
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONFAULTHANDLER"}
    subprocess.run([sys.executable, *options, "-c", FAULTS], check=True, timeout=120, env=clean)


def switched(comm):
    """Turn switches in blocks around messages; say what is turned."""
    math, flash = torch.nn.attention.SDPBackend.MATH, torch.nn.attention.SDPBackend.FLASH_ATTENTION
    seen = []
    for kinds in ([math] if comm.rank else [flash], [flash, math] if comm.rank else [math, flash]):
        with torch.nn.attention.sdpa_kernel(kinds, set_priority=True):
            comm.barrier()
            enabled = (
                torch.backends.cuda.math_sdp_enabled(),
                torch.backends.cuda.flash_sdp_enabled(),
            )
            seen.append((enabled, torch._C._get_sdp_priority_order()[:2]))
    with torch.backends.cudnn.flags(enabled=comm.rank == 0, benchmark=comm.rank == 1):
        comm.barrier()
        seen.append((torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark))
    torch.set_autocast_dtype("cpu", torch.float16 if comm.rank else torch.bfloat16)
    comm.barrier()
    with torch.autocast("cpu"):
        seen.append(product())
    return seen


def test_switches_turned_in_blocks_are_turned_as_on_real_processes():
    simulated = simulate(switched).values
    assert simulated[0] != simulated[1]
    assert simulated == run(switched, workers=2, backend="processes").values
    assert simulated[0][0] == ((False, True), [1, 2])


def test_what_simulated_ranks_find_turned_is_what_a_new_process_has():
    def usual(comm):
        from course_lib.comm.ambient.switches_of_torch import Switches

        return Switches(torch).are_usual()

    torch.backends.cudnn.benchmark = True
    try:
        for backend in ("simulated", "processes"):
            assert run(usual, workers=2, backend=backend).values == [True, True]
        assert torch.backends.cudnn.benchmark
        assert type(torch._C._set_cudnn_benchmark) is type(len), "nothing is noted any more"
    finally:
        torch.backends.cudnn.benchmark = False


def test_this_torch_has_every_switch_and_an_older_one_may_lack_some(monkeypatch):
    from course_lib.comm.ambient.switches_of_torch import _SWITCHES, Switches

    assert Switches(torch)._all == list(_SWITCHES)
    monkeypatch.delattr(torch._C, "_set_cudnn_depthwise_kernel")
    older = Switches(torch)
    assert len(older._all) == len(_SWITCHES) - 1
    older.end(older.begin())
    assert older.are_usual()
    assert type(torch._C._set_cudnn_benchmark) is type(len), "nothing is noted any more"


@pytest.mark.skipif(sys.platform == "win32", reason="has no time.tzset")
def test_each_rank_has_its_own_time_zone_and_the_caller_gets_its_own_back():
    def hour(comm):
        if comm.rank < 2:
            os.environ["TZ"] = f"RANK-{comm.rank + 5}"
            time.tzset()
        seen = []
        for _ in range(3):
            comm.barrier()
            seen.append((time.localtime(0).tm_hour, time.tzname[0]))
        return seen

    callers = time.localtime(0).tm_hour, time.tzname[0]
    values = simulate(hour, workers=3).values
    assert values == [[(5, "RANK")] * 3, [(6, "RANK")] * 3, [callers] * 3]
    assert (time.localtime(0).tm_hour, time.tzname[0]) == callers


def test_a_rank_that_fails_leaves_the_list_of_places_where_modules_are_found():
    def replace(comm):
        sys.path = ["a rank's own"]
        raise KeyError("planned")

    callers, places = sys.path, list(sys.path)
    with pytest.raises(WorkerError):
        simulate(replace)
    assert sys.path is callers
    assert sys.path == places


def test_a_started_function_shares_what_a_process_has_and_begins_with_what_a_thread_has():
    def child(comm):
        found = torch.is_grad_enabled(), torch.get_default_dtype(), float(np.random.rand())
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float16)
        comm.barrier()
        return found

    def parent(comm):
        np.random.seed(5)
        expected = [float(np.random.rand()) for _ in range(2)]
        np.random.seed(5)
        torch.set_default_dtype(torch.float64)
        with torch.no_grad():
            pending = comm.start(child)
            comm.barrier()
        found = pending.wait()
        after = torch.is_grad_enabled(), torch.get_default_dtype()
        return found, after, expected, np.random.rand()

    for found, after, expected, drawn in simulate(parent).values:
        assert found == (True, torch.float64, expected[0])
        assert after == (True, torch.float16)
        assert drawn == expected[1]


def failing(comm, how):
    blocks = [
        torch.inference_mode(), torch.autocast("cpu", torch.bfloat16), torch.device("meta"),
        HOOKS(lambda x: x, lambda x: x), Doubled(), Passing(), warnings.catch_warnings(),
        contextlib.redirect_stdout(Never()),
    ]  # fmt: skip
    with contextlib.ExitStack() as stack:
        for block in blocks if comm.rank == 0 else reversed(blocks):
            stack.enter_context(block)
        random.seed(comm.rank)
        np.random.seed(comm.rank)
        torch.manual_seed(comm.rank)
        os.environ["LOCAL_RANK"] = str(comm.rank)
        warnings.simplefilter("ignore")
        torch.set_default_dtype(torch.float64)
        if comm.rank == 0:
            comm.recv(1)
        comm.clock()
        if how == "fails":
            raise KeyError("planned")
        if how == "is interrupted":
            _thread.interrupt_main()
            time.sleep(5)
        if how == "hangs":
            while True:
                time.sleep(0.01)
        if how == "waits in vain":
            comm.recv(0)
        if comm.rank == 1:
            comm.send(np.zeros(1), 0)


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("ends well", None), ("fails", WorkerError), ("waits in vain", DeadlockError),
        ("is interrupted", KeyboardInterrupt), ("hangs", LaunchTimeout),
    ],
)  # fmt: skip
def test_the_callers_own_comes_back_however_a_run_ends(how, error):
    simulate(failing, "ends well")  # loads modules, some of which filter warnings for good
    random.seed(1)
    np.random.seed(1)
    np.random.randn()  # half of a pair is left
    torch.manual_seed(1)
    filters = warnings.filters
    with torch.no_grad(), Doubled():
        before = [look() for _, look in CHANGES.values()]
        expected = contextlib.nullcontext() if error is None else pytest.raises(error)
        with expected:
            simulate(failing, how, time_limit_s=0.3 if how == "hangs" else 60)
        assert [look() for _, look in CHANGES.values()] == before
        assert torch.ones(1).item() == 2
    assert warnings.filters is filters
    assert type(os.environ._data) is dict


def test_ranks_begin_as_a_new_process_does_whatever_the_caller_has_entered():
    with torch.inference_mode(), torch.device("meta"), torch.autocast("cpu", torch.bfloat16):
        found = simulate(lambda comm: (gradient(), str(product())), workers=2).values
    assert found == [([4.0, 4.0], "torch.float32")] * 2


def test_a_rank_that_starts_again_after_a_crash_finds_everything_new():
    from course_lib import faults

    def careless(comm):
        found = str(torch.get_default_dtype()), random.random()
        torch.set_default_dtype(torch.float64)
        with comm.compute("long", flops=1e12):
            pass
        return found

    crash = faults.Faults([faults.Crash(rank=1, at_s=0.1, restart_at_s=0.2)])
    found = simulate(careless, faults=crash).values
    assert found[0] == found[1]


@pytest.mark.parametrize("n_draws", [0, 1, 2, 3, 623, 624, 625, 1248])
def test_however_much_a_rank_draws_nobody_else_notices(n_draws):
    def draw(comm, n_draws):
        if comm.rank == 0:
            for _ in range(n_draws):
                random.getrandbits(32)
                np.random.bytes(4)
            torch.randint(0, 2, (n_draws,))
        comm.barrier()
        return random.random(), np.random.rand(), torch.rand(1).item()

    ahead, other = simulate(draw, n_draws).values
    assert other == simulate(draw, 0, workers=1).values[0]
    assert n_draws == 0 or not any(map(eq, ahead, other))


def seed_and_draw(comm):
    random.seed(comm.rank)
    np.random.seed(comm.rank)
    torch.manual_seed(comm.rank)
    drawn = [random.gauss(0, 1), np.random.randn(), torch.randn(1).item()]
    comm.barrier()
    drawn += [random.gauss(0, 1), np.random.randn(), torch.randn(1).item()]
    comm.barrier()
    return [*drawn, random.random(), np.random.rand(), torch.rand(1).item()]


def test_generators_change_hands_also_where_their_memory_is_not_what_we_think(monkeypatch):
    fast = simulate(seed_and_draw, workers=3).values
    monkeypatch.setattr(generators, "python_layout_is_known", lambda: False)
    monkeypatch.setattr(generators, "numpy_pair_offset", lambda: None)
    monkeypatch.setattr(generators, "torch_word_offset", lambda _: None)
    assert simulate(seed_and_draw, workers=3).values == fast
    assert len({tuple(drawn) for drawn in fast}) == 3


def test_on_this_computer_the_memory_of_generators_is_what_we_think():
    assert generators.python_layout_is_known()
    assert generators.numpy_pair_offset() is not None
    assert generators.torch_word_offset(torch) is not None


def replace_bits(comm):
    ours = np.random.get_bit_generator()
    drawn = [np.random.rand()]
    if comm.rank == 0:
        np.random.set_bit_generator(np.random.SFC64(1))
    comm.barrier()
    drawn += [np.random.randn()]
    comm.barrier()
    drawn += [np.random.randn()]
    np.random.set_bit_generator(ours)
    comm.barrier()
    return [*drawn, np.random.rand()]


def test_bits_that_a_rank_puts_into_numpys_generator_are_its_own_also_with_unknown_memory(
    monkeypatch,
):
    alone = simulate(replace_bits, workers=1).values[0]
    one, other = simulate(replace_bits).values
    assert one == alone
    assert one[1:3] == np.random.RandomState(np.random.SFC64(1)).standard_normal(2).tolist()
    monkeypatch.setattr(generators, "numpy_pair_offset", lambda: None)
    assert simulate(replace_bits).values == [one, other]


def test_the_callers_other_kind_of_bits_comes_back_and_has_not_moved():
    def draw(comm):
        return type(np.random.get_bit_generator()).__name__, np.random.rand()

    callers = np.random.get_bit_generator()
    bits = np.random.SFC64(1)
    try:
        np.random.set_bit_generator(bits)
        state = str(bits.state)
        assert {kind for kind, _ in simulate(draw).values} == {"MT19937"}
        assert np.random.get_bit_generator() is bits
        assert str(bits.state) == state
    finally:
        np.random.set_bit_generator(callers)


def test_what_uses_a_module_that_is_watched_can_still_be_pickled():
    def pack(comm):
        def use():
            return sys, warnings

        return comm.size, cloudpickle.loads(cloudpickle.dumps(use))() == (sys, warnings)

    assert simulate(pack).values == [(2, True)] * 2


def test_every_rank_may_run_an_event_loop_also_where_the_caller_runs_one():
    def ask(comm):
        async def meet():
            comm.barrier()
            await asyncio.sleep(0)
            return comm.rank

        return asyncio.run(meet())

    async def notebook():
        return simulate(ask).values

    assert asyncio.run(notebook()) == [0, 1]


@pytest.mark.slow
def test_a_verb_may_be_called_inside_transforms_of_torch():
    def transformed(comm):
        def cubes(x):
            comm.barrier()
            return (x**3).sum()

        x = torch.ones(2) * (comm.rank + 1)
        twice = torch.func.grad(lambda x: torch.func.grad(cubes)(x).sum())(x)
        comm.barrier()
        return twice.tolist(), torch.func.grad(cubes)(x).tolist()

    assert simulate(transformed).values == [([6.0] * 2, [3.0] * 2), ([12.0] * 2, [12.0] * 2)]


def test_a_verb_inside_a_level_of_forward_differentiation_is_refused():
    def inside(comm):
        with torch.autograd.forward_ad.dual_level():
            comm.barrier()

    with pytest.raises(SimulationError, match=r"called barrier\(\) inside .*dual_level\(\)"):
        simulate(inside)


def test_a_verb_inside_a_function_of_autograd_records_no_less_elsewhere():
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, comm):
            return torch.from_numpy(comm.sendrecv(x.numpy(), 1 - comm.rank, 1 - comm.rank)) + x

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    def mixed(comm):
        x = torch.ones(2, requires_grad=True)
        Sum.apply(x, comm).sum().backward()
        return x.grad.tolist(), torch._C._is_fwd_grad_enabled()

    assert simulate(mixed).values == [([1.0, 1.0], True)] * 2


def warn_here(text):
    warnings.warn(text, stacklevel=1)  # all ranks share this module


def shown_while(fn, workers):
    """Run under filters that show a warning once for each place; return what is shown."""
    texts = []
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *_, **__: texts.append(str(message))
        simulate(fn, workers=workers)
    return sorted(texts)


@pytest.mark.parametrize("how", ["for good", "around a message", "between messages"])
@pytest.mark.parametrize("shares", [False, True])
def test_no_rank_is_warned_again_because_another_has_changed_filters(how, shares):
    def warn(comm):
        def warn_there(text):
            warnings.warn(text, stacklevel=1)

        if comm.rank == 0 and how == "for good":
            warnings.filterwarnings("ignore", "nothing")
        for _ in range(4):
            (warn_here if shares else warn_there)(f"from {comm.rank}")
            changes = comm.rank == 0 and how != "for good"
            with warnings.catch_warnings() if changes else contextlib.nullcontext():
                if how == "around a message":
                    comm.barrier()
            comm.barrier()

    assert shown_while(warn, workers=3) == ["from 0", "from 1", "from 2"]


def test_once_is_once_for_a_rank_whatever_filters_others_have():
    def warn(comm):
        if comm.rank == 0:
            warnings.filterwarnings("ignore", "nothing")
        else:
            warnings.simplefilter("once")
        for _ in range(3):
            warnings.warn(f"from {comm.rank}", stacklevel=1)
            comm.barrier()
            warnings.warn(f"from {comm.rank}", stacklevel=1)

    assert shown_while(warn, workers=2) == ["from 0"] * 2 + ["from 1"]


def test_an_error_by_a_ranks_own_filters_is_raised_though_others_have_been_warned():
    def warn(comm):
        if comm.rank == 0:
            warn_here("same")
            warnings.simplefilter("error")
        comm.barrier()
        if comm.rank == 1:
            warn_here("same")
        comm.barrier()
        if comm.rank == 0:
            with pytest.raises(UserWarning, match="same"):
                warn_here("same")
        comm.barrier()
        if comm.rank == 1:
            warn_here("same")

    assert shown_while(warn, workers=2) == ["same", "same"]


def test_an_error_by_the_callers_filters_is_raised_though_a_rank_has_been_warned_in_a_block():
    def warn(comm):
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = lambda *_, **__: None
            warn_here("same")
        comm.barrier()
        with pytest.raises(UserWarning, match="same"):
            warn_here("same")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(warn)


def test_other_threads_may_change_the_environment_during_a_run(monkeypatch):
    monkeypatch.setenv("COURSE_REMOVED", "1")
    monkeypatch.setenv("COURSE_SET", "0")
    running, changed, seen = threading.Event(), threading.Event(), []
    REACHED.update(running=running, changed=changed)

    def change():
        running.wait(30)
        os.environ["COURSE_SET"] = "1"
        del os.environ["COURSE_REMOVED"]
        seen.append((os.environ["COURSE_SET"], "COURSE_REMOVED" in os.environ))
        changed.set()

    def wait(comm):
        os.environ["COURSE_OF_A_RANK"] = str(comm.rank)
        comm.barrier()
        from tests.simulated.test_surroundings import REACHED

        REACHED["running"].set()
        assert REACHED["changed"].wait(30)
        comm.barrier()
        return os.environ["COURSE_SET"], os.environ["COURSE_OF_A_RANK"]

    thread = threading.Thread(target=change)
    thread.start()
    try:
        values = simulate(wait).values
    finally:
        thread.join()
    assert values == [("1", "0"), ("1", "1")]
    assert seen == [("1", False)]
    assert os.environ["COURSE_SET"] == "1"
    assert not {"COURSE_REMOVED", "COURSE_OF_A_RANK"} & set(os.environ)
    look = "import os; print(os.environ['COURSE_SET'], 'COURSE_REMOVED' in os.environ)"
    told = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["1", "False"]


REACHED = {}


class Sly(np.ndarray):
    """An array that changes a mode whenever somebody computes with it."""

    def __array_finalize__(self, _):
        torch.set_grad_enabled(False)


def test_between_the_verbs_of_a_collective_what_a_rank_changes_is_still_its_own():
    def inside(comm):
        if comm.rank == 0:
            with torch.no_grad():
                comm.barrier()
                allreduce_ring(comm, np.ones(8))
                assert not torch.is_grad_enabled()
        else:
            comm.barrier()
            x = np.ones(8)
            allreduce_ring(comm, x.view(Sly) if comm.rank == 1 else x)
        return torch.is_grad_enabled()

    assert simulate(inside, workers=4).values == [True, False, True, True]


def test_a_collective_that_was_refused_may_be_called_again_in_a_block():
    def again(comm):
        with contextlib.suppress(ValueError):
            allreduce_ring(comm, np.ones(8), out=np.ones(3))
        with torch.no_grad() if comm.rank == 0 else contextlib.nullcontext():
            allreduce_ring(comm, np.ones(8))
            return torch.is_grad_enabled()

    assert simulate(again, workers=3).values == [False, True, True]


def test_a_function_beside_a_collective_may_change_what_its_process_has():
    def child(comm):
        torch.set_default_dtype(torch.float64)
        os.environ["LOCAL_RANK"] = str(comm.rank)
        comm.barrier()

    def parent(comm):
        pending = comm.start(child) if comm.rank == 0 else comm.start(lambda comm: comm.barrier())
        allreduce_ring(comm, np.ones(100))
        pending.wait()
        return torch.get_default_dtype(), os.environ.get("LOCAL_RANK")

    assert simulate(parent, workers=3).values == [
        (torch.float64, "0"), *[(torch.float32, None)] * 2
    ]  # fmt: skip


def test_a_rank_waits_in_a_block_for_a_collective_that_goes_on_outside_of_it():
    def parent(comm):
        pending = comm.start(lambda child: allreduce_ring(child, np.ones(10_000)))
        comm.sendrecv(np.ones(1), 1 - comm.rank, 1 - comm.rank)  # the collective begins
        with HOOKS(lambda x: 0 * x, lambda x: x) if comm.rank == 0 else torch.no_grad():
            pending.wait()
            inside = gradient()
        return inside, gradient()

    assert simulate(parent).values == [([0.0, 0.0], [4.0, 4.0]), (None, [4.0, 4.0])]


def test_waiting_for_a_collective_inside_backward_is_refused():
    def wait_in_a_hook(comm):
        pending = comm.start(lambda child: allreduce_ring(child, np.ones(10_000)))
        for _ in range(4):  # now the collective has begun
            comm.sendrecv(np.ones(1), comm.rank ^ 1, comm.rank ^ 1)
        x = torch.ones(1, requires_grad=True)
        x.register_hook(lambda _: pending.wait())
        (x * x).sum().backward()

    with pytest.raises(SimulationError, match=r"called wait\(\) inside backward"):
        simulate(wait_in_a_hook, workers=4)


def test_runs_in_several_threads_follow_each_other_and_leave_the_caller_what_it_had():
    def careless(comm, naps_s):
        warnings.simplefilter("ignore")
        sys.stdout = Never()
        torch.set_default_dtype(torch.float64)
        np.random.seed(comm.rank)
        drawn = []
        for nap_s in naps_s:
            time.sleep(nap_s)
            drawn.append(float(np.random.rand()))
            comm.barrier()
        return drawn

    before = [look() for _, look in CHANGES.values()]
    filters, values = warnings.filters, []
    threads = [
        threading.Thread(target=lambda naps: values.append(simulate(careless, naps).values), args=a)
        for a in [([0.02, 0.02],), ([0.04, 0.04],)]
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert [look() for _, look in CHANGES.values()] == before
    assert warnings.filters is filters
    assert values == [[np.random.RandomState(rank).rand(2).tolist() for rank in range(2)]] * 2


@pytest.mark.slow
def test_a_thousand_ranks_keep_their_own():
    def keep(comm):
        np.random.seed(comm.rank)
        with torch.no_grad() if comm.rank % 2 else contextlib.nullcontext():
            comm.sendrecv(np.zeros(1), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
            return float(np.random.rand()), torch.is_grad_enabled()

    for rank, (drawn, records) in enumerate(simulate(keep, workers=1000, trace=False).values):
        assert drawn == np.random.RandomState(rank).rand()
        assert records == (rank % 2 == 0)


LATE = """
import sys, warnings
from course_lib import run
from course_lib.collectives.allreduce_ring import allreduce_ring
def load(comm):
    if comm.rank == 0:
        import torch
        first = torch.rand(1).item(), torch.get_num_threads()
        torch.set_default_dtype(torch.float64)
        with torch.no_grad():
            comm.barrier()
            inside = torch.is_grad_enabled()
    else:
        comm.barrier()
        import torch
        first = torch.rand(1).item(), torch.get_num_threads()
        inside = torch.is_grad_enabled()
    comm.barrier()
    return inside, str(torch.get_default_dtype()), first, torch.rand(1).item()
finders = [*sys.meta_path]
real = run(load, workers=2).values
assert "torch" not in sys.modules
values = run(load, workers=2, backend="simulated").values
assert values == real, (values, real)
assert sys.meta_path == finders
(a, b, first, _), (c, d, other, drawn) = values
import torch
assert first == other == (torch.rand(1, generator=torch.Generator()).item(), 1)
assert (a, b, c, d) == (False, "torch.float64", True, "torch.float32"), (a, b, c, d)
assert torch.get_default_dtype() is torch.float32 and torch.is_grad_enabled()
torch.rand(1)
assert drawn == torch.rand(1).item()
"""


@pytest.mark.slow
def test_a_rank_may_be_the_first_to_load_torch():
    subprocess.run([sys.executable, "-c", LATE], check=True, timeout=120)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_whether_nan_is_an_anomaly_is_the_callers_and_each_ranks_own():
    def searching(comm):
        with torch.autograd.detect_anomaly(check_nan=comm.rank == 0):
            comm.barrier()
            return torch.is_anomaly_check_nan_enabled()

    torch.autograd.set_detect_anomaly(True, check_nan=False)
    try:
        assert simulate(searching).values == [True, False]
        assert torch.is_anomaly_enabled()
        assert not torch.is_anomaly_check_nan_enabled()
    finally:
        torch.autograd.set_detect_anomaly(False)


def test_a_program_may_have_replaced_its_environment_by_a_dict(monkeypatch):
    monkeypatch.setattr(os, "environ", {**os.environ, "COURSE_TEST": "here"})
    assert simulate(lambda comm: os.environ["COURSE_TEST"]).values == ["here"] * 2
