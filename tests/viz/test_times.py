"""Times by size: every line is there, colours and shapes tell algorithms apart."""

import pytest

from course_lib.collectives import ALLREDUCES
from course_lib.viz import draw_times

POINTS = [(1_000, 1e-5), (1_000_000, 2e-3)]


def lines_of(figure, panel=0):
    return figure.axes[panel].get_lines()


def test_every_algorithm_and_kind_has_its_line_where_the_numbers_are():
    by_kind = {"measured": POINTS, "predicted": [(n, 2 * s) for n, s in POINTS]}
    figure = draw_times({"2 workers": {"ring": by_kind, "tree": by_kind}}, title="all-reduce")
    drawn = [list(zip(*line.get_data(), strict=True)) for line in lines_of(figure)]
    assert drawn == [by_kind["measured"], by_kind["predicted"]] * 2
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["ring", "tree", "measured", "predicted"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1 KB", "1 MB"]


def test_eight_algorithms_have_eight_colours_and_eight_shapes_the_same_in_every_panel():
    lines = {name: {"measured": POINTS} for name in ALLREDUCES}
    figure = draw_times({"2 workers": lines, "4 workers": dict(reversed(lines.items()))})
    first = {(line.get_color(), line.get_marker()) for line in lines_of(figure, 0)}
    assert len({colour for colour, _ in first}) == len({shape for _, shape in first}) == 8
    assert {(line.get_color(), line.get_marker()) for line in lines_of(figure, 1)} == first
    assert figure.to_png().startswith(b"\x89PNG")


def test_kinds_differ_by_their_dashes():
    by_kind = dict.fromkeys(("measured", "simulated", "predicted"), POINTS)
    figure = draw_times({"2 workers": {"ring": by_kind}})
    assert len({line.get_linestyle() for line in lines_of(figure)}) == 3
    assert len({line.get_color() for line in lines_of(figure)}) == 1


def test_what_is_no_kind_is_refused():
    with pytest.raises(
        ValueError, match="measured, simulated, predicted, predicted at most, got \\['guessed'\\]"
    ):
        draw_times({"2 workers": {"ring": {"guessed": POINTS}}})
    with pytest.raises(ValueError, match="panels must have lines"):
        draw_times({})
