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
