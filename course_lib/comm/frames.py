"""Where a function is, or was: frames as plain values, and how a learner reads them."""

import linecache
import re
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from course_lib.words.repeats import repeats

__all__ = [
    "AGAIN",
    "END",
    "Frame",
    "frames_of",
    "frames_of_dump",
    "frames_of_stack",
    "is_of_library",
    "of_exception",
    "place",
    "render",
    "user_frame",
]

_HERE = (Path(__file__), Path(__file__).resolve())  # a link, or "..", may lead here
_COMM = tuple(str(path.parent) for path in _HERE)
_PACKAGE = tuple(str(path.parents[1]) for path in _HERE)
_LIBRARIES = (
    *_PACKAGE,
    "<frozen",
    "<string>",  # what namedtuple and dataclass write
    *(sysconfig.get_path(name) for name in ("stdlib", "purelib")),
)
_OF_A_NEW_THREAD = ("_bootstrap", "_bootstrap_inner", "run")
_MOST_FRAMES = 40
_MOST_PARTNERS = 4  # that call each other
AGAIN = "  ... and the same again, many times"
"""How a stack ends in which a function calls itself."""
END = "the end of its function"
"""Where a rank is whose function has returned."""
_AT_END = "settle_all"  # where a function that has returned waits for what it has begun

Frame = tuple[str, int, str]
"""File name, line number, function name."""


def frames_of(tb: TracebackType | None) -> tuple[Frame, ...]:
    """List the frames of a traceback, outermost first, without the launcher's own."""
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(tb)
    ]
    return _without_launcher(frames)


def of_exception(error: BaseException, name: str) -> Any:
    """Return what every exception has, without asking its class, which may be a learner's."""
    return BaseException.__dict__[name].__get__(error)


def frames_of_stack(frame: FrameType | None) -> tuple[Frame, ...]:
    """List the frames of a running or suspended function, outermost first."""
    frames = [(f.f_code.co_filename, line, f.f_code.co_name) for f, line in _walk(frame)]
    return _without_launcher(frames[::-1])


def frames_of_dump(text: str) -> tuple[Frame, ...]:
    """List the frames in what Python's fault handler wrote, outermost first."""
    found = re.findall(r'^  File "(.*)", line (\d+) in (.*)$', text, re.MULTILINE)
    return _without_launcher([(name, int(line), where) for name, line, where in found][::-1])


def _walk(frame: FrameType | None) -> Iterable[tuple[FrameType, int]]:
    while frame is not None:
        yield frame, frame.f_lineno
        frame = frame.f_back


def _without_launcher(frames: list[Frame]) -> tuple[Frame, ...]:
    if any(where == _AT_END for name, _, where in frames if name.startswith(_COMM)):
        return ((END, 0, _AT_END),)
    kept = [frame for frame in frames if not frame[0].startswith(_COMM)]
    start = 0  # below the learner's function lies only what started it
    for index, (name, _, function) in enumerate(kept):
        begins_thread = name == threading.__file__ and function in _OF_A_NEW_THREAD
        if begins_thread or any(what in name for what in ("multiprocess", "runpy", "greenlet")):
            start = index + 1
    return tuple(kept[start:][-_MOST_FRAMES:])


def user_frame(frames: tuple[Frame, ...]) -> Frame | None:
    """Pick the frame a learner wants to see: the innermost outside this and other libraries."""
    for not_wanted in (_LIBRARIES, _PACKAGE):
        for frame in reversed(frames):
            if not frame[0].startswith(not_wanted):
                return frame
    return frames[-1] if frames else None


def is_of_library(frame: Frame) -> bool:
    """Tell whether a frame is Python's own, this package's or another's, and not a learner's."""
    return frame[0].startswith(_LIBRARIES)


def place(frame: Frame | None) -> str:
    """Say where a frame is: ``cell In[5], line 3`` in a notebook, else ``file.py, line 3``."""
    if frame is None:
        return "an unknown line"
    filename, line, function = frame
    if function == _AT_END and not line:
        return filename
    if "IPython" in sys.modules:
        from IPython import get_ipython

        shell = get_ipython()
        name = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(
            filename
        )
        if name is not None:
            return f"cell {name[1]}, line {line}"
    return f"{Path(filename).name}, line {line}"


def render(frames: tuple[Frame, ...]) -> str:
    """Lay out frames with their source lines, as Python does, notebook cells by their number.

    Functions that call themselves, or each other, are told once.
    """
    lines = []
    for block, times in repeats(frames, longest=_MOST_PARTNERS):
        for frame in block:
            source = linecache.getline(frame[0], frame[1]).strip()
            lines.append(f"  {place(frame)}, in {frame[2]}")
            if source:
                lines.append(f"    {source}")
        if times > 1:
            lines.append(AGAIN)
    return "\n".join(lines)
