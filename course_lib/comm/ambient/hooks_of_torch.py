"""Hooks of all modules and optimizers of torch: ``register_module_forward_hook`` and the like."""

from collections import OrderedDict
from typing import Any

from course_lib.comm.ambient.entries import Entry
from course_lib.comm.ambient.notes import NOTED, NotingDict

__all__ = ["GlobalHooks"]


class GlobalHooks(Entry):
    """Every ``_global_*`` variable of a module of torch: dicts of hooks, and what goes with them.

    A hook is removed from the very dict that it was put into. So everybody has dicts of their own,
    and what changes hands is those, not what is in them.

    Parameters
    ----------
    whose : str
        Whose hooks they are, ``"modules"``.
    module : module
        ``torch.nn.modules.module`` or ``torch.optim.optimizer``.
    """

    def __init__(self, whose: str, module: Any) -> None:
        question = f"hooks_of_{whose}_are_usual"
        super().__init__(
            f"hooks of all {whose}", "rank", f"{question}()",
            {question: self._are_usual, "noted": NOTED},
        )  # fmt: skip
        self.fast = "not noted.changed"
        self._variables = vars(module)
        now = {k: v for k, v in self._variables.items() if k.startswith("_global_")}
        self._dicts = [name for name, value in now.items() if isinstance(value, OrderedDict)]
        self._others = dict.fromkeys(now.keys() - set(self._dicts))  # None in a new process
        self._usual: dict[str, Any] = {}

    def begin(self) -> Any:
        """Have no hooks; return the caller's."""
        return (self.put_aside(),)

    def begin_late(self) -> Any:
        """Begin, though there may be hooks of the rank's; the caller has none."""
        NOTED.changed = True
        self._usual = self._new(NotingDict)
        return (self._new(OrderedDict),)

    def put_aside(self) -> Any:
        """Have no hooks, in dicts that nobody else has."""
        own = {name: self._variables[name] for name in (*self._dicts, *self._others)}
        self._usual = self._new(NotingDict)
        self._variables.update(self._usual)
        return own

    def put_back(self, own: Any) -> None:
        """Have those hooks again; they are still there at the next switch."""
        self._variables.update(own)
        NOTED.changed = True

    def _new(self, kind: type[OrderedDict[Any, Any]]) -> dict[str, Any]:
        return {**{name: kind() for name in self._dicts}, **self._others}

    def _are_usual(self) -> bool:
        return all(
            self._variables[name] is usual and not usual for name, usual in self._usual.items()
        )
