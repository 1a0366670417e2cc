"""Every example in a docstring is run, and prints what it says."""

import doctest
import importlib

import pytest

from tests.tooling.test_docstrings import modules


def failures_of(module):
    """Run the examples of a module; return how many there were, and what was wrong."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    told = []
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(test, out=told.append)
    return runner.tries, told


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Widget.*is deprecated:DeprecationWarning")
def test_all_examples_print_what_they_say():
    n_examples = 0
    for name in modules():
        n_tried, told = failures_of(importlib.import_module(name))
        n_examples += n_tried
        assert told == [], name
    assert n_examples > 150


def test_a_wrong_example_would_be_found(tmp_path, monkeypatch):
    (tmp_path / "planted_example.py").write_text(
        'def f():\n    """Add.\n\n    >>> 1 + 1\n    3\n    """\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    n_tried, told = failures_of(importlib.import_module("planted_example"))
    assert (n_tried, "Expected:" in "".join(told)) == (1, True)
