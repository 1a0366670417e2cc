"""What is done in the moment in which a module has been loaded.

A rank may load torch in its function, and draw a number in the next line: nobody looks at what
torch keeps in between, and torch seeds its generator with another number in every process.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from typing import Any

__all__ = ["WhenLoaded"]


class WhenLoaded:
    """Calls a function with a module as soon as that has been loaded, before its importer goes on.

    It stands before those who find modules, until then or until ``forget``.

    Parameters
    ----------
    name : str
        The module; it is not loaded yet.
    then : callable
        Called with it, once.
    """

    def __init__(self, name: str, then: Callable[[Any], object]) -> None:
        self._name, self._then = name, then
        sys.meta_path.insert(0, self)

    def forget(self) -> None:
        """Do nothing any more."""
        with suppress(ValueError):  # it has been loaded, or somebody has cleared the list
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """Have those behind it find the module, and be told when it has been loaded.

        Those in front have been asked already. One of its own kind among them would ask it back.
        """
        if name != self._name or self not in sys.meta_path:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self._wait_for(spec.loader)
                return spec
        return None

    def _wait_for(self, loader: Any) -> None:
        if loader is None:  # a folder without code, which is nothing to load
            return
        load = loader.exec_module

        def load_and_tell(module: Any) -> None:
            load(module)
            if module.__name__ != self._name:  # one loader may load many
                return
            vars(loader).pop("exec_module", None)  # that of its class is there again
            self.forget()
            self._then(module)

        loader.exec_module = load_and_tell
