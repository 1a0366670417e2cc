"""A number that is only a bound calls itself one wherever it appears."""

from dataclasses import replace

import pytest

from course_lib.comm.simulated.networks import ethernet_10g
from course_lib.costs import AtLeast, AtMost, Step, predicted_s, price
from course_lib.measure.comparison import Compared, Comparison
from tests.costs.cases import CASES, SIZES, options_for

ALPHA_BETA = (2e-5, 1e-9)
STEP = Step(64, 1e-3, 10**6, *ALPHA_BETA, collective="allreduce_tree")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_a_price_says_at_most_where_it_is_not_exact_and_only_there(name, options, size):
    options = options_for(options, size)
    for n_bytes in (800, 10**6):
        found = price(name, size, n_bytes, **options)
        predicted = predicted_s(name, size, n_bytes, *ALPHA_BETA, **options)
        is_bound = not found.is_exact
        assert ("at most" in repr(found)) == is_bound
        assert isinstance(predicted, AtMost) == is_bound
        assert isinstance(found.time_s(*ALPHA_BETA), AtMost) == is_bound
        assert repr(predicted).startswith("at most ") == is_bound
        assert str(predicted) == repr(predicted)


def test_what_is_made_of_a_bound_is_one():
    assert isinstance(STEP.exchange_s(4), AtMost)
    assert isinstance(STEP.time_s(4), AtMost)
    assert isinstance(STEP.efficiency(4), AtLeast)
    assert repr(STEP.efficiency(4)).startswith("at least 0.")
    exact = replace(STEP, collective="allreduce_ring")
    for number in (exact.exchange_s(4), exact.time_s(4), exact.efficiency(4)):
        assert type(number) is float


def test_a_bound_is_a_number_to_calculate_with():
    assert AtMost(0.5) + 1 == 1.5
    assert f"{AtMost(0.5):.2f}" == "0.50"
    assert type(AtMost(0.5) * 2) is float


def test_a_table_and_a_drawing_say_which_predictions_are_bounds():
    rows = (
        Compared("tree", 800, AtMost(2e-3), 1e-3, 1e-3),
        Compared("ring", 800, 1e-3, 1e-3, 1e-3),
    )
    found = Comparison(ethernet_10g, 4, rows)
    tree, ring = str(found).splitlines()[2:]
    assert "≤ 2 ms" in tree
    assert "≤" not in ring
    (legend,) = [axes.get_legend() for axes in found.plot().axes if axes.get_legend()]
    assert {"predicted", "predicted at most"} <= {text.get_text() for text in legend.get_texts()}
