"""What a reader meets in a cell: nothing dangerous, nothing long, no word that talks down."""

import ast
import re
from statistics import median, quantiles

import pytest

from authoring.build import Target
from authoring.scripts import COLLAPSED, Cell
from tests.targets import LECTURES as IN_NOTEBOOKS
from tests.targets import TARGETS

LECTURES = [target for target in IN_NOTEBOOKS if not target.script.stem.startswith("9")]
APPENDIX = [target for target in IN_NOTEBOOKS if target not in LECTURES]
SCRIPTS = [t for t in TARGETS if t.path.parent.name in ("notebooks", "solutions")]

FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "input", "breakpoint"}
FORBIDDEN_MODULES = {
    *("subprocess", "socket", "urllib", "http", "requests", "ftplib", "smtplib", "httpx"),
    *("shutil", "ctypes", "pickle"),
}
TALKING_DOWN = re.compile(
    r"\b(simply|just|obviously|trivial(ly)?|of course|easy|easily)\b", re.IGNORECASE
)

every_script = pytest.mark.parametrize("target", SCRIPTS, ids=lambda t: t.script.stem)
every_appendix = pytest.mark.parametrize("target", APPENDIX, ids=lambda t: t.script.stem)
every_lecture = pytest.mark.parametrize("target", LECTURES, ids=lambda t: t.script.stem)


def forbidden_in(source: str) -> list[str]:
    """List what a cell does that no cell of the course may do."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:  # %magics and !commands are no Python either
        return [f"not plain Python: {error.text}"]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name in FORBIDDEN_CALLS | {"system", "popen", "run_line_magic", "get_ipython"}:
                found.append(f"calls {name}")
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        found += [f"imports {m}" for m in modules if m.split(".")[0] in FORBIDDEN_MODULES]
    return found


def words(cell: Cell) -> int:
    text = re.sub(r"<[^>]+>|\$[^$]*\$|`[^`]*`", " x ", cell.source)
    return len(re.findall(r"\w[\w'’-]*", text))


def code_lines(cell: Cell) -> int:
    return sum(1 for line in cell.source.splitlines() if line.strip())


@pytest.mark.parametrize(
    "source",
    [
        *("eval('1')", "!ls", "%pip install x", "import subprocess", "from urllib import request"),
        *("import os\nos.system('x')", "get_ipython().run_line_magic('x', '')", "import socket"),
    ],
)
def test_the_lint_finds_what_is_forbidden(source: str) -> None:
    assert forbidden_in(source)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.path.parent.name}-{t.path.stem}")
def test_no_cell_does_what_is_forbidden(target: Target) -> None:
    for cell in target.cells:
        if cell.kind == "code":
            assert forbidden_in(cell.source) == [], f"{target.script}:{cell.line}"


@every_script
def test_prose_is_short_and_does_not_talk_down(target: Target) -> None:
    for cell in target.cells:
        if cell.kind == "markdown":
            place = f"{target.script}:{cell.line}"
            assert words(cell) <= 120, f"{place}: {words(cell)} words"
            assert not TALKING_DOWN.search(cell.source), place


@every_lecture
def test_code_cells_are_short(target: Target) -> None:
    read = [c for c in target.cells if c.kind == "code" and not COLLAPSED.keys() & set(c.tags)]
    lengths = [code_lines(cell) for cell in read]
    assert median(lengths) <= 5
    assert quantiles(lengths, n=10)[-1] <= 12
    for cell in read:
        assert code_lines(cell) <= 20, f"{target.script}:{cell.line}"


@every_lecture
def test_lecture_opens_and_closes_as_all_lectures_do(target: Target) -> None:
    first, second, last = target.cells[0], target.cells[1], target.cells[-1]
    assert first.source.startswith("# ")
    assert "After this you can" in first.source
    assert len(re.findall(r"^- ", first.source, re.MULTILINE)) == 3
    assert re.search(r"\d+ minutes", first.source)
    assert "Needs:" in first.source
    assert "import" in second.source
    assert "seed" in second.source
    assert len(re.findall(r"^- ", last.source, re.MULTILINE)) == 3


def test_first_and_last_cell_link_to_what_is_before_and_after() -> None:
    lectures = {target.path.stem: target for target in LECTURES}
    exercises = {t.path.stem: t for t in TARGETS if t.path.parent.name == "exercises"}
    assert len(exercises) >= 7
    by_number = {int(stem[:2]): stem for stem in lectures}
    for number, stem in by_number.items():  # what is not written yet is named without a link
        before, after = by_number.get(number - 1, ""), by_number.get(number + 1, "")
        others = [f"{other}.ipynb" for other in (before, after) if other]
        if stem in exercises:
            wanted = [f"../notebooks/{stem}.ipynb", *(f"../notebooks/{after}.ipynb",) * bool(after)]
            assert_links(exercises[stem], wanted)
            others.append(f"../exercises/{stem}.ipynb")
        assert_links(lectures[stem], others)


def assert_links(target: Target, wanted: list[str]) -> None:
    for cell in (target.cells[0], target.cells[-1]):
        found = re.findall(r"\]\(([^)]+)\)", cell.source)
        missing = set(wanted) - set(found)
        assert not missing, f"{target.script}:{cell.line}: no link to {sorted(missing)}"


@every_lecture
def test_lecture_has_three_questions_with_folded_answers_and_slides(target: Target) -> None:
    questions = [c for c in target.cells if c.source.startswith("**Question ")]
    assert len(questions) == 3
    assert all("<details>" in cell.source for cell in questions)
    slides = [cell.metadata.get("slideshow", {}).get("slide_type") for cell in target.cells]
    assert slides[0] == "slide"
    assert "notes" in slides


@every_appendix
def test_appendix_has_a_cell_and_a_verdict_for_each_claim_and_no_long_cell(target: Target) -> None:
    first, last = target.cells[0].source, target.cells[-1].source
    assert first.startswith("# ")
    assert "Appendix" in first
    assert "import" in target.cells[1].source
    assert len(re.findall(r"^- ", last, re.MULTILINE)) == 3
    prose = "\n".join(cell.source for cell in target.cells if cell.kind == "markdown")
    tested = [cell.id for cell in target.cells if re.fullmatch(r"claim-\d-\d+", cell.id)]
    verdicts = [f"claim-{a}-{b}" for a, b in re.findall(r"\*\*Verdict on (\d)\.(\d+):", prose)]
    assert set(tested) <= set(verdicts)
    assert len(verdicts) == len(set(verdicts))
    for cell in target.cells[2:]:
        if cell.kind == "code":
            assert code_lines(cell) <= 20, f"{target.script}:{cell.line}"
