# class: B5
# hint: sum-grows


def predict_rates(n_before, n_after):
    more = max(1.0, n_after / n_before)
    return {
        "same_batch_mean": 1.0,
        "same_batch_sum": 1 / more,
        "own_batch_mean": more,
        "own_batch_sum": 1.0,
    }
