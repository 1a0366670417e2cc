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
    with pytest.raises(TypeError, match="fn must be a function with a def, got a lambda"):
        source(lambda x: x)


def nested(x):
    total = 0
    for part in x:
        if part:

            @staticmethod
            def push():
                return "ä", x  # 1

            push()
        else:
            total += 1
    return total


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        ("total", ["total = 0"]),
        ("if part", ["if part:", "", "    @staticmethod", "    def push():"]),
        ("def push", ["@staticmethod", "def push():", '    return "ä", x  # 1']),
        ("total +=", ["total += 1"]),
    ],
)
def test_a_part_is_a_statement_with_its_block_flush_left(part, lines):
    assert repr(source(nested, part=part)).splitlines()[: len(lines)] == lines


def test_a_part_ends_where_its_block_does():
    assert repr(source(nested, part="for")).splitlines()[-1] == "        total += 1"
    assert source(nested, part="for")._repr_markdown_().startswith("```python\nfor part in x:\n")


@pytest.mark.parametrize("part", ["while", "part in", "def nested"])
def test_a_part_that_begins_no_statement_is_refused(part):
    with pytest.raises(ValueError, match=f"part must be how a statement of nested .* got '{part}'"):
        source(nested, part=part)
