"""Tables and the callouts of claims, as text and as HTML."""

import json

import numpy as np
import pytest

from course_lib.viz import claim, table
from course_lib.viz.claims import LEDGER

ROWS = {
    "ring": {"rounds": 6, "time": 0.00123, "equal": True},
    "<tree>": {"rounds": 4000, "time": 2.5, "equal": False},
}


def test_numbers_are_flush_right_with_their_units_and_one_cell_is_marked():
    made = table(ROWS, units={"time": "s"}, told=[(1, "time")])
    assert repr(made).splitlines() == [
        "        rounds     time  equal",
        "ring         6  1.23 ms  yes",
        "<tree>   4,000  2.5 s *  no",
    ]
    page = made._repr_html_()
    assert "<td><strong>▸ 2.5 s</strong></td>" in page
    assert '<th scope="row">&lt;tree&gt;</th>' in page
    assert "style" not in page


def test_a_list_of_rows_has_no_first_column_of_names():
    made = table([{"P": 2, "share": 0.5}, {"P": 4, "share": None}], units={"share": "%"})
    assert repr(made).splitlines() == ["P  share", "2   50 %", "4      –"]


def test_numpys_texts_and_truths_are_written_as_pythons_are():
    rows = {name: {"x": 1, "equal": np.bool_(True)} for name in np.array(["ring", "tree"])}
    assert repr(table(rows)).splitlines()[1:] == ["ring  1  yes", "tree  1  yes"]
    assert repr(table([{"name": np.str_("ring")}])).splitlines() == ["name", "ring"]


def test_a_column_has_one_way_of_writing_large_numbers():
    made = table([{"ms": value} for value in (43.216, 1338.25, 84_012.5, 121_619.0)])
    assert [row[0] for row in made.rows] == ["43.22", "1,338", "84,012", "121,619"]


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        ([], {}, "at least one row"),
        ([{"a": 1}, {"b": 1}], {}, r"row 1 must have the columns \['a'\], got \['b'\]"),
        ([{"a": 1}], {"units": {"b": "s"}}, "must name columns of .* got 'b'"),
        ([{"a": 1}], {"told": [(0, "b")]}, "must name columns of .* got 'b'"),
    ],
)
def test_rows_that_do_not_fit_are_refused(data, options, text):
    with pytest.raises(ValueError, match=text):
        table(data, **options)


def test_a_claim_says_what_the_ledger_says():
    for row in json.loads(LEDGER.read_text(encoding="utf-8")):
        said = repr(claim(row["id"]))
        assert row["claim"] in said
        assert f"verdict: {row['verdict']}" in said
        assert row["reason"] in said
        assert ("by citation" in said) == (row.get("kind") == "citation")
        assert f"> **Verdict: {row['verdict']}.**" in claim(row["id"])._repr_markdown_()


def test_an_unknown_claim_is_refused():
    with pytest.raises(ValueError, match=r"number must be one of the ledger's \d+, got '9.99'"):
        claim("9.99")
