"""The course for students: all that a copy needs to work by itself, and no solutions.

What stays, because lectures read it aloud and programs stand on it: the library, with its
collectives and schemes. What also stays, because a check needs it: the right *results*, in plain
NumPy. What goes: ``solutions/``, the sources that exercises are cut from, all tests with their
right and wrong answers, the notes for lecturers, which answer what a lecture asks, and the module
in which the checks keep right *runs*; without it a failing run is still shown, but its picture
begins at the beginning.
"""

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from authoring.build import ROOT, text_of
from authoring.scripts import AuthoringError, read_script
from authoring.solutions import FROM, holds, plain, secrets

__all__ = ["Leak", "leaks", "write"]

FILES = (
    "course.py",
    "requirements.lock",
    "environment.yml",
    "LICENSE",
    "CHANGELOG.md",
    "SECURITY.md",
)
FOLDERS = ("course_setup", "course_lib", "lab_settings", "notebooks", "exercises", "docs")
LEFT_OUT = (
    "course_lib/checks/right_runs.py",
    "docs/exam",
    "docs/lecturer",
    "docs/own_exercise.md",
    "docs/own_lecture.md",
)
_NOT_OURS = ("__pycache__", "*.pyc", ".*")
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TEXTS = {".py", ".ipynb", ".md", ".json", ".txt"}

README = """# A course that runs

Distributed training from the first message to the last gradient, on four real worker processes of
your own laptop, and on a thousand simulated ones. You write the schemes yourself, from send and
receive, and a check tells you in a sentence what is wrong.

You need Python 3.11 to 3.14 (64-bit) and about 3 GB of disk, on Linux, Windows, or a Mac with an
M processor. Nothing else has to be installed by hand, and no GPU is needed.

```sh
python course.py lab      # opens lecture 00 in JupyterLab
```

(Where `python` is an older one, use `python3` or `python3.12`.) The first run makes a folder
`.venv` and installs exact versions of everything into it, which takes a minute or two.

You work in copies in `workbook/`. `python course.py reset 02` gets lecture and exercise 02 back as
they were, with your version beside it. Hand in the notebook `workbook/exercises/NN_....ipynb`: the
functions that you have written in it are run, and what a check printed for you does not count.

Something does not work? `.venv/bin/python -m course_lib doctor` (Windows: `.venv\\Scripts\\python`)
says how to fix it.

| lecture | |
|---|---|
{lectures}

[docs/glossary.md](docs/glossary.md) for words · [docs/comm.md](docs/comm.md) for all that `comm`
can do · [MIT](LICENSE)
"""


class Leak(NamedTuple):
    """A solution that can be read."""

    script: str
    line: int
    place: str


def write(target: Path, root: Path = ROOT) -> list[Path]:
    """Write the course for students into a folder, or into a ``.zip``.

    Parameters
    ----------
    target : Path
        A folder that is not there yet or is empty, or the name of a new zip file.
    root : Path, optional
        The project's folder.

    Returns
    -------
    list of Path
        The files, relative to the folder.

    Raises
    ------
    AuthoringError
        If something is there already, or it lies in what is copied, or a solution could still be
        read: then nothing is kept.
    """
    if any(target.resolve().is_relative_to((root / name).resolve()) for name in FOLDERS):
        raise AuthoringError(target, 1, "lies in a folder that is copied: name one outside of it")
    is_zip = target.suffix == ".zip"
    if target.exists() and (is_zip or not target.is_dir() or any(target.iterdir())):
        raise AuthoringError(target, 1, "is there already: name a new folder or zip file")
    folder = target.with_suffix("") if is_zip else target
    if is_zip and folder.exists():
        raise AuthoringError(folder, 1, "is there already, and the zip is made from such a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _copy(root, folder)
        found = list(leaks(folder, root))
        if found:
            raise AuthoringError(
                root / found[0].script, found[0].line,
                f"this solution could be read in {found[0].place}",
            )  # fmt: skip
        files = sorted(file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
        if is_zip:
            _pack(target, folder, files)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        target.unlink(missing_ok=True) if is_zip else None
        raise
    if is_zip:
        shutil.rmtree(folder)
    return files


def leaks(folder: Path, root: Path = ROOT) -> Iterator[Leak]:
    """Find the solutions that can be read in a folder.

    Parameters
    ----------
    folder : Path
        What students get.
    root : Path, optional
        The project's folder, which has the solutions.

    Yields
    ------
    Leak
        One for each place. A solution that is an algorithm of the library's own, told by
        ``# SOLUTION FROM``, is to be read there, and nowhere else.
    """
    texts = {
        file.relative_to(folder).as_posix(): list(_visible(file))
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix in _TEXTS
    }
    for script in sorted((root / "authoring" / "exercises").glob("*.py")):
        for cell in read_script(script):
            homes = {
                name.replace(".", "/") + ".py"
                for name in re.findall(rf"{FROM} ([\w.]+):", cell.source)
            }
            for line, secret in secrets(script, cell):
                for place, visible in texts.items():
                    if place not in homes and any(holds(text, secret) for text in visible):
                        yield Leak(script.relative_to(root).as_posix(), line, place)


def _visible(file: Path) -> Iterator[str]:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        for cell in json.loads(text)["cells"]:
            yield plain("".join(cell["source"]))
        return
    yield plain(text)
    if file.suffix == ".md":
        yield from map(plain, _BLOCK.findall(text))


def _copy(root: Path, folder: Path) -> None:
    for name in FILES:
        if (root / name).exists():
            shutil.copy(root / name, folder / name)
    for name in FOLDERS:
        shutil.copytree(
            root / name, folder / name, ignore=shutil.ignore_patterns(*_NOT_OURS),
            dirs_exist_ok=True,
        )  # fmt: skip
    for name in LEFT_OUT:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    for file in (folder / "notebooks").glob("*.ipynb"):
        _take_notes_out(file)
    (folder / "README.md").write_text(
        README.format(lectures=_lectures(root)), encoding="utf-8", newline="\n"
    )


def _take_notes_out(file: Path) -> None:
    """Leave what is said to lecturers out of a notebook: it answers what the class is asked."""
    notebook = json.loads(file.read_text(encoding="utf-8"))
    notebook["cells"] = [cell for cell in notebook["cells"] if not _is_note(cell)]
    file.write_text(text_of(notebook), encoding="utf-8", newline="\n")


def _is_note(cell: dict[str, Any]) -> bool:
    return bool(cell["metadata"].get("slideshow", {}).get("slide_type") == "notes")


def _lectures(root: Path) -> str:
    told = (root / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^(\| [0-8]\d \| [^|]+\|) lecture, ", told, re.MULTILINE)
    return "\n".join(found)


def _pack(target: Path, folder: Path, files: list[Path]) -> None:
    """Pack with the same times always, so that the same course gives the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            entry = zipfile.ZipInfo(f"{folder.name}/{file.as_posix()}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, (folder / file).read_bytes())
