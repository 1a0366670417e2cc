"""Digits: every synchronous scheme learns to read with four workers."""

from dataclasses import replace

import pytest

from benchmarks.digits import PLAN, SYNCHRONOUS, digits_accuracy


@pytest.mark.parametrize("scheme", SYNCHRONOUS)
def test_four_workers_learn_to_read_95_of_100_digits(scheme):
    assert digits_accuracy(scheme, "simulated") >= 0.95


def test_before_they_train_they_read_no_more_than_a_guess():
    """So that the accuracy is one of training: ten classes."""
    assert digits_accuracy("data_parallel", "simulated", replace(PLAN, epochs=0)) < 0.3
