"""Warnings about a run, at the line that called it."""

import sys
import warnings

__all__ = ["warn_caller"]

_OURS = __name__.rpartition(".")[0]


def warn_caller(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn as if the line outside ``course_lib.comm`` did it, through which we got here.

    Parameters
    ----------
    text : str
        What is to be said.
    category : type of Warning, default: RuntimeWarning
        Its kind.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
