"""A file is read as data, or refused in a few words."""

import json

import pytest

from authoring.build import ROOT
from course_lib.grading.examiner import Order, examine
from course_lib.grading.submission import NotANotebookError, read_cells, set_of


def notebook(*sources: str) -> str:
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return json.dumps({"nbformat": 4, "cells": cells})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not JSON"),
        ("nope", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no cells"),
        ('{"worksheets": []}', "format 3: open it in JupyterLab and save it"),
        ('{"cells": 3}', "no cells"),
        (notebook("x" * 1_100_000), "far more code"),
        (notebook(*["x"] * 2_001), "far more code"),
    ],
)
def test_what_is_no_notebook_is_refused(tmp_path, content, words):
    file = tmp_path / "a.ipynb"
    file.write_text(content)
    with pytest.raises(NotANotebookError, match=words):
        read_cells(file)


def test_a_huge_file_is_not_read(tmp_path):
    file = tmp_path / "a.ipynb"
    with file.open("wb") as stream:
        stream.truncate(50 * 2**30)  # of holes
    with pytest.raises(NotANotebookError, match="larger than 20 MB"):
        read_cells(file)


def test_odd_cells_are_left_out(tmp_path):
    odd = [None, 3, {}, {"cell_type": "code"}, {"cell_type": "code", "source": 3},
           {"cell_type": "code", "source": ["a = 1\n", 7, "b = 2"], "metadata": None}]  # fmt: skip
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": odd}))
    (cell,) = read_cells(tmp_path / "a.ipynb")
    assert cell.source == "a = 1\nb = 2"


def test_magics_are_blanked_and_lines_stay_where_they_are(tmp_path):
    (tmp_path / "a.ipynb").write_text(
        notebook("%matplotlib inline\n!ls\nx = 1", "%%time\ny = 2", "%%bash\nrm -rf x", "a ? b")
    )
    one, two, three, four = read_cells(tmp_path / "a.ipynb")
    assert one.source == "\n\nx = 1"
    assert two.source == "\ny = 2"
    assert three.source == ""
    assert four.tree is None


def test_what_a_magic_times_is_kept(tmp_path):
    (tmp_path / "a.ipynb").write_text(
        notebook("%time TABLE = [1]\n%timeit x = 2\nif TABLE:\n    %time checks.f(f)\n!ls")
    )
    (one,) = read_cells(tmp_path / "a.ipynb")
    assert one.source == "TABLE = [1]\n\nif TABLE:\n    checks.f(f)\n"


def test_only_lines_that_python_cannot_read_are_taken_for_magics(tmp_path):
    text = """%matplotlib inline
files = !ls
np.sum?
DOC = '''
%d of them
!really
'''
def f(x):
    return (x
        % 7)
%timeit -n1 f(3)
!echo it's (
"""
    slip = "%matplotlib inline\nx = (7\n  % 2)\ny = = 3"
    (tmp_path / "a.ipynb").write_text(notebook(text, slip))
    one, two = read_cells(tmp_path / "a.ipynb")
    kept = text.split("\n")
    for line in (0, 1, 2, 10, 11):
        kept[line] = ""
    assert one.source == "\n".join(kept)
    assert one.tree is not None
    assert (two.tree, two.fault) == (None, "in its line 4: invalid syntax")


def test_the_functions_tell_the_set_whatever_the_file_is_called():
    for number in ("00", "05", "13"):
        (file,) = (ROOT / "exercises").glob(f"{number}_*.ipynb")
        assert set_of(read_cells(file), "final(2).ipynb") == number
    assert set_of([], "Anna_4711_file_03_data.ipynb") == "03"
    assert set_of([], "my notebook.ipynb") is None


def test_a_slip_of_syntax_hides_neither_the_set_nor_itself(tmp_path):
    file = tmp_path / "homework.ipynb"
    file.write_text(notebook("def map_reduce(comm, X, y)\n    return 1"))
    assert set_of(read_cells(file), file.name) == "02"
    file.write_text(notebook("x = 1", "def mine(:\n    return 1"))
    (row,) = examine(Order(str(file), "", 1, 1.0, 2**30))
    assert "code cell 2, in its line 1: " in row["note"]


@pytest.mark.parametrize(
    ("helper", "says"),
    [
        ("def helper(x, x):\n    pass", "duplicate argument 'x' in function definition"),
        ("def helper():\n    nonlocal x", "no binding for nonlocal 'x' found"),
        ("return 3", "'return' outside function"),
        ("helper = a" + ".b" * 5000, "recursion"),
    ],
)
def test_what_parses_and_is_no_python_is_told_and_hides_no_other_answer(tmp_path, helper, says):
    file = tmp_path / "homework.ipynb"
    file.write_text(notebook(helper, "def f():\n    return helper", "await x"))
    broken, whole, waiting = read_cells(file)
    assert broken.tree is None
    assert says in broken.fault
    assert whole.tree is not None
    assert waiting.tree is not None, "Jupyter reads it"


def test_an_answer_that_is_too_deep_to_be_picked_out_leaves_the_others(tmp_path):
    file = tmp_path / "homework.ipynb"
    deep = "x = " + " + ".join("a" * 600)
    file.write_text(notebook(deep, "def combine():\n    return x", "def map_reduce("))
    rows = {row.get("task"): row for row in examine(Order(str(file), "02", 1, 1.0, 2**30))}
    assert "could not be picked out: RecursionError" in rows["combine"]["report"]
    assert "code cell 3" in rows["map_reduce"]["report"]
    assert rows["shard_bounds"]["status"] == "not written yet"
