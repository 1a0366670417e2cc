"""The lecturer's guide is in step with the lectures: sections, minutes, tasks, answers, links."""

import functools
import json
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
ANSWERS = {
    "How many apples": "00 apples",
    "Above which rate": "01 rate",
    "Four times the batch": "01 factor",
    "How many bytes does a step": "02 bytes",
    "At how many rows": "02 rows",
    "How many of the 2,410": "03",
    "How many vectors": "04 vectors",
    "After how many rounds": "05 rounds",
    "After how many exchanges": "05 swaps",
    "How efficient are 16 GPUs": "06 alexnet",
    "When does the step": "06 ms",
    "Which bucket": "06 bucket",
    "Which part of the time": "07 busy",
    "How long do 8 micro-batches": "07 ms",
    "How much does a rank send": "08 pair",
    "How many times as much does ZeRO": "08 zero",
    "How many gradients a second": "09 pace",
    "Mean staleness": "09 age",
    "Which part of one machine": "09 edge",
    "Two cores add ten times": "10 least",
    "Two workers load": "10 lost",
    "One of four is ten times slower": "11 slow",
    "From which straggler on": "11 factor",
    "From host 0": "12 ring",
    "16,384 GPUs": "12 hours",
    "Ten times the device": "12 batch",
    "Four edges are cut": "13 messages",
    "Any number of workers": "13 bound",
    "Sixteen trials": "14 side",
    "When is the first request": "14 stages",
}
"""The questions that a lecture has its readers guess: how each begins, the lecture, the guess."""
WORDS = {
    "0": "none", "0.5": "half", "1.5": "3/2", "2": "two", "3": "three", "4": "four", "10": "ten",
    "25": "a quarter",
}  # fmt: skip
NUMBER = re.compile(r"\d[\d,_]*(?:\.\d+)?")
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


@functools.cache
def cells(number: str) -> list[tuple[str, str]]:
    """Return the source of each cell of a lecture, and the text of what it had printed."""
    (path,) = (REPOSITORY / "notebooks").glob(f"{number}_*.ipynb")
    found = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        outputs = cell.get("outputs", [])
        shown = [out.get("text", "") for out in outputs]
        shown += [out.get("data", {}).get(f"text/{kind}", "") for out in outputs
                  for kind in ("plain", "html")]  # fmt: skip
        text = re.sub(r"<[^>]+>", " ", "\n".join(map("".join, shown)))
        found.append(("".join(cell["source"]), text))
    return found


def answer_of(guess: str) -> str:
    """Return the number that a lecture compares with a guess."""
    number, _, name = guess.partition(" ")
    call = f"guess_{name}.compare(" if name else "guess.compare("
    (shown,) = (text for source, text in cells(number) if call in source)
    return re.search(rf"It is\s+({NUMBER.pattern})", shown)[1].replace(",", "")


def asked(page: str) -> dict[str, str]:
    """Return the questions of a page, and their answers."""
    part = page.split(f"## {PARTS[4]}\n")[1].split("\n## ")[0]
    items = [" ".join(item.split()) for item in re.split(r"^- ", part, flags=re.MULTILINE)[1:]]
    return dict(item.split(" — ", 1) for item in items)


def minutes_of_tasks(number: str) -> list[int]:
    """Return how long each task of an exercise is said to take."""
    (script,) = (REPOSITORY / "authoring" / "exercises").glob(f"{number}_*.py")
    prose = " ".join(cell.source for cell in read_script(script) if cell.kind == "markdown")
    return [int(n) for n in re.findall(r"Difficulty\s+\d\s+of\s+3,\s+(\d+)\s+minutes", prose)]


def chosen(words: str) -> list[int]:
    """Return the tasks in words such as "1 and 3", "1 to 3"."""
    numbers = [int(n) for n in re.findall(r"\d+", words)]
    return list(range(numbers[0], numbers[1] + 1)) if " to " in words else numbers


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


def test_the_answers_to_hope_for_are_those_that_the_lectures_give():
    pages = {lecture.stem[:2]: asked(page_of(lecture)) for lecture in LECTURES}
    for begins, guess in ANSWERS.items():
        (hoped,) = (a for q, a in pages[guess[:2]].items() if q.startswith(begins))
        right = answer_of(guess)
        pattern = "|".join(map(re.escape, {right, WORDS.get(right, right)}))
        text = hoped.replace(",", "")
        assert re.search(rf"(?<![\w.])(?:{pattern})(?!\.?\w)", text, re.I), (begins, hoped, right)


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_its_numbers_stand_in_the_lecture(lecture):
    page = page_of(lecture).split("\n## ", 1)[1].split("\n## Exercises")[0]
    page = re.sub(r"^(\| .+? \|) \**[\d–]+\** \|", r"\1", page, flags=re.MULTILINE)  # our minutes
    lecture_says = {
        n.replace(",", "").replace("_", "")
        for cell in cells(lecture.stem[:2]) for part in cell for n in NUMBER.findall(part)
    }  # fmt: skip
    told = {n.replace(",", "") for n in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)", page)}
    assert len(told) >= 3
    assert told <= lecture_says


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_it_says_what_the_notes_say_of_running_all_cells_and_the_tasks_of_their_minutes(lecture):
    page, number = " ".join(page_of(lecture).split()), lecture.stem[:2]
    notes = " ".join(" ".join(c.source for c in read_script(lecture)).replace("#", "").split())
    before = page.split("## Before class")[1].split("## Minutes")[0]
    for how_long in re.findall(r"less than a minute|half a minute|one minute", before):
        said = how_long.replace("one minute", "(?:one|a) minute")
        assert re.search(rf"[Rr]un all (?:cells )?before class\W+(?:it takes )?{said}", notes)
    of_task = minutes_of_tasks(number)
    assert len(of_task) == len(SETS[f"lecture_{number}"])
    exercises = page.split("## Exercises")[1]
    for words, minutes in re.findall(r"In class: ([\d a-z]+) \((\d+) minutes\)", exercises):
        assert sum(of_task[k - 1] for k in chosen(words)) == int(minutes), words
    for task, minutes in re.findall(r"(\d) is (?:the best|worth its) (\d+) minutes", exercises):
        assert of_task[int(task) - 1] == int(minutes)


def test_the_minutes_of_the_routes_are_those_of_the_lectures_and_tasks():
    text = " ".join((GUIDE / "README.md").read_text(encoding="utf-8").split())
    routes = text.split("## Three routes")[1].split("## The computer room")[0]
    rows = {lecture.stem[:2]: dict(timing(page_of(lecture))) for lecture in LECTURES}
    whole = re.findall(r"(?<!: )\b(\d\d) \((\d+)\)", routes)
    parts = re.findall(r"lecture (\d\d), (part \d) \((\d+)\)", routes)
    some = re.findall(r"lecture (\d\d), (\*[^|;]+\*) \((\d+)\)", routes)
    tasks = re.findall(r"exercises? (\d\d): ([\d a-z]+) \((\d+)\)", routes)
    assert [len(found) for found in (whole, parts, some, tasks)] == [4, 4, 2, 3]
    for number, minutes in whole:
        assert rows[number]["**all**"] == int(minutes), number
    for number, part, minutes in parts:
        (told,) = (n for name, n in rows[number].items() if f"**{part.capitalize()} " in name)
        assert told == int(minutes), (number, part)
    for number, sections_, minutes in some:
        names = re.findall(r"\*(.+?)\*", sections_)
        told = [next(n for name, n in rows[number].items() if name.startswith(s)) for s in names]
        assert sum(told) == int(minutes), (number, names)
    for number, words, minutes in tasks:
        told = minutes_of_tasks(number)
        assert sum(told[k - 1] for k in chosen(words)) == int(minutes), (number, words)


def test_what_a_lecture_is_said_to_need_is_linked_in_its_first_cell():
    text = " ".join((GUIDE / "README.md").read_text(encoding="utf-8").split())
    said = text.split("is said in its first cell. ")[1].split("; all need")[0]
    first = {one.stem[:2]: " ".join(read_script(one)[0].source.split()) for one in LECTURES}
    for sentence in said.split("; "):
        those, needed = (re.findall(r"\d\d", side) for side in re.split(" needs? ", sentence))
        for number in those:
            before = first[number].split("Needs: ")[1].split("Then: ")[0]
            assert set(needed) <= set(re.findall(r"\]\((\d\d)_", before)), (number, needed)
    processes = [int(n) for cell in first.values() for n in re.findall(r"(\d) processes", cell)]
    assert max(processes) == 8
    assert "at most eight processes" in text


def test_the_first_page_lists_every_lecture_with_its_minutes_and_three_routes():
    text = (GUIDE / "README.md").read_text(encoding="utf-8")
    for lecture in LECTURES:
        rows, number = timing(page_of(lecture)), lecture.stem[:2]
        part_1 = next((n for name, n in rows if name.startswith("**Part 1")), "–")
        line = rf"\[{number} · .*\]\({number}\.md\) \| {rows[-1][1]} \| {part_1} \|"
        assert re.search(line, text), number
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


def test_a_row_of_another_length_a_wrong_sum_and_a_stale_number_would_be_found(monkeypatch):
    of_notes = test_its_minutes_are_those_of_the_notes_and_add_up
    of_tasks = test_it_says_what_the_notes_say_of_running_all_cells_and_the_tasks_of_their_minutes
    of_text, whole_page = test_its_numbers_stand_in_the_lecture, page_of

    def of_guesses(_):
        test_the_answers_to_hope_for_are_those_that_the_lectures_give()

    for number, right, wrong, check in (
        (0, "| A hang | 10 |", "| A hang | 9 |", of_notes),
        (0, "| **45** |", "| **44** |", of_notes),
        (10, "(30 minutes)", "(20 minutes)", of_tasks),
        (5, "best 15 minutes", "best 10 minutes", of_tasks),
        (6, "half a minute", "one minute", of_tasks),
        (4, "1.7 times", "1.3 times", of_text),
        (6, "28 MB? — 10, at", "28 MB? — 1, at", of_guesses),
        (9, "3.16 in the run", "3.18 in the run", of_guesses),
    ):
        lecture = LECTURES[number]
        assert right in whole_page(lecture)
        changed = whole_page(lecture).replace(right, wrong)
        pages = {one: whole_page(one) for one in LECTURES} | {lecture: changed}
        monkeypatch.setattr(f"{__name__}.page_of", pages.__getitem__)
        with pytest.raises(AssertionError):
            check(lecture)
