"""Ten exam questions a lecture; the code below an answer recomputes each of its numbers."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LECTURES = sorted((REPOSITORY / "authoring" / "lectures").glob("[0-8][0-9]_*.py"))
NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Question(NamedTuple):
    """Its title, text and answer, and the code of either."""

    title: str
    asked: str
    answer: str
    code_asked: list[str]
    code: list[str]


def page_of(number: str) -> str:
    return (REPOSITORY / "docs" / "exam" / f"{number}.md").read_text(encoding="utf-8")


def questions(text: str) -> list[Question]:
    found = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        asked, _, answer = rest.partition("\n**Answer.** ")
        code_asked, code = BLOCK.findall(asked), BLOCK.findall(answer)
        texts = (BLOCK.sub("", asked).strip(), BLOCK.sub("", answer).strip())
        found.append(Question(title, *texts, code_asked, code))
    return found


def claimed(answer: str) -> set[float]:
    """Return the numbers that an answer shows in bold."""
    bold = re.findall(r"\*\*(.+?)\*\*", " ".join(answer.split()))
    numbers = (number for part in bold for number in NUMBER.findall(part))
    return {float(number.replace(",", "").replace("−", "-")) for number in numbers}


def asserted(code: list[str]) -> set[float]:
    """Return the numbers that code compares with something, in an assertion."""
    found = set()
    for tree in map(ast.parse, code):
        for check in (node for node in ast.walk(tree) if isinstance(node, ast.Assert)):
            for node in ast.walk(check.test):
                if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
                    found |= {float(node.value), -float(node.value)}
    return found


def run_page(text: str) -> None:
    names: dict = {"__name__": "exam"}
    for block in BLOCK.findall(text):
        exec(compile(block, "exam", "exec"), names)


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_a_page_has_ten_questions_each_with_an_answer(lecture):
    text = page_of(lecture.stem[:2])
    assert text.startswith(f"# Exam questions: lecture {lecture.stem[:2]}, ")
    found = questions(text)
    assert [question.title.split(".")[0] for question in found] == [str(k) for k in range(1, 11)]
    for question in found:
        assert len(question.asked.split()) > 8, question.title
        assert len(question.answer.split()) > 8, question.title
        assert "?" in question.asked or "Judge" in question.title + question.asked, question.title
        missing = claimed(question.answer) - asserted(question.code)
        assert not missing, (question.title, missing)
    assert sum(bool(claimed(question.answer)) for question in found) >= 7
    titles = " ".join(question.title for question in found)
    assert "Find the error" in titles
    assert "Judge" in titles


@pytest.mark.slow
@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_the_code_of_every_answer_holds(lecture):
    run_page(page_of(lecture.stem[:2]))


def test_a_wrong_number_would_be_found():
    text = page_of("02")
    for number, in_answer in (("(800, 80)", "**800 MB**"), ("== 1.4", "**1.4 ms**")):
        assert number in text
        assert in_answer in text
    with pytest.raises(AssertionError):
        run_page(text.replace("(800, 80)", "(900, 80)"))
    changed = questions(text.replace("**800 MB**", "**900 MB**"))[9]
    assert claimed(changed.answer) - asserted(changed.code) == {900.0}
