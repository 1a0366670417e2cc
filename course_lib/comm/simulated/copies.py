"""Copies that a simulated rank makes of the program (``os.fork``) end at once.

Such a copy would go on with all ranks, with the rest of the program, or with the whole notebook:
two kernels would read the same messages from the browser. Importing this sees to it.
"""

import os
import warnings

from course_lib.comm.result import runs_ranks

__all__: list[str] = []


def _end() -> None:
    if runs_ranks():
        os._exit(1)


def _tell() -> None:
    if runs_ranks():
        warnings.warn(
            "a simulated rank called os.fork: the copy of the program has ended at once; run "
            "starts the workers, and a rank is none that could be copied",
            RuntimeWarning,
            stacklevel=2,
        )


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing can be copied
    os.register_at_fork(after_in_child=_end, after_in_parent=_tell)
