"""The text of a function is shown as it stands in its file, but for the docstring."""

import pytest

from course_lib.collectives import allreduce_ring
from course_lib.viz import source


def commented(x):
    """Add.

    Two lines.
    """
    # a reason
    text = """not a docstring"""
    return x, text  # at the end


def test_only_the_docstring_is_left_out():
    assert repr(source(commented)).splitlines() == [
        "def commented(x):",
        "    # a reason",
        '    text = """not a docstring"""',
        "    return x, text  # at the end",
    ]


def test_a_function_of_a_class_and_a_decorated_one_begin_at_the_margin():
    class Box:
        @staticmethod
        def get(x):
            return x

    assert repr(source(Box.get)) == "@staticmethod\ndef get(x):\n    return x"
    text = repr(source(allreduce_ring))
    assert text.startswith("@collective\ndef allreduce_ring(")
    assert "Cost:" not in text
    assert text.endswith("return finish(total, array, out)")


def test_a_notebook_shows_it_in_colours():
    assert source(commented)._repr_markdown_().startswith("```python\ndef commented(x):\n")


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError):
        source(3)
