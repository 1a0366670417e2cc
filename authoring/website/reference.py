"""The reference: a page for each package of the library, from what its ``__all__`` offers."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import course_lib

__all__ = ["offering_modules", "reference_pages"]

_LEFT_OUT = ("course_lib.checks", "course_lib.lectures", "course_lib.cli", "course_lib.console")
"""What belongs to one notebook, or to the command line."""


def offering_modules() -> list[str]:
    """List the packages whose names learners are meant to use, and the modules named by them.

    Returns
    -------
    list of str
        Full names, in order.
    """
    found = ["course_lib"]
    for info in pkgutil.iter_modules(course_lib.__path__, "course_lib."):
        if info.ispkg and not info.name.startswith(_LEFT_OUT):
            package = importlib.import_module(info.name)
            if hasattr(package, "__all__"):
                found.append(info.name)
    return found


def reference_pages() -> Iterator[tuple[str, str]]:
    """Write the reference as reStructuredText.

    Yields
    ------
    (str, str)
        The page's name, without suffix, and its text.
    """
    names = offering_modules()
    entries = "".join(f"   {name}\n" for name in names)
    title = "Reference"
    yield (
        "reference/index",
        f"{title}\n{'=' * len(title)}\n\nWhat the packages of ``course_lib`` offer, in the words of"
        " their docstrings; [source] shows the code. All names: :ref:`genindex`.\n\n"
        f".. toctree::\n   :maxdepth: 2\n\n{entries}",
    )
    for name in names:
        yield f"reference/{name}", _page(name)


def _page(name: str) -> str:
    package = importlib.import_module(name)
    blocks = [
        f"{name}\n{'=' * len(name)}\n",
        f".. automodule:: {name}\n   :no-members:\n",
    ]
    blocks += [_entry(package, one) for one in package.__all__ if not one.startswith("_")]
    return "\n".join(blocks)


def _entry(package: ModuleType, name: str) -> str:
    thing = getattr(package, name)
    if inspect.ismodule(thing):
        return f"{name}\n{'-' * len(name)}\n\n.. automodule:: {thing.__name__}\n   :members:\n"
    if inspect.isclass(thing):
        kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
        return f"{name}\n{'-' * len(name)}\n\n.. {kind}:: {package.__name__}.{name}\n   :members:\n"
    kind = "autofunction" if callable(thing) else "autodata"
    return f"{name}\n{'-' * len(name)}\n\n.. {kind}:: {package.__name__}.{name}\n"
