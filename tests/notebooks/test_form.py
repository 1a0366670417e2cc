"""Lectures of the second edition keep to the form: short, shown rather than printed."""

import ast

import pytest

from authoring.__main__ import main
from authoring.form import form_of, problems_of_form, report
from authoring.scripts import Cell
from tests import targets

SECOND_EDITION = (
    "00_start_here",
    "01_gradient_descent",
    "02_map_reduce",
    "03_data_parallelism",
    "04_parameter_server",
    "05_allreduce",
    "06_overlap_and_scaling",
    "07_model_parallelism",
    "08_split_weights",
    "09_asynchronous_sgd",
    "10_hogwild",
    "11_sync_or_async",
    "12_beyond_one_machine",
    "13_graphs_and_planners",
    "14_search_and_inference",
)
"""The lectures that are held to the form, by the names of their scripts."""

LECTURES = {target.script.stem: target for target in targets.LECTURES}


def code(source: str, **metadata: object) -> Cell:
    return Cell("code", source, 1, source, dict(metadata))


def prose(source: str, **metadata: object) -> Cell:
    return Cell("markdown", source, 1, source, dict(metadata))


def good() -> list[Cell]:
    """Return the cells of a lecture that keeps to the form."""
    return [
        prose("# 03 · A lecture\n" + "word " * 1700),
        code("import numpy as np\nfrom course_lib import run"),
        code('guess = predict("How many?")\nguess'),
        code("def show(b):\n    return player(run(b).trace)"),
        *[code(f"show({k})") for k in range(3)],
        code("def picture(k):\n    return race(runs[k])"),
        code("explore(picture, k=[1, 2])"),
        *[code(f'claim("3.{k}")') for k in range(3)],
        code("\n".join(["# How we know", *["assert a == b"] * 30]), tags=["how-we-know"]),
    ]


def test_every_lecture_of_the_second_edition_keeps_to_the_form() -> None:
    for name in SECOND_EDITION:
        assert problems_of_form(form_of(LECTURES[name].cells)) == [], name


def _names(source: str, context: type[ast.expr_context]) -> set[str]:
    nodes = list(ast.walk(ast.parse(source)))
    found = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, context)}
    if context is ast.Store:
        found |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        found |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    return found


@pytest.mark.parametrize("name", SECOND_EDITION)
def test_no_shown_cell_needs_a_name_that_only_a_collapsed_check_defines(name: str) -> None:
    shown, checks = set[str](), set[str]()
    for cell in LECTURES[name].cells:
        if cell.kind != "code":
            continue
        if "how-we-know" in cell.tags:
            checks |= _names(cell.source, ast.Store)
            continue
        shown |= _names(cell.source, ast.Store)
        assert (_names(cell.source, ast.Load) & checks) - shown == set(), cell.line


def test_a_good_lecture_is_counted_as_the_formula_says() -> None:
    form = form_of(good())
    assert problems_of_form(form) == []
    counts = form.whole.counts
    assert (counts["prediction"], counts["moving"], counts["explorer"]) == (1, 3 + 1, 1)
    assert (counts["print"], counts["claim"], counts["output"]) == (0, 3, 3)
    assert form.whole.words == 1700 + 3
    assert form.whole.lines == (2, 2, 2, 1, 1, 1, 2, 1, 1, 1, 1), "what is collapsed is not read"
    expected = 1703 / 170 + 15 / 15 + 0.75 + 3 / 6 + 4 * 0.5 + 1
    assert form.whole.minutes == pytest.approx(expected)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([prose("word " * 6000)], "minutes: at most 40, got"),
        ([prose("word")] * 40, "cells: at most 45, got 53"),
        ([code("print(1)")] * 9, "cells that print: at most 8, got 9"),
        ([code("x = 1\n" * 20)] * 4, "lines of a code cell, p90: at most 10, got 20"),
        ([code("x = 1\n" * 8)] * 14, "lines of a code cell, median: at most 5, got 8"),
        ([code('claim("1.1")')] * 3, "claims: 3 to 5, got 6"),
        ([prose("**Verdict on 1.1: right.**")] * 3, "claims: 3 to 5, got 6"),
    ],
)
def test_what_is_too_much_is_told(more: list[Cell], said: str) -> None:
    assert any(problem.startswith(said) for problem in problems_of_form(form_of(good() + more)))


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ("show(", "moving pictures: at least 3, got 1"),
        ("explore(", "explorers: at least 1, got 0"),
        ("claim(", "claims: 3 to 5, got 0"),
    ],
)
def test_what_is_missing_is_told(left_out: str, said: str) -> None:
    kept = [cell for cell in good() if not cell.source.startswith(left_out)]
    assert said in problems_of_form(form_of(kept))


def test_two_parts_are_measured_each_by_itself() -> None:
    half = [prose("word " * 340)] * 12
    long = [prose("## Part 1: why"), *half, prose("## Part 2: how"), *half]
    form = form_of([*good(), *long])
    assert problems_of_form(form) == ["part 1: minutes: at most 30, got 39.3"], (
        "40 minutes are for a lecture without parts"
    )
    assert form.whole.cells == sum(part.cells for part in form.parts)
    assert form.whole.minutes == pytest.approx(sum(part.minutes for part in form.parts))


def test_notes_for_lecturers_take_no_time() -> None:
    notes = prose("word " * 1000, slideshow={"slide_type": "notes"})
    with_notes = form_of([*good(), *[notes] * 12]).whole
    assert with_notes.minutes == form_of(good()).whole.minutes
    assert with_notes.cells == len(good()), "each section may have notes of its own"


def test_a_report_has_a_line_for_each_lecture_and_its_parts_and_says_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [*good(), prose("# Part 1"), prose("# Part 2"), code("print(1)")]
    head, *lines = report({"a": form_of(good()), "b": form_of(parts)}).splitlines()
    assert head.split()[:4] == ["lecture", "minutes", "cells", "print"]
    assert [line.split()[0] for line in lines] == ["a", "b", "part", "part"]
    monkeypatch.setattr("sys.argv", ["authoring", "form", "00"])
    assert main() == 0
    assert "00_start_here" in capsys.readouterr().out
