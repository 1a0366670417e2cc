# class: C6
# hint: square-root
import math


def predict_rates(n_before, n_after):
    more = n_after / n_before
    return {
        "same_batch_mean": 1.0,
        "same_batch_sum": 1 / more,
        "own_batch_mean": math.sqrt(more),
        "own_batch_sum": 1.0,
    }
