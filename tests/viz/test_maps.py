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


def test_a_constant_surface_has_no_lines_and_says_how_high_it_is():
    (axes,) = contours(np.ones((3, 3)), [0, 1, 2], [0, 1, 2]).axes
    assert not axes.collections
    assert [text.get_text() for text in axes.texts] == ["1 everywhere"]
    almost = np.ones((3, 3))
    almost[1, 1] = np.nextafter(1, 2)
    assert contours(almost, [0, 1, 2], [0, 1, 2]).to_png().startswith(b"\x89PNG")


def test_heights_that_are_no_numbers_in_places_leave_a_hole():
    holed = np.where(X < 0, np.inf, HEIGHTS)
    (axes,) = contours(holed, X, Y).axes
    corners = np.concatenate([path.vertices for path in axes.collections[0].get_paths()])
    assert corners[:, 0].min() >= 0


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"heights": np.full((7, 9), np.nan)}, "heights must have a finite number, got none"),
        ({"x": X[::-1]}, "x must be 2 or more numbers that rise, got array"),
        ({"y": [0.0], "heights": np.ones((1, 9))}, r"y must be 2 or more .* got \[0.0\]"),
        ({"levels": [1, 1]}, r"levels must be 1 or more numbers that rise, got \[1, 1\]"),
        ({"paths": {"a": np.ones(3)}}, r"paths\['a'\] must have shape \(steps, 2\), got \(3,\)"),
    ],
)
def test_what_is_no_map_is_refused_by_name(changed, told):
    with pytest.raises(ValueError, match=told):
        contours(**{"heights": HEIGHTS, "x": X, "y": Y, **changed})


def test_heights_that_do_not_fit_the_grid_are_refused():
    with pytest.raises(ValueError, match=r"heights must have shape \(7, 9\).* got \(9, 7\)"):
        contours(HEIGHTS.T, X, Y)
