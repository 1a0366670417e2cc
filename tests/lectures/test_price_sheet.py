"""The price sheet grows from lecture to lecture and uses what lecture 00 has measured."""

import pytest

from course_lib.costs import Line
from course_lib.lectures.lecture_00 import STATED, keep
from course_lib.lectures.price_sheet import prices_so_far

KEPT = Line(1e-3, 1e-8, worst_ratio=1.0)


@pytest.mark.slow
def test_prices_grow_with_the_lectures_and_go_by_the_numbers_that_are_kept(tmp_path):
    folder = tmp_path / "workbook"
    folder.mkdir()
    stated = prices_so_far(2, folder=folder)
    assert stated.head == ["", "α", "nβ", "10 Gbit/s", STATED.name, "measured here"]
    assert [row[:4] for row in stated.rows] == [["combiner, or one server", "4", "6", "4.88 ms"]]
    keep(KEPT, folder)
    sheet = prices_so_far(6, folder=folder)
    assert sheet.head[4] == "this computer"
    counted = {row[0]: (float(row[1]), float(row[2]), row[4]) for row in sheet.rows}
    assert next(iter(counted)) == "combiner, or one server"
    assert counted["ring"] == counted["a shard on every rank"] == (6, 1.5, "21 ms")
    assert counted["ring, ten layers one by one"] == (60, 1.5, "75 ms")
    assert [counted[name][:2] for name in ("butterfly", "halving-doubling")] == [(2, 2), (4, 1.5)]
    assert len(sheet.rows) == 8 > len(stated.rows)
