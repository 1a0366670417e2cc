"""Whatever goes wrong is reported soon, names the rank and the line, and leaves nothing behind."""

import sys
from pathlib import Path
from typing import Any

import pytest

from course_lib import run
from tests.faults import (
    arguments,
    data,
    distributed,
    early_and_late,
    messages,
    notebook_life,
    notebook_uses,
    output,
    random_kills,
    room,
    serialisation,
    simulated_world,
    survived,
    worker_dies,
    worker_hangs,
)
from tests.faults.elsewhere import ELSEWHERE
from tests.faults.table import ROWS, Case, Row
from tests.residue import assert_nothing_left, residue
from tests.start_methods import START_METHODS

pytestmark = pytest.mark.slow

SECTIONS = [
    worker_dies,
    survived,
    early_and_late,
    random_kills,
    worker_hangs,
    messages,
    serialisation,
    notebook_life,
    notebook_uses,
    output,
    arguments,
    data,
    distributed,
    room,
    simulated_world,
]
"""The modules that hold the rows."""

NUMBERS = range(1, 83)
BUSY = 10
"""Limits are asserted tenfold: the computer may be busy."""


def _starts(played: bool) -> list[Any]:
    """List the variants of all rows with each way of starting that plays them, or does not."""
    return [
        pytest.param(
            row, variant, method, id=f"{method}-{row.number}: {row.says}{', ' * bool(name)}{name}"
        )
        for method in START_METHODS
        for row in _by_number()
        for name, variant in row.variants.items()
        if row.is_played(name, method) == played
    ]


def _cases(rows: list[Row]) -> list[Any]:
    return [
        pytest.param(row, variant, id=f"{row.number}: {row.says}{', ' * bool(name)}{name}")
        for row in rows
        for name, variant in row.variants.items()
    ]


def _by_number() -> list[Row]:
    return sorted(ROWS, key=lambda row: row.number)


@pytest.mark.parametrize(("row", "variant", "start_method"), _starts(played=True))
def test_fault(
    row: Row, variant: Any, start_method: str, tmp_path: Path, temporary_folder: Path,
    record_property: Any,
) -> None:  # fmt: skip
    case = Case(start_method, row.workers, row.workers - 1, variant, tmp_path)
    play(row, case, temporary_folder, record_property)


@pytest.mark.soak
@pytest.mark.parametrize(("row", "variant", "start_method"), _starts(played=False))
def test_fault_that_the_test_command_leaves_out(
    row: Row, variant: Any, start_method: str, tmp_path: Path, temporary_folder: Path,
    record_property: Any,
) -> None:  # fmt: skip
    test_fault(row, variant, start_method, tmp_path, temporary_folder, record_property)


@pytest.mark.soak
@pytest.mark.parametrize("which", ["first", "last"])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@pytest.mark.parametrize(("row", "variant"), _cases([row for row in _by_number() if not row.alone]))
def test_fault_of_first_or_last_of_many(
    row: Row, variant: Any, workers: int, which: str, start_method: str, tmp_path: Path,
    temporary_folder: Path, record_property: Any,
) -> None:  # fmt: skip
    if workers < row.least or (workers == 1 and which == "last"):
        return
    bad_rank = 0 if which == "first" else workers - 1
    case = Case(start_method, workers, bad_rank, variant, tmp_path)
    play(row, case, temporary_folder, record_property)


def play(row: Row, case: Case, temporary_folder: Path, record_property: Any) -> None:
    """Commit the fault; check what is left, how long it took, and that the next run works."""
    if row.posix and sys.platform == "win32":
        pytest.skip("needs signals, process groups or the like, which Windows has not")
    before = residue(temporary_folder)
    row.check(case)
    assert_nothing_left(before, temporary_folder)
    # The usual way is fast to start; the other way's next run is that of the next row.
    assert run(lambda comm: comm.rank, workers=1, start_method=START_METHODS[0]).values == [0]
    for seconds in case.times_s:
        print(f"row {row.number}, {row.says}: reported after {seconds:.3f} s")
        record_property("from fault to report", (row.number, case.start_method, seconds))
        assert row.limit_s is not None, "a row that measures times has a limit"
        assert seconds < BUSY * row.limit_s
    assert bool(case.times_s) == (row.limit_s is not None)


def test_every_number_of_the_table_has_a_row_or_a_reason() -> None:
    assert set(NUMBERS) - {row.number for row in ROWS} == set(ELSEWHERE)
    elsewhere = {62, 65, 66}  # rings and groups, which 54 to 58, 64 and 67 show in such ranks, too
    elsewhere |= {68, 69, 70}  # the simulator has no processes
    for way in START_METHODS:
        played = {row.number for row in ROWS if any(row.is_played(n, way) for n in row.variants)}
        without = {82} if way == "spawn" else set()  # a fork server
        assert {row.number for row in ROWS} - played <= elsewhere | without
    assert {row.check.__module__ for row in ROWS} == {module.__name__ for module in SECTIONS}
