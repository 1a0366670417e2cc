# class: B3
# hint: batch-stays
def predict_rates(n_before, n_after):
    more = n_after / n_before
    return {
        "same_batch_mean": 1 / more,
        "same_batch_sum": 1 / more,
        "own_batch_mean": 1 / more,
        "own_batch_sum": 1 / more,
    }
