"""The glossary has the words that the lectures explain, and no others."""

import re

from authoring.build import ROOT
from authoring.scripts import read_script

ROW = re.compile(r"^\| (?P<word>[^|]+) \| (?P<means>[^|]+) \| (?P<lecture>\d\d) \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
ENTRIES = {word.lower() for words, _, _ in ROWS for word in words.split(", ")}
PROSE = {
    script.name[:2]: "\n".join(
        cell.source for cell in read_script(script) if cell.kind == "markdown"
    )
    for script in (ROOT / "authoring" / "lectures").glob("[01]*.py")
}
TEXT = {
    script.name[:2]: re.sub(r"`[^`]*`", "", "\n".join(
        cell.source for cell in read_script(script)[:-1]
        if cell.kind == "markdown" and "For lecturers:" not in cell.source
    ))
    for script in (ROOT / "authoring" / "lectures").glob("[01]*.py")
}  # fmt: skip
"""What a learner reads: no notes, no code, and not the last cell, which looks ahead."""
EXPLAINED = re.compile(r"^\| \*(?P<word>[^*|]+)\*[^|]* \|", re.MULTILINE)
"""A row of a table of words, as lecture 00 has one."""
BOLD = re.compile(r"\*\*(?P<words>[a-z][a-z -]+)\*\*")
"""Not a heading, a number or a formula."""


def test_each_entry_is_used_in_its_lecture_and_explained_in_a_sentence_or_two() -> None:
    for words, means, lecture in ROWS:
        prose = " ".join(PROSE[lecture].split()).lower()
        used = [w for w in words.split(", ") if re.search(rf"\b{re.escape(w.lower())}", prose)]
        assert used, f"{words} is not in lecture {lecture}"
        assert means.endswith((".", ").")), words
        assert len(means) < 130, words


def test_each_entry_names_the_lecture_that_has_it_first_or_explains_it() -> None:
    other_sense = {"overlap", "root"}  # latencies overlap in 02; 03 has a root of squares
    wrong = []
    for words, _, lecture in ROWS:
        either = "|".join(re.escape(word) for word in words.split(", "))
        has = [n for n, text in sorted(TEXT.items()) if re.search(rf"\b(?:{either})", text, re.I)]
        shown = rf"\*(?:{either})s?[*:,]|^## .*\b(?:{either})"
        explains = re.search(shown, PROSE[lecture], re.IGNORECASE | re.MULTILINE)
        if not explains and lecture != has[0] and words not in other_sense:
            wrong.append((words, lecture, has[0]))
    assert not wrong


def test_entries_stand_in_order_and_once() -> None:
    words = [row[0].lower() for row in ROWS]
    assert len(words) > 50
    assert words == sorted(set(words), key=lambda word: word.replace("-", ""))


def test_what_a_lecture_sets_in_bold_or_lists_as_a_word_has_an_entry() -> None:
    found = {
        word.lower()
        for prose in PROSE.values()
        for word in [*EXPLAINED.findall(prose), *BOLD.findall(prose)]
    }
    assert {"rank", "deadlock", "bandwidth"} <= found
    assert {word for word in found if word not in ENTRIES} <= {"size"}, "which is P"
