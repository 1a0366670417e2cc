"""All submissions, some at a time, each with an examiner's process; none of them stops the others.

The hall believes nothing but the lines that an examiner prints. A file is not even opened here.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic

from course_lib.checks import SETS
from course_lib.grading.examiner import START_S, Order

__all__ = ["Graded", "Verdict", "grade", "submissions"]

_MORE_S = 120.0  # for reading, judging, and a computer that is busy


@dataclass(frozen=True)
class Verdict:
    """What was found about one task.

    Attributes
    ----------
    status : str
        ``"passed"``, ``"failed"`` or ``"not written yet"``.
    hint : str
        The short name of the hint; empty unless it failed.
    report : str
        What the check would say, as text.
    """

    status: str
    hint: str = ""
    report: str = ""


@dataclass
class Graded:
    """What was found about one submission.

    Attributes
    ----------
    name : str
        The file, as it is told in the table.
    number : str
        Which exercises; empty where that could not be found.
    verdicts : dict of str to Verdict
        By task; a task that is missing here has not been examined.
    note : str
        Why something is missing; empty where nothing is.
    """

    name: str
    number: str = ""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    note: str = ""

    @property
    def tasks(self) -> Sequence[str]:
        """The tasks of its exercises, in order."""
        return SETS.get(f"lecture_{self.number}", ())

    @property
    def n_passed(self) -> int:
        """How many tasks are solved."""
        return sum(verdict.status == "passed" for verdict in self.verdicts.values())


def submissions(given: Sequence[Path]) -> list[tuple[str, Path]]:
    """List the notebooks that are to be graded.

    Parameters
    ----------
    given : sequence of Path
        Notebooks, and folders in which all of them count, at any depth. What JupyterLab keeps as
        checkpoints does not count, nor what is hidden. A link in a folder is listed and not
        followed: it would put another one's work under its own name.

    Returns
    -------
    list of (str, Path)
        A name for the table and the file, sorted by name; each file once.

    Raises
    ------
    ValueError
        If there is no such file, or nothing to grade.
    """
    found: dict[Path, str] = {}
    for path in given:
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                inner = file.relative_to(path)
                if _is_handed_in(file) and not any(part.startswith(".") for part in inner.parts):
                    where = file.parent.resolve() / file.name
                    found.setdefault(where, _name_of(inner if len(given) == 1 else file))
        elif path.is_file():
            found.setdefault(path.resolve(), _name_of(path))
        else:
            raise ValueError(f"there is no file or folder {path}")
    if not found:
        raise ValueError("there is no notebook (*.ipynb) in what was given")
    return sorted((name, file) for file, name in found.items())


def grade(
    files: Sequence[tuple[str, Path]], order: Order, jobs: int,
    tell: Callable[[int, str], None] = lambda *_: None,
) -> Generator[Graded, None, None]:  # fmt: skip
    """Grade submissions, some at a time.

    Parameters
    ----------
    files : sequence of (str, Path)
        What ``submissions`` returned.
    order : Order
        How each is examined; its file is filled in here.
    jobs : int
        How many at a time.
    tell : callable
        Told how many are done, and which one was last.

    Yields
    ------
    Graded
        In the order given. When the generator is closed, or an exception comes from outside, all
        processes end.
    """
    lives: set[subprocess.Popen[bytes]] = set()
    stopped = threading.Event()
    pool = ThreadPoolExecutor(jobs)
    try:
        futures: dict[Future[Graded], str] = {
            pool.submit(_graded, name, file, order, lives, stopped): name for name, file in files
        }
        waiting, n_done, ready = list(futures), 0, set[Future[Graded]]()
        while waiting:
            done, _ = wait(set(futures) - ready, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done - ready:
                n_done += 1
                tell(n_done, futures[future])
            ready |= done
            while waiting and waiting[0] in ready:
                yield waiting.pop(0).result()
    finally:
        stopped.set()
        for process in list(lives):
            _close(process)
        pool.shutdown(cancel_futures=True)


def _graded(
    name: str, file: Path, order: Order, lives: set[subprocess.Popen[bytes]],
    stopped: threading.Event,
) -> Graded:  # fmt: skip
    graded = Graded(name, order.number)
    if stopped.is_set():
        return Graded(name, order.number, note="stopped before it was examined")
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "course_lib.grading.examiner"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONSAFEPATH": "1"},
        start_new_session=True,  # Ctrl-C is heard by the hall alone
    )  # fmt: skip
    lives.add(process)
    most_s = _MORE_S + max(map(len, SETS.values())) * (order.time_limit_s + START_S)
    alarm = threading.Timer(most_s, _close, (process,))
    alarm.start()
    began_s = monotonic()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        asked = asdict(order) | {"file": str(file)}
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        ended = any(_take(graded, line) for line in process.stdout)
    except OSError:
        ended = False
    finally:
        alarm.cancel()
        _close(process)
        lives.discard(process)
    if stopped.is_set():
        graded.note = "stopped before all was examined"
    elif not ended and monotonic() - began_s > most_s:
        graded.note = f"not all was examined in {most_s:.0f} s"
    elif not ended:
        graded.note = f"its examination ended early (status {process.returncode})"
    return graded


def _take(graded: Graded, line: bytes) -> bool:
    """Take in what an examiner has found; tell whether that was all."""
    row = json.loads(line)
    if "set" in row:
        graded.number = row["set"]
    elif "note" in row:
        graded.note = _plain(row["note"])
    elif "task" in row:
        graded.verdicts[row["task"]] = Verdict(row["status"], row["hint"], _plain(row["report"]))
    return "end" in row


def _close(process: subprocess.Popen[bytes]) -> None:
    """End an examiner, which ends what it has started when its line is cut."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _is_handed_in(file: Path) -> bool:
    """Tell whether a file has a row in the table; perhaps only to say that it cannot be read."""
    return file.suffix.lower() == ".ipynb" and (file.is_symlink() or not file.is_dir())


def _name_of(path: Path) -> str:
    """Return a name that a terminal may print: students choose the names of files."""
    name = path.as_posix()
    return name if name.isprintable() else ascii(name)[1:-1]


def _plain(text: str) -> str:
    """Return text that a terminal may print: students choose what their errors say.

    What moves the cursor could write another verdict over the one that stands there.
    """
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text
    )
