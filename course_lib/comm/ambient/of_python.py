"""What Python and NumPy keep."""

import locale
import os
import sys
import threading
import time
import warnings
from typing import Any, NamedTuple

from course_lib.comm.ambient.entries import Entry, Setting
from course_lib.comm.ambient.generators import generators
from course_lib.comm.ambient.given_back import given_back
from course_lib.comm.ambient.loggers import Loggers
from course_lib.comm.ambient.noted import (
    UNCHANGED,
    Attribute,
    Called,
    ListAttribute,
    StreamAttribute,
)
from course_lib.comm.ambient.notes import (
    NOTED,
    NotingList,
    Variables,
    note_no_more,
    note_variables,
)
from course_lib.comm.ambient.registries import Registries
from course_lib.comm.result import THREADS_OF_RANKS, runs_ranks
from course_lib.comm.umask import current_umask

__all__ = ["of_asyncio", "of_python", "of_socket"]


def of_python(seed: int) -> list[Entry]:
    """List it, for a run of that seed."""
    return [
        # What ranks print and warn of goes where the caller's does, as from real processes.
        StreamAttribute("redirected output", sys, "stdout"),
        StreamAttribute("redirected errors", sys, "stderr"),
        Attribute("redirected input", sys, "stdin"),
        Attribute("what is done with an exception that nobody catches", sys, "excepthook"),
        Attribute("what is done with an exception that cannot be raised", sys, "unraisablehook"),
        Attribute("what is done with an exception of a thread", threading, "excepthook"),
        Attribute("how a result is shown", sys, "displayhook"),
        Attribute("what breakpoint() does", sys, "breakpointhook"),
        Attribute("how many lines a traceback has", sys, "tracebacklimit"),
        Attribute("whether modules are compiled into files", sys, "dont_write_bytecode"),
        ListAttribute("arguments of the program", sys, "argv"),
        ListAttribute("where modules are found", sys, "path"),
        Called("the working directory", "rank", "cwd", _here, _go, (os, "chdir"), (os, "fchdir")),
        Called("who may read new files", "rank", "umask", current_umask, os.umask, (os, "umask")),
        Called("the language of texts", "rank", "locale", _locale, _speak, (locale, "setlocale")),
        Called(
            "how long a number may be as a text", "rank", "digits", sys.get_int_max_str_digits,
            sys.set_int_max_str_digits, (sys, "set_int_max_str_digits"),
        ),
        # asyncio sets them while a loop runs: a new thread, and a new flow, has none.
        Called(
            "who hears of asynchronous generators", "flow", "hooks",
            lambda: tuple(sys.get_asyncgen_hooks()), lambda own: sys.set_asyncgen_hooks(*own),
            (sys, "set_asyncgen_hooks"), value=(None, None),
        ),
        Warnings(),
        Loggers(),
        # Programs tell themselves by them who they are: os.environ["LOCAL_RANK"].
        *([Environment()] if hasattr(os.environ, "_data") else []),  # else it was replaced
        # Each rank seeds them, or not, and draws its own numbers.
        *generators(seed),
        *given_back(),
        StartOfThreads(),
    ]  # fmt: skip


def of_asyncio(asyncio: Any) -> list[Entry]:
    """List what asyncio keeps."""
    # It has the current loop of a thread, and is made when somebody asks for one.
    policy = Setting(
        "the current event loop", "flow", "loop_policy", lambda: asyncio.events._event_loop_policy,
        lambda own: setattr(asyncio.events, "_event_loop_policy", own), None,
    )  # fmt: skip
    policy.names["asyncio_events"] = vars(asyncio.events)
    policy.usual = policy.fast = 'asyncio_events.get("_event_loop_policy") is None'
    return [
        policy,
        # A notebook has one that runs; a new thread may run its own, and so may every rank.
        Setting(
            "the running event loop", "flow", "running_loop", asyncio._get_running_loop,
            asyncio._set_running_loop, None,
        ),
    ]  # fmt: skip


def of_socket(socket: Any) -> list[Entry]:
    """List what sockets have in common."""
    return [
        Called(
            "how long sockets wait", "rank", "socket_timeout", socket.getdefaulttimeout,
            socket.setdefaulttimeout, (socket, "setdefaulttimeout"), value=None,
        )
    ]  # fmt: skip


class StartOfThreads(Setting):
    """How threads are started: those that ranks start are known, so that ``run`` is refused there.

    It would wait for the run that is under way, and that one perhaps for the thread.
    """

    def __init__(self) -> None:
        start = threading.Thread.start

        def start_and_know(thread: threading.Thread) -> None:
            if runs_ranks():
                THREADS_OF_RANKS.add(thread)
            start(thread)

        super().__init__(
            "how threads are started", "run", "start_of_threads",
            lambda: threading.Thread.start, self._set, start_and_know,
        )  # fmt: skip

    def end(self, callers: Any) -> None:
        """Know them no more."""
        super().end(callers)
        THREADS_OF_RANKS.clear()

    @staticmethod
    def _set(start: Any) -> None:
        threading.Thread.start = start  # type: ignore[method-assign]


def _here() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a path would be normalised
    except OSError:  # it has been removed
        return None


def _go(there: str | None) -> None:
    if there is not None:
        os.chdir(there)


def _locale() -> str:
    return locale.setlocale(locale.LC_ALL)


def _speak(own: str) -> None:
    locale.setlocale(locale.LC_ALL, own)


class _Showing(NamedTuple):
    filters: list[Any]
    contents: list[Any]
    """Of the list that a run begins with: a block may have another one for a while."""
    show: Any
    show_message: Any


class Warnings(Entry):
    """Filters of warnings, and who shows them; the caller's own list is left alone."""

    def __init__(self) -> None:
        module: Any = warnings
        self._module = module
        self._filters = NotingList(module.filters)
        self._usual = self._now()._replace(filters=self._filters)
        self._registries = Registries(module, self._is_as_usual)
        names = {"is_usual_showing": self._is_as_usual, "noted": NOTED}
        super().__init__("filters of warnings", "rank", "is_usual_showing()", names)

    def _now(self) -> _Showing:
        module = self._module
        return _Showing(
            module.filters, list(self._filters), module.showwarning, module._showwarnmsg_impl
        )

    def _is_as_usual(self) -> bool:
        return self._module.filters is self._filters and self._now() == self._usual

    def begin(self) -> Any:
        """Set them to a copy of the caller's, and note changes from now on."""
        callers = self._now()
        self._set(self._usual)
        self._registries.begin()
        if note_variables(self._module):
            self.fast = UNCHANGED
        return callers

    def end(self, callers: Any) -> None:
        """Give the caller back what it had."""
        self._set(callers)
        self._registries.end()
        note_no_more(self._module)

    def put_aside(self) -> Any:
        """Set them to the caller's."""
        own = self._now(), self._registries.own()
        self._set(self._usual)
        return own

    def put_back(self, own: Any) -> None:
        """Set them again."""
        showing, shown = own
        self._set(showing)
        self._registries.put_back(shown)

    def settle(self) -> None:
        """Have nobody warned again because another rank has changed filters."""
        self._registries.put_back_usual()

    def _set(self, showing: _Showing) -> None:
        module = self._module
        module.filters, self._filters[:], module.showwarning, module._showwarnmsg_impl = showing


class Environment(Entry):
    """``os.environ``, through which all changes go that Python sees.

    With ``TZ`` goes the time zone, as after ``time.tzset``.
    """

    def __init__(self) -> None:
        self._variables: Any = os.environ
        self._callers: dict[Any, Any] = vars(self._variables)["_data"]
        self._data = Variables(self._callers)
        super().__init__(
            "variables of the environment", "rank", "variables == variables.usual",
            {"variables": self._data, "noted": NOTED},
        )  # fmt: skip
        self.fast = UNCHANGED
        self._zone = self._variables.encodekey("TZ")
        self._zone_names = time.tzname

    def begin(self) -> None:
        """Note changes from now on."""
        self._data.follow()
        self._let_both_use(self._data)

    def end(self, callers: None) -> None:  # noqa: ARG002 - it has never been put aside
        """Undo what ranks have changed, and note no more."""
        self.put_aside()
        self._let_both_use(self._callers)
        if time.tzname is not self._zone_names:
            _set_time_zone()

    def _let_both_use(self, data: dict[Any, Any]) -> None:
        """Have ``os.environ`` use this dict and, where there is one, ``os.environb``."""
        self._variables._data = data
        if os.supports_bytes_environ:
            vars(os.environb)["_data"] = data

    def end_in_copy(self, callers: None) -> None:
        """Undo it, in the one thread that there is."""
        self._data.begin_anew()
        self.end(callers)

    def put_aside(self) -> dict[Any, Any]:
        """Set all variables to what the caller has; return what is different, None if removed."""
        data = self._data
        with data.lock:
            names = data.keys() | data.usual.keys()
            own = {k: data.get(k) for k in names if data.get(k) != data.usual.get(k)}
            self.put_back({name: data.usual.get(name) for name in own})
        return own

    def put_back(self, own: dict[Any, Any]) -> None:
        """Set those variables again, here and for programs that are started."""
        variables = self._variables
        for key, value in own.items():
            if value is not None:
                variables[variables.decodekey(key)] = variables.decodevalue(value)
            elif key in self._data:
                del variables[variables.decodekey(key)]
        if self._zone in own:
            _set_time_zone()


def _set_time_zone() -> None:
    if sys.platform != "win32":  # where the variable changes nothing
        time.tzset()
