"""``python -m authoring new NN name`` begins a lecture; ``missing`` says what it still lacks.

What a lecture consists of stands in ``FILES`` and ``missing``, and nowhere else: the command that
writes the files, the one that says what is missing, and a test go by them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from authoring.build import ROOT, check, targets
from authoring.form import form_of, problems_of_form
from authoring.scripts import AuthoringError, read_script

__all__ = ["FILES", "begin", "missing", "numbers"]

FILES = {
    "authoring/lectures/@STEM@.py": "lecture",
    "authoring/exercises/@STEM@.py": "exercise",
    "course_lib/checks/lecture_@NUMBER@/__init__.py": "",
    "course_lib/checks/lecture_@NUMBER@/@TASK@.py": "check",
    "tests/lectures/test_lecture_@NUMBER@.py": "test_lecture",
    "tests/mutants/@TASK@/m01_returns_its_own.py": "wrong",
    "tests/right_answers/@TASK@/r01_receive_first.py": "right",
}
"""What ``begin`` writes, and from which template in ``authoring/templates``."""

SETS = "course_lib/checks/__init__.py"
_END_OF_SETS = '}  # fmt: skip\n"""The tasks of each lecture'
_NEEDED = {"tests/mutants": ("m", 6, "wrong"), "tests/right_answers": ("r", 2, "right")}
_LEAST_TASKS = 3


def begin(number: str, name: str, root: Path = ROOT) -> list[Path]:
    """Write the skeleton of a lecture: scripts, a task with its check and answers, and a test.

    Parameters
    ----------
    number : str
        Two digits, up to 89.
    name : str
        Small letters, digits and underscores: ``gossip_learning``.
    root : pathlib.Path, optional
        The project's folder.

    Returns
    -------
    list of pathlib.Path
        What has been written or changed.

    Raises
    ------
    ValueError
        If the number or name is none, or taken. Nothing is written then.
    """
    if not re.fullmatch(r"[0-8]\d", number):
        raise ValueError(f"NN must be two digits from 00 to 89, got {number!r}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise ValueError(f"name must be small letters, digits and underscores, got {name!r}")
    words = _words(number, name, root)
    texts = {path: _filled(template, words) for path, template in FILES.items()}
    files = {root / _in(path, words): text for path, text in texts.items()}
    there = [*_scripts(root, number), *filter(Path.exists, files)]
    if there:
        raise ValueError(f"{there[0].relative_to(root)} is there already: take another NN or name")
    sets = root / SETS
    known = sets.read_text(encoding="utf-8")
    if f'"{words["TASK"]}"' in known:
        raise ValueError(f"there is a task {words['TASK']} already: take another name")
    keys = [
        m for m in re.finditer(r'^    "lecture_(\d\d)": ', known, re.MULTILINE) if m[1] > number
    ]
    at = keys[0].start() if keys else known.index(_END_OF_SETS)
    line = f'    "lecture_{number}": ("{words["TASK"]}",),\n'
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    sets.write_text(known[:at] + line + known[at:], encoding="utf-8", newline="\n")
    return [*files, sets]


def missing(number: str, root: Path = ROOT) -> list[str]:
    """Say what a lecture lacks of what all lectures have.

    Parameters
    ----------
    number : str
        Two digits.
    root : pathlib.Path, optional
        The project's folder.

    Returns
    -------
    list of str
        A line for each thing: where, and what is to be done. Empty for a lecture that is complete.
    """
    lectures = [script for script in _scripts(root, number) if script.parent.name == "lectures"]
    if len(lectures) != 1:
        return [f"authoring/lectures/{number}_*.py: there must be one script, got {len(lectures)}"]
    stem = lectures[0].stem
    return [
        *_of_notebooks(number, stem, root),
        *_of_tasks(number, root),
        *_of_lists(number, stem, root),
        *_of_neighbours(number, stem, root),
        *_left_to_do(number, stem, root),
    ]


def numbers(root: Path = ROOT) -> list[str]:
    """List the lectures that have begun, without the appendix."""
    scripts = (root / "authoring" / "lectures").glob("[0-8][0-9]_*.py")
    return sorted(script.name[:2] for script in scripts)


def _words(number: str, name: str, root: Path) -> dict[str, str]:
    """Say what stands for what in the templates."""

    def link(step: int, folder: str, begin: str) -> str:
        other = f"{int(number) + step:02}"
        found = [s.stem for s in _scripts(root, other) if s.parent.name == "lectures"]
        return f"{begin}: [lecture {other}]({folder}{found[0]}.ipynb). " if found else ""

    return {
        "NUMBER": number,
        "STEM": f"{number}_{name}",
        "TITLE": name.replace("_", " ").capitalize(),
        "TASK": f"{name}_first",
        "TASK_ID": f"{name}_first".replace("_", "-"),
        "CLASS": "".join(map(str.capitalize, f"{name}_first".split("_"))),
        "BEFORE": link(-1, "", "Before"),
        "AFTER": link(1, "", "After it"),
        "NEXT": link(1, "../notebooks/", "Next"),
    }


def _filled(template: str, words: dict[str, str]) -> str:
    if not template:
        return f'"""The checks of exercise set {words["NUMBER"]}."""\n'
    file = Path(__file__).parent / "templates" / f"{template}.txt"
    lines = _in(file.read_text(encoding="utf-8"), words).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _in(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@([A-Z_]+)@", lambda found: words[found[1]], text)


def _scripts(root: Path, number: str) -> list[Path]:
    folders = (root / "authoring" / folder for folder in ("lectures", "exercises"))
    return [script for folder in folders for script in sorted(folder.glob(f"{number}_*.py"))]


def _tasks(number: str, root: Path) -> list[str]:
    text = (root / SETS).read_text(encoding="utf-8")
    found = re.search(rf'"lecture_{number}": \((.*?)\),\n', text, re.DOTALL)
    return re.findall(r'"(\w+)"', found[1]) if found else []


def _of_notebooks(number: str, stem: str, root: Path) -> Iterator[str]:
    exercise = root / "authoring" / "exercises" / f"{stem}.py"
    if not exercise.exists():
        yield f"authoring/exercises/{stem}.py: missing"
    try:
        made = list(targets(root, [number]))
    except AuthoringError as error:
        yield str(error).replace(f"{root}/", "")
        return
    for target in made:
        if check(target):
            path = target.path.relative_to(root).as_posix()
            yield f"{path}: run python -m authoring build {number}"
    lecture = next(target for target in made if target.path.parent.name == "notebooks")
    for problem in problems_of_form(form_of(lecture.cells)):
        yield f"authoring/lectures/{stem}.py: {problem}"


def _of_tasks(number: str, root: Path) -> Iterator[str]:
    tasks = _tasks(number, root)
    if len(tasks) < _LEAST_TASKS:
        yield f"{SETS}: lecture_{number} needs {_LEAST_TASKS} tasks or more, got {len(tasks)}"
    for task in tasks:
        module = f"course_lib/checks/lecture_{number}/{task}.py"
        if not (root / module).exists():
            yield f"{module}: missing"
        for folder, (letter, least, kind) in _NEEDED.items():
            n_files = len(list((root / folder / task).glob(f"{letter}*.py")))
            if n_files < least:
                yield f"{folder}/{task}: {least} {kind} answers or more, got {n_files}"


def _of_lists(number: str, stem: str, root: Path) -> Iterator[str]:
    test = f"tests/lectures/test_lecture_{number}.py"
    if not (root / test).exists():
        yield f"{test}: missing"
    row = rf"^\| {number} \|.*\| lecture, exercises and solutions \|$"
    for file, pattern, what in (
        ("README.md", row, "a row in the table of lectures"),
        ("CHANGELOG.md", rf"[Ll]ecture {number}\b", "a line that says what is new"),
        ("tests/notebooks/test_form.py", f'"{stem}"', "its name in SECOND_EDITION"),
    ):
        if not re.search(pattern, (root / file).read_text(encoding="utf-8"), re.MULTILINE):
            yield f"{file}: {what}"


def _of_neighbours(number: str, stem: str, root: Path) -> Iterator[str]:
    """Ask those before and after for their links; its own are asked for by the tests of style."""
    for step, folders in ((-1, ("lectures", "exercises")), (1, ("lectures",))):
        for script in _scripts(root, f"{int(number) + step:02}"):
            if script.parent.name not in folders:
                continue
            cells = read_script(script)
            if not all(f"{stem}.ipynb" in cell.source for cell in (cells[0], cells[-1])):
                path = script.relative_to(root).as_posix()
                yield f"{path}: its first and last cell need a link to {stem}.ipynb"


def _left_to_do(number: str, stem: str, root: Path) -> Iterator[str]:
    files = [root / "authoring" / folder / f"{stem}.py" for folder in ("lectures", "exercises")]
    files += sorted((root / "course_lib" / "checks" / f"lecture_{number}").glob("*.py"))
    files += [root / "tests" / "lectures" / f"test_lecture_{number}.py"]
    for file in filter(Path.exists, files):
        lines = file.read_text(encoding="utf-8").splitlines()
        for line in (k for k, text in enumerate(lines, start=1) if "TODO" in text):
            yield f"{file.relative_to(root).as_posix()}:{line}: TODO"
