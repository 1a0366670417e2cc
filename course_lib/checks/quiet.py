"""A task that nobody has tried yet stays quiet: a sentence where its stub is called, no traceback.

The cell "now on real processes" calls a function that the learner may not have written yet.
"""

import re
import sys
from types import TracebackType
from typing import Any

from course_lib.comm.errors import RunError
from course_lib.console.outputs import say

__all__ = ["STUB_SAYS", "keep_stubs_quiet", "quiet_sentence"]

STUB_SAYS = "write this function, then run the check below"
"""What a stub raises, as a ``NotImplementedError``."""

_FRAME = re.compile(r"line \d+, in (\w+)$", re.MULTILINE)


def keep_stubs_quiet() -> None:
    """Have the notebook that this runs in, if any, say it in a sentence when a stub is called."""
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython

    shell: Any = get_ipython()
    if shell is not None and not shell.custom_exceptions:  # else somebody has plans for them
        shell.set_custom_exc((NotImplementedError, RunError), _tell)


def quiet_sentence(error: BaseException, frames: TracebackType | None = None) -> str | None:
    """Say that a function is not written yet, if that is what an error is about.

    Parameters
    ----------
    error : BaseException
        What was raised, by a stub or by a run of one.
    frames : traceback or None, default: None
        Where.

    Returns
    -------
    str or None
        The sentence; None for any other error.
    """
    if STUB_SAYS not in str(error):
        return None
    if isinstance(error, RunError):
        names = _FRAME.findall(str(error))
    else:
        names = []
        while frames is not None:
            names.append(frames.tb_frame.f_code.co_name)
            frames = frames.tb_next
    name = names[-1] if names else "the function"
    return f"{name} is not written yet. Once its check passes, run this cell again."


def _tell(
    shell: Any, kind: type[BaseException], error: BaseException, frames: TracebackType,
    tb_offset: int | None = None,
) -> None:  # fmt: skip
    sentence = quiet_sentence(error, frames)
    if sentence is None:
        shell.showtraceback((kind, error, frames), tb_offset=tb_offset)
    else:
        say(sentence)
