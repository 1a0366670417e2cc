# class: A5
# hint: constant
def predict_rates(n_before, n_after):
    return {
        "same_batch_mean": 1.0,
        "same_batch_sum": 0.5,
        "own_batch_mean": 2.0,
        "own_batch_sum": 1.0,
    }
