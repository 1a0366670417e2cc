# class: B17
# hint: fewer-steps
def predict_rates(n_before, n_after):
    more = n_after / n_before
    return {
        "same_batch_mean": 1.0,
        "same_batch_sum": 1 / more,
        "own_batch_mean": 1.0,
        "own_batch_sum": 1.0,
    }
