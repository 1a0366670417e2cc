"""Turn what goes wrong into one clear sentence and an exit status."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from course_setup.saying import say


class SetupError(Exception):
    """Something the learner can mend; the text is one sentence that says how."""


@dataclass
class Outcome:
    """The exit status of a command."""

    status: int = 0


@contextmanager
def told_in_one_sentence() -> Iterator[Outcome]:
    """Print a problem as one sentence and leave a non-zero status in the outcome.

    Yields
    ------
    Outcome
        Its status is 0 unless the block sets it or fails: 1 for a problem, 130 for Ctrl-C.
    """
    outcome = Outcome()
    try:
        yield outcome
    except SetupError as problem:
        _tell(str(problem))
        outcome.status = 1
    except KeyboardInterrupt:
        _tell("stopped; run the same command again to go on.")
        outcome.status = 130
    except OSError as error:
        _tell(sentence_for(error))
        outcome.status = 1


def _tell(sentence: str) -> None:
    say(f"course.py: {sentence}", stream=sys.stderr)


def sentence_for(error: OSError) -> str:
    """Say what an operating system's refusal means for the learner."""
    where = error.filename if isinstance(error.filename, str) else "this folder"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full: make room (the course needs about 3 GB), then run this again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY):
        return (
            f"may not write {where}: close programs that use it, or copy the course to a folder "
            "that you may write to, then run this again."
        )
    if error.errno == errno.ENOENT:
        return f"{where} is missing: get the course's files back with git, then run this again."
    return (
        f"{where}: {error.strerror or error}; see what it is, or get the course anew into another "
        "folder, then run this again."
    )


# What pip and uv print when they fail, and what it means. The first that matches is told.
_REASONS: tuple[tuple[str, str], ...] = (
    (
        r"certificate is not yet valid|certificate has expired",
        "the package index shows a certificate for another time: set this computer's clock right, "
        "then run this again.",
    ),
    (
        r"No space left on device|Errno 28|not enough space|os error 28",
        "the disk is full: make room (the course needs about 3 GB), then run this again.",
    ),
    (
        r"NewConnectionError|Failed to establish a new connection|Max retries exceeded|"
        r"Connection (?:refused|reset|aborted)|Temporary failure in name resolution|"
        r"Name or service not known|getaddrinfo failed|Network is unreachable|ConnectTimeout|"
        r"Read timed out|ProxyError|SSLError|SSL module is not available|"
        r"dns error|error sending request|Could not connect",
        "the package index cannot be reached: check the network (and proxy), then run this again.",
    ),
    (
        r"No matching distribution found for torch|torch==\S+ has no wheels|"
        r"no version of torch==|torch.{0,200}no wheels with a matching|"
        r"Cannot install torch==\S+ because these package versions have conflicting dependencies",
        "no PyTorch 2.13 can be had from the package index: it cannot be reached, or has none for "
        "this system and Python (there are builds for 64-bit Linux with glibc, for Windows, and "
        "for macOS 14 or newer on M processors).",
    ),
    (
        r"Permission denied|Errno 13|Access is denied|Read-only file system",
        "may not write .venv: close programs that use it, or copy the course to a folder that you "
        "may write to, then run this again.",
    ),
)


def explain_installer(lines: Sequence[str]) -> str:
    """Explain a failed installation by what the installer printed.

    Parameters
    ----------
    lines : sequence of str
        The last lines that pip or uv printed.

    Returns
    -------
    str
        One sentence where the reason is known, else the installer's own last words and a sentence.
    """
    text = "\n".join(lines)
    for pattern, sentence in _REASONS:
        if re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            return sentence
    missing = re.search(r"No matching distribution found for (\S+)", text)
    if missing:
        return f"the package index has no {missing.group(1)} for this system and Python."
    own_words = "\n".join(f"    {line}" for line in lines[-12:])
    return f"the packages could not be installed; the installer's last words:\n{own_words}"
