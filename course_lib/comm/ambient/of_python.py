"""What Python and NumPy keep."""

import os
import sys
import time
import warnings
from typing import Any, NamedTuple

from course_lib.comm.ambient.entries import Entry, Setting
from course_lib.comm.ambient.generators import generators
from course_lib.comm.ambient.given_back import given_back
from course_lib.comm.ambient.notes import (
    NOTED,
    NotingList,
    Variables,
    note_no_more,
    note_variables,
)
from course_lib.comm.ambient.registries import Registries

__all__ = ["of_asyncio", "of_python"]

_UNCHANGED = "not noted.changed"


def of_python(seed: int) -> list[Entry]:
    """List it, for a run of that seed."""
    return [
        # What ranks print and warn of goes where the caller's does, as from real processes.
        Attribute("redirected output", sys, "stdout"),
        Attribute("redirected errors", sys, "stderr"),
        Attribute("what is done with an exception that nobody catches", sys, "excepthook"),
        Attribute("what is done with an exception that cannot be raised", sys, "unraisablehook"),
        Attribute("how a result is shown", sys, "displayhook"),
        Warnings(),
        # Programs tell themselves by them who they are: os.environ["LOCAL_RANK"].
        Environment(),
        # Each rank seeds them, or not, and draws its own numbers.
        *generators(seed),
        *given_back(),
    ]


def of_asyncio(asyncio: Any) -> list[Entry]:
    """List what asyncio keeps."""
    return [
        # A notebook has one that runs; a new thread may run its own, and so may every rank.
        Setting(
            "the running event loop", "flow", "running_loop", asyncio._get_running_loop,
            asyncio._set_running_loop, None,
        )
    ]  # fmt: skip


class Attribute(Entry):
    """A variable of a module; what the caller has in it is what ranks find.

    Parameters
    ----------
    what : str
        What it is, in words.
    module : module
        The module.
    name : str
        The variable.
    """

    def __init__(self, what: str, module: Any, name: str) -> None:
        self._usual = getattr(module, name)
        usual = f"{module.__name__}.{name} is usual_{name}"
        names = {module.__name__: module, f"usual_{name}": self._usual, "noted": NOTED}
        super().__init__(what, "rank", usual, names)
        self._module = module
        self._name = name

    def begin(self) -> Any:
        """Note changes from now on."""
        if note_variables(self._module):
            self.quick = _UNCHANGED

    def end(self, callers: Any) -> None:  # noqa: ARG002 - it has never been put aside
        """Undo what was changed."""
        self.put_back(self._usual)
        note_no_more(self._module)

    def put_aside(self) -> Any:
        """Set it to what the caller has."""
        own = getattr(self._module, self._name)
        self.put_back(self._usual)
        return own

    def put_back(self, own: Any) -> None:
        """Set it again."""
        setattr(self._module, self._name, own)


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
            self.quick = _UNCHANGED
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
        self.quick = _UNCHANGED
        self._zone = self._variables.encodekey("TZ")
        self._zone_names = time.tzname

    def begin(self) -> None:
        """Note changes from now on."""
        self._data.follow()
        self._variables._data = self._data

    def end(self, callers: None) -> None:  # noqa: ARG002 - it has never been put aside
        """Undo what ranks have changed, and note no more."""
        self.put_aside()
        self._variables._data = self._callers
        if time.tzname is not self._zone_names:
            _set_time_zone()

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
