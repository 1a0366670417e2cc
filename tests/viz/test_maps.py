"""Maps of a surface: every path has its panel, every mark its name."""

import numpy as np
import pytest

from course_lib.viz import contours

X, Y = np.linspace(-1, 1, 9), np.linspace(0, 2, 7)
HEIGHTS = X**2 + Y[:, None] ** 2
PATHS = {"slow": np.array([[0.5, 1.0], [0.4, 0.9]]), "fast": np.array([[0.5, 1.0], [0.0, 0.1]])}


def test_every_path_has_a_panel_with_its_name_and_its_points():
    figure = contours(HEIGHTS, X, Y, PATHS, marks={"minimum": (0.0, 0.0)}, title="Two ways")
    assert repr(figure) == "<map: slow, fast>"
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["slow", "fast"]
    for axes, path in zip(figure.axes, PATHS.values(), strict=True):
        assert any(np.array_equal(line.get_xydata(), path) for line in axes.lines)
        assert "minimum" in [text.get_text() for text in axes.texts]
    assert "Two ways" in [text.get_text() for text in figure.texts]


def test_without_a_path_there_is_one_panel():
    figure = contours(HEIGHTS, X, Y, x_label="here", y_label="there", levels=[0.5, 1.0])
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("here", "there")
    assert repr(figure) == "<map: no path>"
    assert figure.to_png().startswith(b"\x89PNG")


def test_heights_that_do_not_fit_the_grid_are_refused():
    with pytest.raises(ValueError, match=r"heights must have shape \(7, 9\).* got \(9, 7\)"):
        contours(HEIGHTS.T, X, Y)
