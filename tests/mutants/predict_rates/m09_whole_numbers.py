# class: C3
# hint: floor
def predict_rates(n_before, n_after):
    return {
        "same_batch_mean": 1.0,
        "same_batch_sum": n_before // n_after,
        "own_batch_mean": n_after // n_before,
        "own_batch_sum": 1.0,
    }
