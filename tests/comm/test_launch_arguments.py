"""``run`` refuses bad arguments by name, before anything is started."""

import functools
from typing import Any

import numpy as np
import psutil
import pytest

from course_lib import run


def hello(comm: Any) -> int:
    return int(comm.rank)


def with_argument(comm: Any, x: Any) -> Any:
    return x


async def asynchronous(comm: Any) -> None: ...


def generator(comm: Any) -> Any:
    yield comm.rank


class Generates:
    def __call__(self, comm: Any) -> Any:
        yield comm.rank


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"workers": 0}, ValueError, "workers must be an int from 1 to .*, got 0"),
    ({"workers": -1}, ValueError, "workers .* got -1"),
    ({"workers": 2.0}, TypeError, r"workers .* got 2.0 \(float\)"),
    ({"workers": 1.5}, TypeError, "workers .* got 1.5"),
    ({"workers": True}, TypeError, "workers .* got True"),
    ({"workers": "4"}, TypeError, "workers .* got '4'"),
    ({"workers": None}, TypeError, "workers .* got None"),
    ({"workers": 10**6}, ValueError, "workers .* got 1,000,000"),
    ({"time_limit_s": 0}, ValueError, "time_limit_s must be above 0"),
    ({"time_limit_s": None}, TypeError, "there is always a limit"),
    ({"time_limit_s": float("nan")}, ValueError, "time_limit_s"),
    ({"time_limit_s": float("inf")}, ValueError, "time_limit_s"),
    ({"time_limit_s": 10**400}, ValueError, "time_limit_s must be above 0 and finite, got 1000"),
    ({"rendezvous": 1}, TypeError, "rendezvous must be True or False, got 1"),
    ({"trace": None}, TypeError, "trace must be True or False"),
    ({"seed": -1}, ValueError, "seed must be an int of 0 or more"),
    ({"seed": 1.5}, TypeError, "seed"),
    ({"start_method": "fork"}, ValueError, "start_method must be one of .* got 'fork'"),
]


@pytest.mark.parametrize("backend", ["simulated", "processes"])
@pytest.mark.parametrize(("options", "error", "named"), BAD, ids=lambda value: str(value)[:40])
def test_bad_options_are_refused_by_name(
    options: dict[str, Any], error: type[Exception], named: str, backend: str
) -> None:
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(error, match=named):
        run(hello, backend=backend, **options)
    assert set(psutil.Process().children(recursive=True)) == before


@pytest.mark.parametrize(
    ("fn", "args", "named"),
    [
        (3, (), r"fn must be a function .* got 3 \(int\)"),
        (hello(type("C", (), {"rank": 0})), (), "without calling it"),
        (None, (), "fn must be a function"),
        (hello, (1,), r"hello\(comm, \*args\) with 1 further argument.*too many positional"),
        (with_argument, (), "missing a required argument: 'x'"),
        (lambda: 0, (), "too many positional arguments"),
        (asynchronous, (), "async function asynchronous"),
        (generator, (), "generator function generator"),
        (functools.partial(generator), (), "generator function generator"),
        (functools.partial(functools.partial(asynchronous)), (), "async function asynchronous"),
        (Generates(), (), "generator function Generates"),
    ],
)
@pytest.mark.parametrize("backend", ["simulated", "processes"])
def test_what_cannot_be_called_is_refused(fn: Any, args: Any, named: str, backend: str) -> None:
    with pytest.raises(TypeError, match=named):
        run(fn, *args, backend=backend)


def test_callables_of_every_kind_are_taken() -> None:
    class Adder:
        def __call__(self, comm: Any) -> int:
            return int(comm.rank) + 1

    for fn in (hello, Adder(), functools.partial(with_argument, x=5), lambda comm: comm.size):
        assert len(run(fn, workers=2, backend="simulated").values) == 2


def test_backend_and_its_own_options_are_checked() -> None:
    from course_lib import networks

    with pytest.raises(ValueError, match=r"backend must be one of .* got 'threads'"):
        run(hello, backend="threads")
    with pytest.raises(ValueError, match="network is only for"):
        run(hello, backend="processes", network=networks.ethernet_10g)
    with pytest.raises(ValueError, match="start_method is only for"):
        run(hello, backend="simulated", start_method="spawn")


def test_a_notebook_shows_a_refusal_without_the_librarys_frames() -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    told: list[str] = []
    shell._showtraceback = lambda kind, value, lines: told.extend(lines)
    try:
        shell.run_cell("from course_lib import run\nrun(len, workers=0, backend='simulated')")
        shell.run_cell("int('x')")  # anybody else's error keeps its frames
    finally:
        shell.clear_instance()
    assert told[0] == "ValueError: workers must be an int from 1 to 10,000, got 0"
    assert len("".join(told[1:]).splitlines()) > 2


def test_a_run_without_trace_says_so_when_asked_for_it() -> None:
    result = run(hello, workers=2, backend="simulated", trace=False)
    assert result.values == [0, 1]
    with pytest.raises(ValueError, match="trace=False"):
        _ = result.trace
    assert repr(result) == "Result(2 ranks, simulated)"


def test_the_summary_of_a_result_holds_no_times() -> None:
    def swap(comm: Any) -> Any:
        return comm.sendrecv(np.zeros(2), 1 - comm.rank, 1 - comm.rank)

    result = run(swap, workers=2, backend="simulated")
    assert repr(result) == "Result(2 ranks, simulated: 2 messages, 32 bytes)"
