"""Values are shown as Python writes them, and never two different ones alike."""

import numpy as np

from course_lib.checks.comparator import difference
from course_lib.checks.diagnosis import without_our_lines
from course_lib.checks.plain import plain
from course_lib.checks.shown import kind, show, told_apart


def test_floats_have_a_point_tuples_round_brackets_and_keys_quotes() -> None:
    assert show(np.array([28.0, 3e5])) == "[28.0, 300000.0] (float64)"
    given = plain((np.float64(200000), np.int64(3)))
    assert (show(given), kind(given)) == ("(200000.0, 3)", "a tuple of 2")
    assert show(plain({"order": [2, 0], "seconds": 1.0})) == "{'order': [2, 0], 'seconds': 1.0}"
    assert show(plain(((1,), []))) == "((1,), [])"


def test_what_differs_is_shown_different() -> None:
    one, other = np.arange(20.0), np.arange(20.0)
    other[12] += 1e-9
    assert len(set(told_apart(one[:4] + 1e-9, one[:4]))) == 2
    assert len(set(told_apart([0.1], [0.1 + 1e-9]))) == 2
    assert told_apart(125860.4651, 125860) == ("125860.4651", "125860")
    assert told_apart(2.0, 2) == ("2.0", "2")
    assert told_apart(np.ones(2), [1.0, 1.0]) != told_apart(np.ones(2), np.ones(2))
    assert told_apart(one, other)[0].startswith("[elements from 12: 12.0, 13.0")


def test_one_value_is_no_values() -> None:
    found = difference([1], [])
    assert found is not None
    assert found.says == "expected 1 value, got 0"


def test_lines_of_the_check_itself_are_left_out() -> None:
    says = (
        "rank 0 failed at steps.py, line 41: AttributeError: no\n  rank 1 could go on, at "
        "contextlib.py, line 144\n\nTraceback of rank 0 (most recent call last):\n  listener.py, "
        "line 75, in listened\n    return fn(child, *args)\n  cell In[1], line 5, in job\n    x = 1"
    )
    left = without_our_lines(says)
    assert left.splitlines()[:2] == [
        "rank 0 failed: AttributeError: no", "  rank 1 is between two calls"
    ]  # fmt: skip
    assert left.endswith("(most recent call last):\n  cell In[1], line 5, in job\n    x = 1")
