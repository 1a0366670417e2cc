"""Tell calmly how far an installer is: one changing line in a terminal, a few lines elsewhere."""

from __future__ import annotations

import re
import shutil
import sys
import time

from course_setup.saying import say

SILENCE_SECONDS = 20.0


class Progress:
    """Shows what an installer does.

    Parameters
    ----------
    what : str
        What is being installed, such as "PyTorch".
    total : int
        How many packages that are, which pip names one by one; 0 where nobody knows.
    """

    def __init__(self, what: str, total: int = 0) -> None:
        self.what = what
        self._total = total
        self._named: dict[str, set[str]] = {"looking": set(), "downloading": set()}
        self._there: set[str] = set()
        self._is_terminal = sys.stdout.isatty()
        self._started = self._told = time.monotonic()
        self._doing = "starting"
        self._told_steps: set[str] = set()

    def hear(self, line: str) -> None:
        """Take in a line that the installer printed."""
        if line.startswith("Ignoring "):  # a package for another system
            self._total -= 1
        if line.startswith("Requirement already satisfied: "):
            self._there.add(_canonical(line.split()[3]))
        doing = in_plain_words(line)
        if doing:
            self._hear(doing + self._how_far(doing))

    def tick(self) -> None:
        """Let time pass: bring the seconds up to date; elsewhere, break a long silence."""
        now = time.monotonic()
        if self._is_terminal:
            self._redraw(f"  {self.what}, {now - self._started:3.0f} s: {self._doing}")
        elif now - self._told >= SILENCE_SECONDS:
            self._told = now
            say(f"  {self.what}: {self._doing}, {now - self._started:.0f} s so far")

    def end(self) -> None:
        """Clear the changing line."""
        if self._is_terminal:
            self._redraw("")
            say("\r", end="")

    def _hear(self, doing: str) -> None:
        # pip goes to and fro between looking up and downloading: elsewhere tell each step once.
        self._doing = doing
        step = doing.split()[0]
        if step not in self._told_steps and not self._is_terminal:
            self._told_steps.add(step)
            self._told = time.monotonic()
            say(f"  {self.what}: {doing}")

    def _how_far(self, doing: str) -> str:
        """Count the packages that were looked up, or downloaded (or unpacked): ", 12 of 150"."""
        found = re.match(r"(looking|downloading|unpacking)(?: up)? ([A-Za-z][\w.-]*)", doing)
        if found is None or self._total <= 0:
            return ""
        step = "looking" if found[1] == "looking" else "downloading"
        named = self._named[step] | {_canonical(found[2])}
        self._named[step] = named
        number = len(named | self._there) if step == "looking" else len(named)
        total = self._total - len(self._there) * (step == "downloading")
        return f", {min(number, total)} of {total}" if total > 0 else ""

    def _redraw(self, line: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        say(f"\r{shortened(line, width):<{width}}", end="")


def in_plain_words(line: str) -> str:
    """Say what a line of pip or uv means.

    Parameters
    ----------
    line : str
        What the installer printed, without spaces around it.

    Returns
    -------
    str
        A few words, or "" where it tells nothing that a learner wants to know.
    """
    word, _, rest = line.partition(" ")
    if word == "Collecting" or ".whl.metadata" in line:
        subject = rest if word == "Collecting" else rest.rsplit("/", 1)[-1]
        return f"looking up {_package(subject)}"
    if word in ("Downloading", "Using"):
        size = re.search(r"\(([\d.]+) ?([kMG]?i?B)\)", rest)
        shown = f" ({size[1]} {size[2]})" if size else ""
        file = rest.removeprefix("cached ").split(" ")[0].rsplit("/", 1)[-1]
        return f"{'downloading' if word == 'Downloading' else 'unpacking'} {_package(file)}{shown}"
    if line.startswith("Installing collected packages: "):
        return f"installing {_packages(line.count(',') + 1)}"
    prepared = re.match(r"(?:Resolved|Prepared) (\d+) packages?", line)  # uv's
    if prepared:
        step = "downloading" if word == "Resolved" else "installing"
        return f"{step} {_packages(int(prepared[1]))}"
    return ""


def shortened(line: str, width: int) -> str:
    """Cut a line to a width between two words, and show that it was cut."""
    if len(line) <= width:
        return line
    whole_words = line[: width - 1].rpartition(" ")[0]
    return f"{whole_words or line[: width - 2]} …"


def _package(text: str) -> str:
    """Return the name in "torch==2.13.0 (from ...)" or "torch-2.13.0-cp312-....whl"."""
    return re.split(r"-(?=\d)|[\s=<>~!;\[(]", text, maxsplit=1)[0]


def _canonical(name: str) -> str:
    """Return the one spelling of a package's name, whatever its file or its requirement writes."""
    return re.sub(r"[-_.]+", "-", _package(name)).lower()


def _packages(count: int) -> str:
    return f"{count} package{'s' if count > 1 else ''}"
