"""Read what a candidate's process has written, as data from a stranger.

Observations are pickled. A pickle can name any function and have it called, so here only the dozen
classes are known that an observation consists of, and nothing is set on a class itself.
"""

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from course_lib.checks.sandbox import Observation

__all__ = ["UnreadableError", "read"]

_BOOK_BYTES = 300 * 2**20
_KNOWN = {
    ("course_lib.checks.plain", "PlainTuple"),
    ("course_lib.checks.plain", "Unusable"),
    ("course_lib.checks.sandbox", "Mishap"),
    ("course_lib.checks.sandbox", "Observation"),
    *(
        ("course_lib.trace.events", name)
        for name in ("Collective", "Compute", "Fault", "Message", "Note", "Wait")
    ),
    ("course_lib.trace.table", "Table"),
    ("course_lib.trace.trace", "Trace"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
}


class UnreadableError(ValueError):
    """There is something in a book that no candidate's process writes."""


class _Reader(pickle._Unpickler):
    """In Python, because the faster one cannot be told what not to do."""

    stack: list[Any]
    dispatch: ClassVar[dict[int, Callable[..., None]]] = dict(pickle._Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        """Hand out what an observation consists of."""
        if (module, name) not in _KNOWN:
            raise UnreadableError(f"{module}.{name} stands in it")
        return super().find_class(module, name)

    def persistent_load(self, _: Any) -> Any:
        """Know nothing that lies elsewhere."""
        raise UnreadableError("something is left out")

    def load_build(self) -> None:
        """Give an object its attributes, but no class."""
        if isinstance(self.stack[-2], type) or callable(self.stack[-2]):
            raise UnreadableError("a class is changed")
        super().load_build()  # type: ignore[misc]

    def load_ext(self) -> None:
        """Know no numbers for classes."""
        raise UnreadableError("a registered class stands in it")

    dispatch[pickle.BUILD[0]] = load_build
    for _code in (pickle.EXT1, pickle.EXT2, pickle.EXT4):
        dispatch[_code[0]] = load_ext


def read(book: Path) -> tuple[float | None, list[Observation]]:
    """Read how long an answer took to be loaded, and what was seen of it.

    Parameters
    ----------
    book : Path
        The file.

    Returns
    -------
    loading_s : float or None
        None where the answer was not loaded.
    seen : list of Observation
        A case each, as far as they are whole.

    Raises
    ------
    UnreadableError
        If there is something else in it.
    """
    if not book.is_file():
        return None, []
    with book.open("rb") as file:
        data = io.BytesIO(file.read(_BOOK_BYTES))
    pages: list[Any] = []
    try:
        while data.tell() < len(data.getbuffer()):
            pages.append(_Reader(data).load())
    except UnreadableError:
        raise
    except (EOFError, pickle.UnpicklingError):  # the last page is not whole
        pass
    except Exception as error:
        raise UnreadableError(f"{type(error).__name__} when it was read") from None
    if not pages:
        return None, []
    if type(pages[0]) is not float or any(type(page) is not Observation for page in pages[1:]):
        raise UnreadableError("there is something else in it")
    return pages[0], pages[1:]
