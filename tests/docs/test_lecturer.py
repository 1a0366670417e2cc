"""The lecturer's guide is in step with the lectures: sections, minutes, tasks, links."""

import re
from pathlib import Path

import pytest

import course
from authoring.scripts import read_script
from course_lib.checks import SETS

REPOSITORY = Path(__file__).resolve().parents[2]
LECTURES = sorted((REPOSITORY / "authoring" / "lectures").glob("[0-8][0-9]_*.py"))
GUIDE = REPOSITORY / "docs" / "lecturer"
CLOSING = {
    "Is this computer fit for the course?", "References", "What comes next", "What to remember",
    "Which exercises are solved?",
}  # fmt: skip
PARTS = (
    "After it they can", "Before class", "Minutes", "What they bring along, and what shakes it",
    "Questions to ask, and the answers to hope for", "Exercises",
)  # fmt: skip
ROW = re.compile(r"^\| (.+?) \| (\**[\d–]+\**) \| (.*)\|$", re.MULTILINE)


def page_of(lecture: Path) -> str:
    return (GUIDE / f"{lecture.stem[:2]}.md").read_text(encoding="utf-8")


def sections(lecture: Path) -> list[tuple[str, int | None]]:
    """Return a lecture's sections, and the minutes that the note of each says."""
    found: list[tuple[str, int | None]] = []
    for cell in read_script(lecture):
        for heading in re.findall(r"^## (.*)$", cell.source, re.MULTILINE):
            found.append((heading, None))
        note = re.search(r"<summary>For lecturers: .*?(\d+) minute", cell.source)
        if note and found and found[-1][1] is None:
            found[-1] = (found[-1][0], int(note[1]))
    return [one for one in found if one[0] not in CLOSING]


def timing(page: str) -> list[tuple[str, int | None]]:
    """Return the table's rows; a row in bold is a sum."""
    rows = ROW.findall(page.split("## Minutes")[1].split("\n## ")[0])
    return [(name, None if n == "–" else int(n.strip("*"))) for name, n, _ in rows]


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_a_page_has_all_its_parts(lecture):
    page = page_of(lecture)
    title = re.search(r"^# # (.*)$", lecture.read_text(encoding="utf-8"), re.MULTILINE)
    assert page.startswith(f"# {title[1]}\n")
    assert tuple(re.findall(r"^## (.*)$", page, re.MULTILINE)) == PARTS
    goals, _, _, misconceptions, questions, _ = (
        re.findall(r"^- ", part, re.MULTILINE) for part in page.split("\n## ")[1:]
    )
    assert len(goals) == 3
    assert len(misconceptions) >= 3
    assert len(questions) >= 4
    answered = re.findall(
        r"^- .*?(?=^- |\Z)", page.split(PARTS[4])[1].split("\n## ")[0], re.M | re.S
    )
    assert all(" — " in " ".join(question.split()) for question in answered)


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_its_minutes_are_those_of_the_notes_and_add_up(lecture):
    rows, own = timing(page_of(lecture)), sections(lecture)
    listed = [row for row in rows if not row[0].startswith(("**", "*the"))]
    assert [name for name, _ in listed] == [name for name, _ in own]
    for (name, minutes), (_, noted) in zip(listed, own, strict=True):
        assert noted in (None, minutes), name
    sums: dict[str, int] = {}
    part = ""
    for name, minutes in rows[:-1]:
        part = name if name.startswith("**") else part
        sums[part] = sums.get(part, 0) + (0 if name == part else minutes or 0)
    assert rows[-1] == ("**all**", sum(sums.values()))
    told = {name: minutes for name, minutes in rows[:-1] if name.startswith("**")}
    assert told == {name: total for name, total in sums.items() if name}
    note = " ".join(
        c.source for c in read_script(lecture) if "For lecturers: the whole" in c.source
    ).replace("\n", " ")
    for number, minutes in re.findall(r"[Pp]art (\d) (?:is|takes) (\d+)", note):
        assert [total for name, total in told.items() if f"Part {number} " in name] == [
            int(minutes)
        ]


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_the_sections_and_tasks_that_it_names_are_there(lecture):
    page = " ".join(page_of(lecture).split())
    headings = {heading for heading, _ in sections(lecture)}
    named = re.findall(r"[Ss]ection \*(.+?)\*", page)
    assert len(named) >= 3
    assert set(named) <= headings
    tasks = re.findall(r"(?:tasks?|,|and) `(\w+)`", page)
    assert set(tasks) <= set(SETS[f"lecture_{lecture.stem[:2]}"])
    assert len(tasks) >= 3


def test_the_first_page_lists_every_lecture_with_its_minutes_and_three_routes():
    text = (GUIDE / "README.md").read_text(encoding="utf-8")
    for lecture in LECTURES:
        rows, number = timing(page_of(lecture)), lecture.stem[:2]
        assert re.search(rf"\[{number} · .*\]\({number}\.md\) \| {rows[-1][1]} \|", text), number
    ninety = text.split("**90 minutes**")[1].split("**A day**")[0]
    assert sum(map(int, re.findall(r"^\| (\d+) \|", ninety, re.MULTILINE))) == 90
    routes = " ".join(text.split("## The computer room")[0].split())
    named = re.findall(r"(?<!\*)\*([A-Z].+?)\*(?!\*)", routes)
    assert len(named) > 5
    for name in named:
        known = (heading for lecture in LECTURES for heading, _ in sections(lecture))
        assert any(heading.startswith(name) for heading in known), name


def test_what_the_guide_links_to_is_there():
    for page in sorted(GUIDE.glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), (page.name, link)


def test_the_commands_of_course_py_are_ones():
    text = (GUIDE / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"python course\.py ([a-z][^#`\n]*)", text)
    assert len(found) >= 6
    for words in map(str.split, found):
        assert course.parse_arguments(words).command == words[0]
    with pytest.raises(SystemExit):
        course.parse_arguments(["wheelhouse", "--plattform", "windows"])


def test_a_row_of_another_length_and_a_wrong_sum_would_be_found(monkeypatch):
    lecture = LECTURES[0]
    page = page_of(lecture)
    for right, wrong in (("| A hang | 10 |", "| A hang | 9 |"), ("| **45** |", "| **44** |")):
        assert right in page
        changed = page.replace(right, wrong)
        monkeypatch.setattr(f"{__name__}.page_of", lambda _, changed=changed: changed)
        with pytest.raises(AssertionError):
            test_its_minutes_are_those_of_the_notes_and_add_up(lecture)
