"""``docs/reliability.md`` lists the faults that the tests commit: those, all of them, no others."""

import re
from pathlib import Path

from tests.faults.elsewhere import ELSEWHERE, LATER, NOT_SHOWN
from tests.faults.test_matrix import NUMBERS, ROWS

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = (REPOSITORY / "docs" / "reliability.md").read_text()


def table():
    rows = re.findall(r"^\| (\d+) \| (.*) \| (.*) \| (.*) \|$", TEXT, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(NUMBERS)
    return {int(number): told for number, *told in rows}


def test_every_fault_is_listed_in_the_words_of_its_rows_and_with_their_limit() -> None:
    for number, (says, happens, within) in table().items():
        rows = [row for row in ROWS if row.number == number]
        if not rows:
            assert says == ELSEWHERE[number].split(":")[0]
            continue
        limits = [row.limit_s for row in rows if row.limit_s is not None]
        assert says == "; ".join(row.says for row in rows)
        assert within == (f"{max(limits):g} s" if limits else "–")
        assert happens


def test_what_is_missing_or_shown_on_linux_only_is_listed_too() -> None:
    found = re.findall(r"^- \*\*(\d+)\*\* (.*)$", TEXT, re.MULTILINE)
    expected = [*sorted({**ELSEWHERE, **LATER}.items()), *sorted(NOT_SHOWN.items())]
    assert [(int(number), text) for number, text in found] == expected


def test_every_error_that_is_named_exists() -> None:
    from course_lib.comm import errors

    named = set(re.findall(r"`(\w+(?:Error|Exited|Killed|Stalled|Timeout|Full))`", TEXT))
    ours = {name for name in named if hasattr(errors, name)}
    builtin = {"EOFError", "KeyboardInterrupt", "MemoryError", "NameError", "RuntimeError",
               "TypeError", "ValueError"}  # fmt: skip
    assert named - ours <= builtin
    assert len(ours) >= 10


def test_the_contributors_are_pointed_to_it() -> None:
    assert "docs/reliability.md" in (REPOSITORY / "CONTRIBUTING.md").read_text()
