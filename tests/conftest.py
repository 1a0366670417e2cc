"""What holds for all tests: worker functions travel by value, and nothing is left behind."""

import gc
import inspect
import os
import signal
import statistics
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from hypothesis import settings

from tests.nbval_runs import ONE_THREAD, SLOW_AND_NEVER_NEEDED

# Before NumPy and torch are loaded, here or in a process that a test starts. Threads that spin
# while they wait take the cores from the tests beside: the training in a lecture took three times
# as long. Workers have one thread anyway.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.update(ONE_THREAD if "PYTEST_XDIST_WORKER" in os.environ else {})

from course_lib.comm.processes.launcher import start_methods
from tests.residue import assert_nothing_left, names_in_shared_memory, residue

# A shell starts what runs behind it deaf to Ctrl-C, nohup to the end of the terminal, and so would
# be the programs that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.modules.setdefault(SLOW_AND_NEVER_NEEDED, None)  # type: ignore[arg-type]  # nbformat loads it
settings.register_profile("busy computer", deadline=None)
settings.load_profile("busy computer")
gc.disable()  # until all tests are loaded: they stay
# A test's functions that speak of it take it along, and each of their workers would load it.
start_methods._PRELOAD += ("pytest",)
WITH_TORCH = ("torch", "mlp", "digits", "both_worlds")
"""Who speaks of one of these has workers that load torch."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take a minute: at the end, one worker would wait for the other.

    Those that need torch come last: until then the fork server has not loaded it, so that its
    copies take half of the time.
    """
    items.sort(key=lambda item: (item.get_closest_marker("long") is None, _needs_torch(item)))


def _needs_torch(item: pytest.Item) -> bool:
    """Tell whether the name of a test, its file, its fixtures or the row that it plays say so."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    rows = [value.check for value in parameters if hasattr(value, "check")]
    told = [item.nodeid, *getattr(item, "fixturenames", ())]
    return (
        any(word in text for word in WITH_TORCH for text in told)
        or _file_speaks_of_torch(item.path)
        or any(map(_source_speaks_of_torch, rows))
    )


@cache
def _file_speaks_of_torch(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return any(word in text for word in WITH_TORCH)


@cache
def _source_speaks_of_torch(value: Any) -> bool:
    text = inspect.getsource(value)
    return any(word in text for word in WITH_TORCH)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare the garbage collector what stays to the end.

    The tests and all that they import are a million objects, a third of a second whenever a test or
    the collector itself wants everything looked at.
    """
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _travel_by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    # Else every worker would import the test's module, and pytest with it.
    module = getattr(request, "module", None)
    if module is None or module.__name__ not in sys.modules:
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture(autouse=True)
def _nothing_loaded_in_vain(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have the fork server load torch for the tests that need it; some have it loaded here."""
    if _needs_torch(request.node):
        yield
        return
    of_torch = ("torch", "course_lib.models.torch_passes")
    preloaded = {name: start_methods._ALSO.pop(name) for name in of_torch}
    yield
    start_methods._ALSO.update(preloaded)


@pytest.fixture(autouse=True)
def _leave_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compare names in shared memory and threads (cheap); with real processes, everything."""
    if {"start_method", "usual_method"} & set(request.fixturenames):
        before = residue()
        yield
        assert_nothing_left(before)
        return
    threads = set(threading.enumerate())
    yield
    assert names_in_shared_memory(os.getpid()) == []
    extra = [t for t in threading.enumerate() if t not in threads and not t.daemon]
    assert extra == []


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how soon faults were reported, over all tests that measured it."""
    properties = [
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
        if name == "from fault to report"
    ]
    times_s = sorted(seconds for _, _, seconds in properties)
    if not times_s:
        return
    p99_s = times_s[int(0.99 * (len(times_s) - 1))]
    terminalreporter.section("from fault to report")
    terminalreporter.write_line(
        f"{len(times_s)} faults: median {statistics.median(times_s):.3f} s (promised 0.2 s), "
        f"99 % within {p99_s:.3f} s (promised 1 s), all within {times_s[-1]:.3f} s"
    )
